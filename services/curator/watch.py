"""The watch: opens breakers by what is known of findings, and suspends the findings that a breaker stops.

Every round compares the tables as a whole, so a kill at any moment loses nothing: what was not published yet is found
again. A round begins only once the tables hold what the previous round published, and of two curators the stream
refuses one.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

import structlog

from kit.clock import Clock
from services.curator.breaking import EVERY, MONTH, NEW, WEEK, Approvals, KnownBreaker, Observed, find_openings
from services.curator.ports import Ages, Log
from services.curator.record.volumes import SqlVolumes
from services.curator.record.watched import SqlWatchRecord
from services.curator.taking_back import TakeBack
from services.curator.volumes import announce, find_change

HIGH_VIEWS: Final = 10_000
"""Unique views a day above which exposure is high."""
WEEKS_BEFORE: Final = 12
LAG_S: Final = 0.2
RETRACTIONS: Final = 3
_EVER: Final = datetime(1970, 1, 1, tzinfo=UTC)
STOPPED: Final = "Withheld while we look for a possible fault of ours; nothing is known against this correction itself."
FOUND_WRONG: Final = "A reviewer from outside found this correction wrong; it is withheld until that is settled."
HELD: Final = "Withheld: how we found it is new and has not yet been shown to be right often enough."

log = structlog.get_logger(__name__)


class Volumes:
    """Earned volume: announces new variants, suspends findings beyond what is earned, and publishes changes.

    If variants are off, none is announced; a variant whose breaker has closed has a volume all the same.
    """

    def __init__(self, record: SqlVolumes, log_: Log, clock: Clock, *, announces: bool) -> None:
        self._record = record
        self._log = log_
        self._clock = clock
        self._takeback = TakeBack(log_, clock)
        self._announces = announces

    async def hold(self, now: datetime) -> int:
        """Suspend findings that are displayed beyond what their variant has earned; return how many."""
        held = 0
        for each in await self._record.known():
            if each.quota is not None:
                beyond = await self._record.beyond(each.variant, each.since, each.quota)
                held += await self._takeback.suspend(beyond, "CONTROL", HELD, now)
        return held

    async def change(self) -> int:
        """Announce new variants and publish changed volumes; return how many."""
        published = 0
        if self._announces:
            for unknown in await self._record.unknown(self._clock.now()):
                published += await self._log.publish(announce(unknown), self._clock.new_id())
        for known in await self._record.known():
            event = find_change(known, await self._record.seen(known), self._clock.now())
            if event is not None and await self._log.publish(event, self._clock.new_id()):
                log.info("the volume of a variant changed", variant=event.variant, state=event.state, why=event.why)
                published += 1
        return published


class Watch:
    """Opens breakers and takes back what they stop."""

    def __init__(
        self,
        record: SqlWatchRecord,
        log_: Log,
        ages: Ages,
        clock: Clock,
        *,
        volumes: Volumes,
        show_open: Callable[[int], None],
        high_views: int = HIGH_VIEWS,
    ) -> None:
        self._record = record
        self._log = log_
        self._ages = ages
        self._clock = clock
        self._high_views = high_views
        self._volumes = volumes
        self._show_open = show_open
        self._takeback = TakeBack(log_, clock)
        self._since: int | None = None
        self._approvals: tuple[datetime, Sequence[Approvals]] | None = None

    async def run(self) -> None:
        """Run rounds until nothing is left to do for now."""
        while await self.run_once():
            while not await self._record.holds(self._since or 0):  # noqa: ASYNC110 (the projector is another process)
                await asyncio.sleep(LAG_S)

    async def run_once(self) -> bool:
        """Run a round; whether it published anything, so that another is due as soon as the tables hold that."""
        if self._since is None:
            self._since = await self._record.newest()
        if not await self._record.holds(self._since):
            return False
        now = self._clock.now()
        breakers = await self._record.breakers()
        self._show_open(sum(each.state == "OPEN" for each in breakers.values()))
        published = 0
        for event in find_openings(await self._observe(now), breakers, now):
            if await self._log.publish(event, self._clock.new_id()):
                log.error("a breaker opened", scope=event.scope, trigger=event.trigger, numbers=event.numbers)
                published += 1
        wrong = await self._record.wrong_findings()
        published += await self._takeback.suspend(wrong, "REVIEW", FOUND_WRONG, now)
        for breaker in breakers.values():
            published += await self._stop(breaker, now)
        published += await self._volumes.hold(now)
        if published == 0:  # what a volume holds back is held before the volume changes
            published += await self._volumes.change()
        self._since = await self._record.newest()
        return published > 0

    async def _stop(self, breaker: KnownBreaker, now: datetime) -> int:
        """Suspend the findings that a breaker stops unless it is closed; return how many."""
        if breaker.state == "CLOSED":
            return 0
        variant = None if breaker.scope in (EVERY, NEW) else breaker.scope
        since = breaker.opened_at if breaker.scope == NEW and breaker.opened_at is not None else _EVER
        return await self._takeback.suspend(await self._record.standing(variant, since), "CONTROL", STOPPED, now)

    async def _observe(self, now: datetime) -> Observed:
        retracted = await self._record.retracted(now - MONTH)
        week = Counter(each.variant for each in retracted if each.at > now - WEEK)
        many = {variant for variant, number in week.items() if number >= RETRACTIONS}
        return Observed(
            controls=await self._record.controls(),
            wrong=await self._record.wrong(self._high_views),
            retracted=retracted,
            released=await self._record.released(many, now - MONTH),
            approvals=await self._read_approvals(_start_of_week(now)),
            note_age=await self._ages.note_age(),
            quorum_age=await self._ages.quorum_age(),
        )

    async def _read_approvals(self, ends: datetime) -> Sequence[Approvals]:
        """The approvals of weeks that are over, read once a week."""
        if self._approvals is None or self._approvals[0] != ends:
            begins = ends - WEEK
            found = await self._record.approvals(begins - WEEKS_BEFORE * WEEK, begins, ends)
            self._approvals = ends, found
        return self._approvals[1]


def _start_of_week(now: datetime) -> datetime:
    """The start of this week's Monday, in UTC. Whole weeks are compared, so a rate is checked once a week."""
    day = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return day - timedelta(days=day.weekday())
