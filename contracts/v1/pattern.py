"""Recurring causes of errors in audits and the catalogue, week by week."""

from __future__ import annotations

from typing import Literal
from uuid import UUID

from pydantic import Field

from contracts.v1.codes import Code, Epoch, Name
from contracts.v1.event import OnceEvent
from contracts.v1.ids import pattern_id

PatternStatus = Literal["OPEN", "FIXED"]


class PatternRecorded(OnceEvent, subject="pattern.recorded", identity=("epoch",)):
    """How often a cause of errors was met in an ISO week. A cause that was not met is FIXED until it is met again.

    Shapes: `claim_id` is the assertion of one of the cases, if they are about assertions.
    """

    epoch: Epoch
    category: Code
    cause: Name
    frequency: int = Field(ge=0)
    status: PatternStatus
    claim_id: UUID | None = None

    def key(self) -> str:
        return str(pattern_id(self.category, self.cause))
