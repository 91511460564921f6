"""Erasure on request: events lose their bodies and keep their sequences."""

from __future__ import annotations

from uuid import UUID

from pydantic import Field

from contracts.v1.event import Event
from contracts.v1.parts import Sha256, Value


class ErasedFact(Value):
    """One event that lost its body. `hash` is its link in the ledger's chain, which is kept."""

    sequence: int = Field(ge=1)
    hash: Sha256


class ErasureOrdered(Event, subject="erasure.ordered", key="post_id", identity=("erasure_id", "part")):
    """An operator erased a post: it leaves the read model, and later events about it are not applied.

    The reason is the operator's and names no person. A post with many events is erased in several `part`s.
    Shapes: `facts` are of the stream ERRATA, in rising order.
    """

    erasure_id: UUID
    post_id: UUID
    reason: str
    part: int = Field(default=1, ge=1)
    facts: tuple[ErasedFact, ...] = ()
