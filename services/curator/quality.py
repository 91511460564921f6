"""Samples metrics by the hour and counts causes of errors by the week.

Each sample and each count is an event that the stream stores once, whatever number of curators publish it. They are of
hours and weeks that are over; the tables are used once they hold what the log held when the work began.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

import structlog

from contracts.v1 import MetricSampled, PatternRecorded
from kit.clock import Clock
from lifecycle.audits.epochs import Epoch, epoch_at
from lifecycle.audits.quality import ALL, decide_status, find_target, misses
from services.curator.ports import Log
from services.curator.record.quality import Sample, SqlQuality

_HOUR: Final = "%Y-%m-%dT%H"
_WEEK: Final = timedelta(days=7)
_MONDAY: Final = timedelta(hours=2)
"""A week is counted from 02:00 of the next Monday on."""

log = structlog.get_logger(__name__)


class Quality:
    """Publishes due samples and counts. `show` gets each metric's type, category and value, and if it is missed."""

    def __init__(
        self, record: SqlQuality, log_: Log, clock: Clock, show: Callable[[str, str, float, bool], None]
    ) -> None:
        self._record = record
        self._log = log_
        self._clock = clock
        self._show = show
        self._since: int | None = None
        self._done: datetime | None = None

    async def run_once(self) -> int:
        """Once an hour, publish the samples and counts that are not recorded yet; return how many were stored."""
        now = self._clock.now().astimezone(UTC)
        hour = now.replace(minute=0, second=0, microsecond=0)
        if self._done == hour:
            return 0
        if self._since is None:
            self._since = await self._record.newest()
        if not await self._record.holds(self._since):
            return 0
        stored = await self._sample(hour) + await self._count(epoch_at(now - _WEEK - _MONDAY))
        self._since, self._done = None, hour
        return stored

    async def _sample(self, hour: datetime) -> int:
        done, stored = await self._record.sampled(hour, ALL), 0
        for each in await self._record.metrics(hour):
            event = make_sample(hour, each)
            missed = misses(event.value, event.target, at_most=event.at_most)
            self._show(event.type, event.category, event.value, missed)
            if event.type not in done and await self._log.publish(event, self._clock.new_id()):
                stored += 1
                if missed:
                    log.warning("a metric misses its target", metric=event.type, value=event.value, target=event.target)
        return stored

    async def _count(self, week: Epoch) -> int:
        stored = 0
        for each in await self._record.cases(week):
            event = PatternRecorded(
                follows=each.sequence,
                epoch=week.number,
                category=each.category,
                cause=each.cause,
                frequency=each.frequency,
                status=decide_status(each.frequency),
                claim_id=each.claim_id,
            )
            stored += await self._log.publish(event, self._clock.new_id())
        return stored


def make_sample(hour: datetime, sample: Sample) -> MetricSampled:
    """The event of a sample, with the target that it is measured by."""
    target = find_target(sample.type, sample.n)
    return MetricSampled(
        slot=hour.strftime(_HOUR),
        type=sample.type,
        category=ALL,
        value=sample.value,
        target=None if target is None else target.value,
        at_most=target is not None and target.at_most,
        n=sample.n,
    )
