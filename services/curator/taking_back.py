"""Suspending findings that stand."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import structlog

from contracts.v1 import FindingChanged
from contracts.v1.finding import FindingCause
from kit.clock import Clock
from lifecycle.findings import FindingHistory, Wanted, change
from services.curator.ports import Log
from services.curator.standing import Standing

log = structlog.get_logger(__name__)


class TakeBack:
    """Publishes suspensions. One that another curator published first is not counted."""

    def __init__(self, log_: Log, clock: Clock) -> None:
        self._log = log_
        self._clock = clock

    async def suspend(self, findings: Sequence[Standing], cause: FindingCause, note: str, now: datetime) -> int:
        """Suspend what stands; how many were."""
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
