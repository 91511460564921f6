"""Erasure of what audits are about: a job, an assertion, an account."""

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

    `ErasureOrdered` is the same for posts; it is an event of another stream, and its reason may be a sentence. What has
    many events is erased in several `part`s of one erasure. Shapes: `facts` are of the stream JOBS, in rising order.
    """

    entity_id: UUID
    entity_type: EntityType
    erasure_id: UUID
    reason: Code
    part: int = Field(default=1, ge=1)
    facts: tuple[ErasedFact, ...] = ()
