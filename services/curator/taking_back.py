"""Findings that stand, without their words, and their suspension."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import structlog

from contracts.v1 import FindingChanged
from contracts.v1.finding import FindingCause
from kit.clock import Clock
from lifecycle.findings import FindingHistory, Wanted, change
from services.curator.ports import Log

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A finding that stands. Shapes: `sequence` is that of its newest change, 0 without any."""

    claim_id: UUID
    investigation_id: UUID
    sequence: int


class TakeBack:
    """Publishes suspensions. One that another curator published first is not counted."""

    def __init__(self, log_: Log, clock: Clock) -> None:
        self._log = log_
        self._clock = clock

    async def suspend(self, findings: Sequence[Standing], cause: FindingCause, note: str, now: datetime) -> int:
        """Suspend these findings; return how many were suspended."""
        suspended = 0
        for each in findings:
            history = FindingHistory(
                claim_id=each.claim_id, investigation_id=each.investigation_id, sequence=each.sequence
            )
            event = change(history, Wanted(state="SUSPENDED", cause=cause, note=note), now)
            if isinstance(event, FindingChanged):
                suspended += await self._log.publish(event, self._clock.new_id())
        if suspended:
            log.warning("findings suspended", cause=cause, count=suspended)
        return suspended
