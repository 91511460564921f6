"""What the read model keeps about facts themselves."""

from __future__ import annotations

from typing import Final, Literal

from services.projector.rows.table import Table, row

RefusalOutcome = Literal["refused", "undecodable", "textless", "skipped"]
Outcome = Literal["applied", "duplicate", "parked", "released", "unknown", "erased", "forgotten"] | RefusalOutcome
"""How a message was handled; `forgotten`: it is about a post that was erased."""


@row
class Refusal:
    """A stored message that is not in the tables, and why.

    Shapes: `skipped` was left out by an operator, `textless` names a text that the blob store does not have.
    """

    stream: str
    sequence: int
    subject: str
    outcome: RefusalOutcome
    reason: str


@row
class Parked:
    """A fact that waits, and for what."""

    stream: str
    sequence: int
    awaits: str


REFUSALS: Final = Table("refused_fact", Refusal, ("stream", "sequence"))
PARKED: Final = Table("parked", Parked, ("stream", "sequence"), ("awaits",))
