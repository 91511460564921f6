"""What was erased because somebody has the right to it: the facts lose their bodies and keep their places."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from pydantic import Field

from contracts.v1.event import Event
from contracts.v1.parts import Sha256, Value


class ErasedFact(Value):
    """One fact that lost its body. `hash` is its link in the ledger's chain, which stays."""

    sequence: int = Field(ge=1)
    hash: Sha256


class ErasureOrdered(Event):
    """An operator had a post forgotten: it leaves the read model, and nothing told of it later comes back.

    The reason is the operator's and names nobody. A large post is forgotten in several `part`s of one erasure.
    Shapes: `facts` are of the stream ERRATA, in rising order.
    """

    SUBJECT: ClassVar[str] = "errata.v1.erasure.ordered"

    erasure_id: UUID
    post_id: UUID
    reason: str
    part: int = Field(default=1, ge=1)
    facts: tuple[ErasedFact, ...] = ()

    def key(self) -> str:
        return str(self.post_id)

    def identity(self) -> str:
        return f"{self.erasure_id}|{self.part}"
