"""One round of selection."""

from __future__ import annotations

from datetime import datetime, time

import structlog

from kit.clock import Clock
from services.selector.domain import allowance, request
from services.selector.ports import Leadership, Reads, Requests

log = structlog.get_logger(__name__)


class Selector:
    """Requests investigations of the posts with the highest view score."""

    def __init__(
        self,
        reads: Reads,
        requests: Requests,
        leadership: Leadership,
        clock: Clock,
        *,
        analysis: str,
        budget_per_day: int,
        batch: int,
    ) -> None:
        self._reads = reads
        self._requests = requests
        self._leadership = leadership
        self._clock = clock
        self._analysis = analysis
        self._budget_per_day = budget_per_day
        self._batch = batch

    async def select(self) -> int:
        """Request what budget and leadership allow; how many were requested."""
        if not await self._leadership.hold():
            return 0
        today = datetime.combine(self._clock.now().date(), time(), self._clock.now().tzinfo)
        taken = await self._reads.taken_since(today, self._analysis)
        limit = allowance(self._budget_per_day, taken, self._batch)
        requested = 0
        for candidate in await self._reads.candidates(self._analysis, limit) if limit else ():
            if await self._requests.publish(request(candidate, self._analysis), candidate.correlation):
                requested += 1
        log.info("selected", requested=requested, taken_today=taken, budget_per_day=self._budget_per_day)
        return requested
