"""Figures of the last half year, computed at most once a minute however many look at them.

Readers of a page never wait for figures that were there before: they see those, and new ones are computed meanwhile.
A share of nothing is not a share of zero, so it is None.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median
from typing import Final

from kit.clock import Clock
from kit.flight import SingleFlight
from services.gateway.site.naming import is_demo
from services.gateway.site.reads import Row, Shelf

WEEKS: Final = 26
FRESH_S: Final = 60.0
DURATIONS_S: Final = (10, 30, 60, 120, 300, 600, 1800)
"""Where the classes of the time to a result end; the last class has no end."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Posts whose investigation was finished in a period, and what was found."""

    posts: int = 0
    flagged: int = 0
    claims: int = 0
    investigations: int = 0

    @property
    def incidence(self) -> float | None:
        """The share of posts in which something was found."""
        return self.flagged / self.posts if self.posts else None


@dataclass(frozen=True, slots=True)
class Figures:
    """Everything the page of figures shows. Units: seconds; cost in millionths of a US dollar."""

    at: datetime
    ever: int
    whole: Counts
    weeks: tuple[tuple[datetime, Counts], ...]
    platforms: tuple[tuple[str, Counts], ...]
    sample: int
    durations: tuple[int, ...]
    duration_median_s: float | None
    duration_p95_s: float | None
    tokens_median: float | None
    cost_median_micro_usd: float | None
    priced: int
    approved: int
    rejected: int
    failed: int
    demo: int
    costs: tuple[float | None, ...]
    """By week, the median; None where no price is known."""
    rejected_shares: tuple[float | None, ...]

    @property
    def rejected_share(self) -> float | None:
        """The share of candidates that did not pass validation, among those that were decided."""
        decided = self.approved + self.rejected
        return self.rejected / decided if decided else None


def first_week(now: datetime) -> datetime:
    """The Monday with which the half year begins."""
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    return today - timedelta(days=today.weekday(), weeks=WEEKS - 1)


def figures(
    now: datetime, ever: int, periods: Sequence[Row], newest: Sequence[Row], weekly: Sequence[Row] = ()
) -> Figures:
    """Put together what the tables say. Shapes: `weeks` has every week, oldest first, also those with nothing."""
    by_week = {row["week"]: _counts(row) for row in periods if row["week"] is not None}
    by_platform = {row["platform"]: _counts(row) for row in periods if row["platform"] is not None}
    whole = next((_counts(row) for row in periods if row["week"] is None and row["platform"] is None), Counts())
    start = first_week(now)
    mondays = [start + timedelta(weeks=n) for n in range(WEEKS)]
    sampled: dict[datetime, list[Row]] = {}
    for row in weekly:
        sampled.setdefault(row["week"], []).append(row)
    took = sorted((row["checked_at"] - row["queued_at"]).total_seconds() for row in newest)
    tokens = [row["tokens"] for row in newest if row["tokens"]]
    costs = [row["cost_micro_usd"] for row in newest if row["cost_micro_usd"] is not None]
    return Figures(
        at=now,
        ever=ever,
        whole=whole,
        weeks=tuple((monday, by_week.get(monday, Counts())) for monday in mondays),
        platforms=tuple(sorted(by_platform.items(), key=lambda item: (-item[1].posts, item[0]))),
        sample=len(newest),
        durations=_classes(took),
        duration_median_s=median(took) if took else None,
        duration_p95_s=took[min(len(took) - 1, len(took) * 95 // 100)] if took else None,
        tokens_median=float(median(tokens)) if tokens else None,
        cost_median_micro_usd=float(median(costs)) if costs else None,
        priced=len(costs),
        approved=sum(row["approved"] for row in newest),
        rejected=sum(row["rejected"] for row in newest),
        failed=sum(row["failed"] for row in newest),
        demo=sum(is_demo(row["provider"]) for row in newest),
        costs=tuple(_cost(sampled.get(monday, ())) for monday in mondays),
        rejected_shares=tuple(_rejected(sampled.get(monday, ())) for monday in mondays),
    )


def _counts(row: Row) -> Counts:
    return Counts(row["posts"], row["flagged"], int(row["claims"]), row["investigations"])


def _cost(rows: Sequence[Row]) -> float | None:
    costs = [row["cost_micro_usd"] for row in rows if row["cost_micro_usd"] is not None]
    return float(median(costs)) if costs else None


def _rejected(rows: Sequence[Row]) -> float | None:
    decided = sum(row["approved"] + row["rejected"] for row in rows)
    return sum(row["rejected"] for row in rows) / decided if decided else None


def _classes(took: Sequence[float]) -> tuple[int, ...]:
    counts = [0] * (len(DURATIONS_S) + 1)
    for seconds in took:
        counts[sum(seconds > end for end in DURATIONS_S)] += 1
    return tuple(counts)


class FiguresDesk:
    """The figures as they were a moment ago. Raises: Unavailable: there are none yet and none can be had."""

    def __init__(self, shelf: Shelf, clock: Clock) -> None:
        self._shelf = shelf
        self._clock = clock
        self._flights: SingleFlight[str, Figures] = SingleFlight()
        self._known: Figures | None = None
        self._known_at_s = 0.0
        self._looking: asyncio.Task[Figures] | None = None

    async def figures(self) -> Figures:
        """Those that are known, or the first ones."""
        if self._known is None:
            return await self._flights.run("", self._look)
        if self._clock.monotonic() - self._known_at_s >= FRESH_S and (self._looking is None or self._looking.done()):
            self._looking = asyncio.create_task(self._flights.run("", self._look))
            self._looking.add_done_callback(lambda task: task.cancelled() or task.exception())
        return self._known

    async def _look(self) -> Figures:
        now, asked_at_s = self._clock.now(), self._clock.monotonic()
        async with self._shelf.open() as looking:
            ever = sum(row["documents"] for row in await looking.buckets())
            periods = await looking.periods(first_week(now))
            newest, weekly = await looking.newest(), await looking.weekly(first_week(now), now)
        self._known = figures(now, ever, periods, newest, weekly)
        self._known_at_s = asked_at_s
        return self._known
