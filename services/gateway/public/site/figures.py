"""Figures of the last half year, computed at most once a minute.

Pages show cached figures while new ones are computed. A share of nothing is None, not 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median
from typing import Final

from kit.cache import Cache
from kit.clock import Clock
from services.gateway.public.site.naming import is_demo
from services.gateway.record.counts import Period, Sample, WeekSample
from services.gateway.record.repository import PublicRecord

WEEKS: Final = 26
FRESH_S: Final = 60.0
DURATIONS_S: Final = (10, 30, 60, 120, 300, 600, 1800)
"""The upper ends of the classes of the time to a result; the last class has none."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Posts whose investigation was finished in a period, and what was found."""

    posts: int = 0
    flagged: int = 0
    claims: int = 0
    investigations: int = 0

    @property
    def incidence(self) -> float | None:
        """The share of posts in which something was found; None without posts."""
        return self.flagged / self.posts if self.posts else None


@dataclass(frozen=True, slots=True)
class Figures:
    """Everything the page of figures shows. `results`: over all time. Units: seconds; cost in micro-dollars."""

    at: datetime
    results: int
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
    """The median by week; None without a known price."""
    rejected_shares: tuple[float | None, ...]

    @property
    def rejected_share(self) -> float | None:
        """The share of candidates that did not pass validation, among those that were decided."""
        decided = self.approved + self.rejected
        return self.rejected / decided if decided else None


def first_week(now: datetime) -> datetime:
    """The first Monday of the half year."""
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    return today - timedelta(days=today.weekday(), weeks=WEEKS - 1)


def compute_figures(
    now: datetime, results: int, periods: Sequence[Period], newest: Sequence[Sample], weekly: Sequence[WeekSample] = ()
) -> Figures:
    """Compute the figures from rows. Shapes: `weeks` has every week, oldest first, also empty ones."""
    by_week = {row.week: _counts(row) for row in periods if row.week is not None}
    by_platform = {row.platform: _counts(row) for row in periods if row.platform is not None}
    whole = next((_counts(row) for row in periods if row.week is None and row.platform is None), Counts())
    start = first_week(now)
    mondays = [start + timedelta(weeks=n) for n in range(WEEKS)]
    sampled: dict[datetime, list[WeekSample]] = {}
    for row in weekly:
        sampled.setdefault(row.week, []).append(row)
    took = sorted((row.checked_at - row.queued_at).total_seconds() for row in newest)
    tokens = [row.tokens for row in newest if row.tokens]
    costs = [row.cost_micro_usd for row in newest if row.cost_micro_usd is not None]
    return Figures(
        at=now,
        results=results,
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
        approved=sum(row.approved for row in newest),
        rejected=sum(row.rejected for row in newest),
        failed=sum(row.failed for row in newest),
        demo=sum(is_demo(row.provider) for row in newest),
        costs=tuple(_cost(sampled.get(monday, ())) for monday in mondays),
        rejected_shares=tuple(_rejected(sampled.get(monday, ())) for monday in mondays),
    )


def _counts(row: Period) -> Counts:
    return Counts(row.posts, row.flagged, row.claims, row.investigations)


def _cost(rows: Sequence[WeekSample]) -> float | None:
    costs = [row.cost_micro_usd for row in rows if row.cost_micro_usd is not None]
    return float(median(costs)) if costs else None


def _rejected(rows: Sequence[WeekSample]) -> float | None:
    decided = sum(row.approved + row.rejected for row in rows)
    return sum(row.rejected for row in rows) / decided if decided else None


def _classes(took: Sequence[float]) -> tuple[int, ...]:
    counts = [0] * (len(DURATIONS_S) + 1)
    for seconds in took:
        counts[sum(seconds > end for end in DURATIONS_S)] += 1
    return tuple(counts)


class FiguresCache:
    """Caches the figures. Raises: Unavailable: none are cached and none can be computed."""

    def __init__(self, record: PublicRecord, clock: Clock) -> None:
        self._record = record
        self._clock = clock
        self._recent: Cache[str, Figures] = Cache(clock, capacity=1, ttl_s=FRESH_S)
        self._latest: Figures | None = None

    def clear(self) -> None:
        """Drop the figures; the next call computes them."""
        self._recent.clear()
        self._latest = None

    async def figures(self) -> Figures:
        """The cached figures; the first call computes them."""
        if self._latest is None:
            return await self._recent.get_or_make("", self._compute)
        if self._recent.get("") is None:
            self._recent.refresh("", self._compute)
        return self._latest

    async def _compute(self) -> Figures:
        now, generation = self._clock.now(), self._recent.generation
        async with self._record.open() as session:
            results = await session.counts.count_results()
            periods = await session.counts.periods(first_week(now))
            newest, weekly = await session.counts.newest(), await session.counts.weekly(first_week(now), now)
        found = compute_figures(now, results, periods, newest, weekly)
        if generation == self._recent.generation:
            self._latest = found
        return found
