"""Publishers are scored once a week, whoever does it and however often."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from random import Random
from typing import Final
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.v1 import Event, PublisherEpochClosed, PublisherScored
from contracts.v1.ids import publisher_id
from lifecycle.audits.epochs import Epoch, epoch_of
from lifecycle.audits.scores import Concluded, Rating
from services.curator.record.publishers import KnownPublisher
from services.curator.weekly_scores import WeeklyScores
from tests.support.curating import JobsLog
from tests.support.fakes import StillClock
from tests.unit.lifecycle.audits.test_scores import cite, conclude

WEEK: Final = epoch_of(202647)
DAILY, OFFICE = publisher_id("daily.example"), publisher_id("office.example")
FOUND: Final = {
    202647: [conclude(cite("daily.example"), cite("office.example", supports=False, family=2))],
    202648: [conclude(cite("daily.example", supports=False))],
}


class Crash(Exception):
    """The process ends here."""


class Tables:
    """The tables, which follow the log up to a place, with what was found in each week."""

    def __init__(self, log: JobsLog, ratings: Mapping[UUID, tuple[datetime, Rating]] | None = None) -> None:
        self.log = log
        self.lag = 0
        self.said = ratings or {}

    async def newest(self) -> int:
        return len(self.log.facts.events)

    async def holds(self, sequence: int) -> bool:
        return len(self.log.facts.events) - self.lag >= sequence

    async def closed(self) -> tuple[int, int]:
        for each in reversed(self.log.facts.entries):
            if isinstance(each.event, PublisherEpochClosed):
                return each.event.epoch, each.sequence
        return 0, 0

    async def first(self) -> tuple[datetime | None, datetime | None]:
        return WEEK.begins + timedelta(days=1), min((at for at, _ in self.said.values()), default=None)

    async def week(self, epoch: Epoch) -> Sequence[Concluded]:
        return FOUND.get(epoch.number, [])

    async def rated(self, epoch: Epoch) -> Collection[UUID]:
        return {id_ for id_, (at, _) in self.said.items() if epoch.rated_since <= at < epoch.rated_until}

    async def publishers(self, ids: Collection[UUID]) -> Mapping[UUID, KnownPublisher]:
        return {
            each.event.publisher_id: KnownPublisher(
                each.event.publisher_id,
                each.event.domain,
                each.event.epoch,
                each.sequence,
                each.event.correct,
                each.event.total,
                each.event.correct_weight,
                each.event.total_weight,
                each.event.citations,
                each.event.claims,
            )
            for each in self.log.facts.entries[: len(self.log.facts.entries) - self.lag]
            if isinstance(each.event, PublisherScored) and each.event.publisher_id in ids
        }

    async def ratings(self, ids: Collection[UUID], until: datetime) -> Mapping[UUID, Rating]:
        return {id_: rating for id_, (at, rating) in self.said.items() if id_ in ids and at < until}


class CrashingLog(JobsLog):
    """A log whose writer ends after so many events."""

    def __init__(self, log: JobsLog, after: int) -> None:
        self.facts = log.facts
        self.after = after

    async def publish(self, event: Event, correlation: UUID) -> bool:
        if not self.after:
            raise Crash
        self.after -= 1
        return await super().publish(event, correlation)


def scores_of(log: JobsLog) -> list[PublisherScored]:
    return [each for each in log.facts.events if isinstance(each, PublisherScored)]


def say(log: JobsLog) -> list[str]:
    """What is in the log, without where."""
    return [each.model_dump_json(exclude={"follows"}) for each in log.facts.events]


async def run(log: JobsLog, now: datetime, ratings: Mapping[UUID, tuple[datetime, Rating]] | None = None) -> JobsLog:
    worker = WeeklyScores(Tables(log, ratings), log, StillClock(now), {})
    while await worker.run_once():
        pass
    return log


@pytest.mark.requirement("FH-128")
@pytest.mark.requirement("FH-136")
async def test_a_week_that_is_run_again_changes_nothing() -> None:
    """FH-128: Scores are computed weekly, never by an analysis.

    FH-136: A moderator may set a score with a reason.
    """
    log = JobsLog()
    assert say(await run(log, WEEK.closes - timedelta(seconds=1))) == []
    await run(log, WEEK.closes)
    first = say(log)
    assert {(each.domain, each.correct, each.total, each.score) for each in scores_of(log) if each.total} == {
        ("daily.example", 1, 1, 65.0),
        ("office.example", 0, 1, 15.0),
    }
    assert {(each.domain, each.score) for each in scores_of(log) if each.why == "INITIAL"} == {
        ("new.example", 30.0),
        ("other.example", 30.0),
    }
    assert say(await run(log, WEEK.closes + timedelta(days=6))) == first
    await run(log, WEEK.next().closes)
    assert [(each.epoch, each.correct, each.total) for each in scores_of(log) if each.publisher_id == DAILY] == [
        (202647, 1, 1),
        (202648, 1, 2),
    ]


@pytest.mark.requirement("FH-136")
async def test_a_rating_counts_from_the_next_epoch_and_a_set_score_stands_instead_of_the_formula() -> None:
    """FH-136: A moderator may set a score with a reason."""
    early = {DAILY: (WEEK.rated_until - timedelta(seconds=1), Rating("journal", score=88))}
    log = await run(JobsLog(), WEEK.closes, early)
    (daily,) = [each for each in scores_of(log) if each.publisher_id == DAILY]
    assert (daily.score, daily.why, daily.correct, daily.total) == (88.0, "SET", 1, 1)
    late = {DAILY: (WEEK.rated_until, Rating("journal", score=88))}
    log = await run(JobsLog(), WEEK.closes, late)
    assert [(each.epoch, each.score) for each in scores_of(log) if each.publisher_id == DAILY] == [(202647, 65.0)]
    await run(log, WEEK.next().closes, late)
    assert [each.why for each in scores_of(log) if each.publisher_id == DAILY] == ["COMPUTED", "SET"]


async def test_tables_that_lag_close_no_epoch() -> None:
    log = JobsLog(PublisherEpochClosed(epoch=202646, publishers=0))
    tables = Tables(log)
    worker = WeeklyScores(tables, log, StillClock(WEEK.closes), {})
    tables.lag = 1
    assert await worker.run_once() is None
    assert len(log.facts.events) == 1
    tables.lag = 0
    assert await worker.run_once() == WEEK.number


@pytest.mark.requirement("FH-128")
@given(st.integers(0, 10_000))
async def test_two_curators_that_crash_anywhere_store_what_one_does(seed: int) -> None:
    """FH-128: Scores are computed weekly, never by an analysis."""
    draw, log = Random(seed), JobsLog()
    now = WEEK.next().closes
    alone = await run(JobsLog(), now)
    for _ in range(200):
        tables = Tables(log)
        tables.lag = draw.choice([0, 0, 1, 3])
        worker = WeeklyScores(tables, CrashingLog(log, draw.randrange(4)), StillClock(now), {})
        try:
            await worker.run_once()
        except Crash:
            continue
        if len(log.facts.events) == len(alone.facts.events):
            break
    assert sorted(say(log)) == sorted(say(alone))
    assert len(scores_of(log)) == len({(each.publisher_id, each.epoch) for each in scores_of(log)})


async def test_an_epoch_stays_open_while_a_score_is_refused() -> None:
    log = await run(JobsLog(), WEEK.closes)
    tables = Tables(log)
    worker = WeeklyScores(tables, log, StillClock(WEEK.next().closes), {})

    async def forget(ids: Collection[UUID]) -> Mapping[UUID, KnownPublisher]:
        return {}

    tables.publishers = forget  # type: ignore[method-assign]  # tables that do not hold the scores before yet
    assert await worker.run_once() is None
    assert [each.epoch for each in log.facts.events if isinstance(each, PublisherEpochClosed)] == [WEEK.number]


SPRING: Final = epoch_of(202612)
"""It closes on 2026-03-29 at 02:00 UTC, within the hour that clocks in Europe leave out."""


class SpringTables(Tables):
    """The same two weeks, at the change of clocks."""

    async def first(self) -> tuple[datetime | None, datetime | None]:
        return SPRING.begins + timedelta(days=1), None

    async def week(self, epoch: Epoch) -> Sequence[Concluded]:
        places = {SPRING.number: WEEK.number, SPRING.next().number: WEEK.next().number}
        return FOUND.get(places.get(epoch.number, 0), [])


ZONES: Final = st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"])
TURNS: Final = st.lists(st.tuples(ZONES, st.integers(-7_200, 9 * 86_400), st.integers(0, 4)), max_size=12)


@pytest.mark.requirement("FH-128")
@given(TURNS)
async def test_curators_in_any_zone_close_the_weeks_of_a_clock_change_alike(turns: list[tuple[str, int, int]]) -> None:
    """FH-128: Scores are computed weekly, never by an analysis."""
    ends, alone, log = SPRING.next().closes, JobsLog(), JobsLog()
    worker = WeeklyScores(SpringTables(alone), alone, StillClock(ends), {})
    while await worker.run_once():
        pass
    assert len(say(alone)) > 2
    for zone, seconds, crashes_after in sorted(turns, key=lambda turn: turn[1]):
        now = SPRING.closes + timedelta(seconds=seconds)
        curator = WeeklyScores(
            SpringTables(log), CrashingLog(log, crashes_after), StillClock(now.astimezone(ZoneInfo(zone))), {}
        )
        try:
            await curator.run_once()
        except Crash:
            continue
        if now < SPRING.closes:
            assert log.facts.events == []
    for zone in ("Europe/Berlin", "America/New_York"):
        last = WeeklyScores(SpringTables(log), log, StillClock(ends.astimezone(ZoneInfo(zone))), {})
        while await last.run_once():
            pass
    assert sorted(say(log)) == sorted(say(alone))
