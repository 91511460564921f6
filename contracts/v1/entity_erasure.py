"""Erasure of an entity of audits: a job, an assertion or an account."""

from __future__ import annotations

from typing import Literal
from uuid import UUID

from pydantic import Field

from contracts.v1.codes import Code
from contracts.v1.erasure import ErasedFact
from contracts.v1.event import Event

EntityType = Literal["JOB", "ASSERTION", "ACCOUNT"]


class EntityErasureOrdered(Event, subject="entity_erasure.ordered", key="entity_id", identity=("erasure_id", "part")):
    """An operator erased an entity: it leaves the read model, and later events about it are not applied.

    `ErasureOrdered` does the same for posts; it is in another stream, and its reason may be a sentence. An entity with
    many events is erased in several `part`s. Shapes: `facts` are of the stream JOBS, in rising order.
    """

    entity_id: UUID
    entity_type: EntityType
    erasure_id: UUID
    reason: Code
    part: int = Field(default=1, ge=1)
    facts: tuple[ErasedFact, ...] = ()
