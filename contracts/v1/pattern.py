"""What goes wrong in audits and the catalogue again and again, week by week."""

from __future__ import annotations

from typing import Literal
from uuid import UUID

from pydantic import Field

from contracts.v1.codes import Code, Epoch, Name
from contracts.v1.event import OnceEvent
from contracts.v1.ids import pattern_id

PatternStatus = Literal["OPEN", "FIXED"]


class PatternRecorded(OnceEvent, subject="pattern.recorded", identity=("epoch",)):
    """How often a cause was met in an ISO week. One that was not met at all any more is FIXED, until it comes back.

    Shapes: `claim_id` is the assertion of one case, where a case is about one.
    """

    epoch: Epoch
    category: Code
    cause: Name
    frequency: int = Field(ge=0)
    status: PatternStatus
    claim_id: UUID | None = None

    def key(self) -> str:
        return str(pattern_id(self.category, self.cause))
