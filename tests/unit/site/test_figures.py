"""Figures and charts say what the rows say, and say nothing of what is not there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.gateway.ports import Unavailable
from services.gateway.public.site.charts import HEIGHT, WIDTH, Chart, Value, choose_steps, layout_chart
from services.gateway.public.site.drawings import draw_figures
from services.gateway.public.site.figures import FRESH_S, WEEKS, Counts, FiguresCache, compute_figures, first_week
from services.gateway.public.site.naming import duration, money, percent
from services.gateway.public.site.rendering import Templates
from services.gateway.record.counts import Period, Sample, WeekSample
from tests.support.fakes import StillClock

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)


def period(week: datetime | None, platform: str | None, posts: int, flagged: int) -> Period:
    return Period(week=week, platform=platform, posts=posts, flagged=flagged, claims=2 * flagged, investigations=posts)


def taken(seconds: float, *, tokens: int | None = 100, provider: str = "OPENAI") -> Sample:
    return Sample(
        queued_at=NOW,
        checked_at=NOW + timedelta(seconds=seconds),
        provider=provider,
        approved=1,
        rejected=1,
        failed=0,
        tokens=tokens,
        cost_micro_usd=None,
    )


@pytest.mark.requirement("2.7-02")
def test_incidence_is_the_share_of_posts() -> None:
    """2.7-02: The share of investigated posts with findings is published."""
    monday = first_week(NOW) + timedelta(weeks=3)
    rows = [
        period(None, None, 8, 2),
        period(monday, None, 8, 2),
        period(None, "X", 5, 1),
        period(None, "WIKIPEDIA", 3, 1),
    ]
    known = compute_figures(NOW, 12, rows, [taken(5), taken(50, provider="demo"), taken(5_000, tokens=None)])
    assert known.whole.incidence == 0.25
    assert len(known.weeks) == WEEKS
    assert [counts.posts for _, counts in known.weeks] == [0, 0, 0, 8] + [0] * (WEEKS - 4)
    assert known.weeks[0][1].incidence is None
    assert [name for name, _ in known.platforms] == ["X", "WIKIPEDIA"]
    assert (known.duration_median_s, known.duration_p95_s) == (50, 5_000)
    assert known.durations == (1, 0, 1, 0, 0, 0, 0, 1)
    assert (known.rejected_share, known.demo, known.sample) == (0.5, 1, 3)
    assert (known.tokens_median, known.cost_median_micro_usd) == (100, None)


def test_cost_and_rejections_by_week() -> None:
    third, last = (first_week(NOW) + timedelta(weeks=n) for n in (2, WEEKS - 1))
    weekly = [
        WeekSample(week=third, approved=1, rejected=3, cost_micro_usd=10_000),
        WeekSample(week=third, approved=2, rejected=0, cost_micro_usd=30_000),
        WeekSample(week=last, approved=0, rejected=0, cost_micro_usd=None),
    ]
    known = compute_figures(NOW, 3, [], [], weekly)
    assert [n for n, cost in enumerate(known.costs) if cost is not None] == [2]
    assert (known.costs[2], known.rejected_shares[2], known.rejected_shares[-1]) == (20_000, 0.5, None)
    values: dict[str, Any] = draw_figures(known)
    costs = values["costs"]
    assert isinstance(costs, Chart)
    assert values["cost_rows"][2][1] == "$0.02"
    assert values["rejection_rows"][2][1] == "50 %"
    assert costs.ticks[-1].label.startswith("$0.0")


@pytest.mark.parametrize(
    ("providers", "notes"),
    [
        (["demo"], ("The newest investigation is of the demonstration", "Of the newest investigation.")),
        (
            ["demo", "x"],
            ("1 of the newest 2 investigations is of the demonstration", "Of the newest 2 investigations."),
        ),
        (["demo", "demo"], ("All of the newest 2 investigations are of the demonstration",)),
    ],
)
def test_investigations_are_named_by_their_number(providers: list[str], notes: tuple[str, ...]) -> None:
    known = compute_figures(NOW, 2, [], [taken(5, provider=each) for each in providers])
    page = Templates().render("figures.html", canonical=None, section=None, **draw_figures(known)).decode()
    assert [note for note in notes if note not in page] == []


def test_one_post_and_one_error_are_named_as_one() -> None:
    rows = [Period(week=None, platform=None, posts=1, flagged=1, claims=1, investigations=1)]
    values = draw_figures(compute_figures(NOW, 1, rows, [taken(5)]))
    page = Templates().render("figures.html", canonical=None, section=None, **values).decode()
    for label in ("post checked", "error found", "investigation since the beginning"):
        assert f"<dt>{label}</dt><dd>1</dd>" in page


def test_of_nothing_there_is_no_share() -> None:
    known = compute_figures(NOW, 0, [], [])
    assert (known.whole, known.rejected_share, known.duration_median_s) == (Counts(), None, None)
    values: dict[str, Any] = draw_figures(known)
    assert values["incidence"].lines == ()
    assert values["week_rows"][0][1:] == ("0", "0", "–")


def test_where_nothing_was_checked_no_empty_chart_is_drawn() -> None:
    known = compute_figures(NOW, 0, [], [])
    page = Templates().render("figures.html", canonical=None, section=None, **draw_figures(known)).decode()
    assert "Nothing has been checked yet." in page
    assert "<svg" not in page
    assert "Of the newest" not in page


def test_the_half_year_begins_on_a_monday_and_ends_today() -> None:
    start = first_week(NOW)
    assert start.weekday() == 0
    assert start + timedelta(weeks=WEEKS - 1) <= NOW < start + timedelta(weeks=WEEKS)


@given(st.floats(0, 1e9), st.booleans())
def test_a_scale_reaches_the_highest_value_in_few_steps(highest: float, whole: bool) -> None:
    steps = choose_steps(highest, whole=whole)
    assert steps[0] == 0
    assert steps[-1] >= highest * 0.999999
    assert 2 <= len(steps) <= 7
    assert not whole or all(step == int(step) for step in steps)


@given(st.lists(st.none() | st.floats(0, 1e6), max_size=30))
def test_a_chart_stays_on_its_paper(heights: list[float | None]) -> None:
    drawn_ = layout_chart([Value("v", "v", height, (height or 0) / 2) for height in heights])
    for column in drawn_.columns:
        assert 0 <= column.x <= column.x + column.width <= WIDTH
        assert 0 <= column.y <= HEIGHT
        assert column.part_height <= column.height + 0.1


def test_a_line_breaks_where_there_is_nothing() -> None:
    values = [Value("v", "v", height) for height in (0.1, 0.2, None, 0.3, None, 0.4, 0.5)]
    assert len(layout_chart(values, as_percent=True).lines) == 2


def test_numbers_as_people_say_them() -> None:
    assert [percent(share) for share in (None, 0, 0.034, 0.5, 1)] == ["–", "0 %", "3.4 %", "50 %", "100 %"]
    assert [duration(s) for s in (None, 0.5, 4.04, 42, 300, 90_000)] == [
        "–",
        "500 ms",
        "4.0 s",
        "42 s",
        "5 min",
        "25 h",
    ]
    assert [money(m) for m in (None, 0, 1_500, 2_340_000)] == ["–", "$0", "$0.0015", "$2.34"]


class Rows:
    """Stands in for the record: counts how often it is read, and may fail or wait."""

    def __init__(self) -> None:
        self.reads = 0
        self.fails = False
        self.gate = asyncio.Event()
        self.gate.set()
        self.seen = asyncio.Event()
        self.counts = self

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Rows]:
        await self.gate.wait()
        if self.fails:
            raise Unavailable("database")
        self.reads += 1
        yield self

    async def count_results(self) -> int:
        return self.reads

    async def periods(self, since: datetime) -> list[object]:
        return []

    async def weekly(self, since: datetime, now: datetime) -> list[object]:
        return []

    async def newest(self) -> list[object]:
        self.seen.set()
        return []


async def test_many_who_look_cost_one_look() -> None:
    rows, clock = Rows(), StillClock()
    desk = FiguresCache(rows, clock)  # type: ignore[arg-type]  # stands in for the record
    await asyncio.gather(*(desk.figures() for _ in range(20)))
    assert rows.reads == 1


async def test_nobody_waits_for_newer_figures() -> None:
    rows, clock = Rows(), StillClock()
    desk = FiguresCache(rows, clock)  # type: ignore[arg-type]  # stands in for the record
    await desk.figures()
    clock.pass_by(FRESH_S)
    rows.gate.clear()
    rows.seen.clear()
    assert (await desk.figures()).results == 1
    rows.gate.set()
    async with asyncio.timeout(20):
        await rows.seen.wait()
    assert (await desk.figures()).results == 2


async def test_old_figures_are_better_than_none() -> None:
    rows, clock = Rows(), StillClock()
    desk = FiguresCache(rows, clock)  # type: ignore[arg-type]  # stands in for the record
    rows.fails = True
    with pytest.raises(Unavailable):
        await desk.figures()
    rows.fails = False
    await desk.figures()
    rows.fails = True
    clock.pass_by(FRESH_S)
    for _ in range(3):
        assert (await desk.figures()).results == 1
        await asyncio.sleep(0)
