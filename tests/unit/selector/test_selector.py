"""The most wanted posts within the day's budgets, by one selector at a time, each once, whatever happens to one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from contracts.v1 import InvestigationFailed, InvestigationRequested
from contracts.v1.ids import investigation_id
from lifecycle.investigation import Investigation
from lifecycle.rescue import Watermarks
from services.selector.domain import Budget, Candidate, Overdue, Reason, Spent, make_request
from services.selector.handlers import Selector
from tests.support.fakes import MemoryLog, StillClock

LATE = datetime(2026, 3, 4, 23, 59, 59, tzinfo=UTC)


def candidate(number: int) -> Candidate:
    """A post that nobody has investigated; a lower number is more wanted."""
    return Candidate(UUID(int=number), UUID(int=1_000 + number), 1_000 - number, UUID(int=2_000 + number))


def run(number: int) -> UUID:
    """The investigation of a candidate."""
    return investigation_id(candidate(number).version_id, "FACT_CHECK")


@dataclass
class Reads:
    """The read model: what was spent today, who is next, and who is overdue."""

    day: Spent = field(default_factory=Spent)
    waiting: Sequence[Candidate] = tuple(candidate(number) for number in range(1, 10))
    overdue_runs: Sequence[int] = ()
    latest: Reason | None = None
    asked_since: list[datetime] = field(default_factory=list)
    asked_limit: list[int] = field(default_factory=list)
    asked_before: list[tuple[datetime, Watermarks]] = field(default_factory=list)

    async def spent(self, since: datetime, analysis: str) -> Spent:
        self.asked_since.append(since)
        return self.day

    async def last_reason(self, since: datetime, analysis: str) -> Reason | None:
        return self.latest if since < LATE else None

    async def candidates(self, analysis: str, limit: int) -> Sequence[Candidate]:
        self.asked_limit.append(limit)
        return self.waiting[:limit]

    async def overdue(self, analysis: str, before: datetime, settled: Watermarks, limit: int) -> Sequence[Overdue]:
        self.asked_before.append((before, settled))
        return [Overdue(run(number), candidate(number)) for number in self.overdue_runs][:limit]


@dataclass
class Log:
    """The log, in which somebody else may have been faster, and which may not answer about some."""

    others: frozenset[UUID] = frozenset()
    broken: frozenset[UUID] = frozenset()
    log: MemoryLog = field(default_factory=MemoryLog)
    correlations: list[UUID] = field(default_factory=list)
    before_publishing: list[Leadership] = field(default_factory=list)

    async def settled(self) -> Watermarks:
        return Watermarks(*(len(self.log.entries),) * 3)

    async def investigation(self, investigation_id: UUID) -> Investigation | None:
        if investigation_id in self.broken:
            raise TimeoutError("the log does not answer")
        return await self.log.investigation(investigation_id)

    async def publish(self, event: InvestigationRequested | InvestigationFailed, correlation: UUID) -> bool:
        if event.investigation_id in self.broken:
            raise TimeoutError("the log does not answer")
        if event.version_id in self.others:
            return False
        self.log.publish(event)
        self.correlations.append(correlation)
        for leadership in self.before_publishing:
            leadership.is_leader = False
        return True


@dataclass
class Leadership:
    """Leader or not."""

    is_leader: bool = True


def selector(
    reads: Reads,
    log: Log,
    *,
    leadership: Leadership | None = None,
    budget: Budget = Budget(100),  # noqa: B008 (a value)
    batch: int = 4,
) -> Selector:
    """A selector at a moment late on a day."""
    return Selector(
        reads,
        log,
        leadership or Leadership(),
        StillClock(LATE),
        analysis="FACT_CHECK",
        budget=budget,
        batch=batch,
        patience_s=60,
    )


def taken(log: Log) -> list[UUID]:
    """Versions requested, in order."""
    return [event.version_id for event in log.log.events if isinstance(event, InvestigationRequested)]


def versions(*numbers: int) -> list[UUID]:
    return [candidate(number).version_id for number in numbers]


@pytest.mark.requirement("2.1-09", "2.10-01")
async def test_the_most_wanted_are_requested_first() -> None:
    """2.1-09: Investigations are scheduled by predicted readership.
    2.10-01: Order by capped unique score.
    """
    log = Log()
    assert await selector(Reads(), log).select() == 4
    assert taken(log) == versions(1, 2, 3, 4)
    assert log.correlations == [candidate(number).correlation for number in range(1, 5)]


@pytest.mark.requirement("2.10-02")
async def test_the_budget_is_that_of_the_day() -> None:
    """2.10-02: Budget configurable."""
    reads, log = Reads(Spent(runs=98)), Log()
    assert await selector(reads, log).select() == 2
    assert reads.asked_since == [datetime(2026, 3, 4, tzinfo=UTC)]
    assert reads.asked_limit == [2]


@pytest.mark.requirement("2.10-02")
@pytest.mark.parametrize(
    ("spent", "budget"),
    [
        (Spent(runs=100), Budget(100)),
        (Spent(micro_usd=5_000_000, typical_micro_usd=1), Budget(100, 5_000_000)),
        (Spent(micro_usd=1, unpriced=1), Budget(100, 5_000_000)),
    ],
)
async def test_a_spent_budget_asks_nobody(spent: Spent, budget: Budget) -> None:
    """2.10-02: Budget configurable."""
    reads, log = Reads(spent), Log()
    assert await selector(reads, log, budget=budget).select() == 0
    assert reads.asked_limit == []
    assert taken(log) == []


async def test_only_the_leader_selects() -> None:
    reads, log = Reads(), Log()
    assert await selector(reads, log, leadership=Leadership(False)).select() == 0
    assert reads.asked_since == []
    assert taken(log) == []


async def test_who_does_not_lead_any_more_stops_at_once() -> None:
    leadership, log = Leadership(), Log()
    log.before_publishing.append(leadership)
    assert await selector(Reads(), log, leadership=leadership).select() == 1
    assert taken(log) == versions(1)


@pytest.mark.requirement("2.8-01")
async def test_a_request_that_somebody_else_made_is_theirs() -> None:
    """2.8-01: One investigation for a post's version."""
    log = Log(others=frozenset(versions(1)))
    assert await selector(Reads(), log).select() == 3
    assert taken(log) == versions(2, 3, 4)


async def test_one_that_cannot_be_asked_for_does_not_stop_the_others() -> None:
    log = Log(broken=frozenset({run(2)}))
    assert await selector(Reads(), log).select() == 3
    assert taken(log) == versions(1, 3, 4)


@pytest.mark.requirement("3.6-03", "3.6-04")
async def test_lost_ones_are_asked_for_again_and_starve_nobody() -> None:
    """3.6-03: A run whose worker died is taken up again.
    3.6-04: A request that was lost is made again.
    """
    log = Log()
    for number in range(20, 26):
        log.log.publish(make_request(candidate(number), "FACT_CHECK"))
    reads = Reads(overdue_runs=range(20, 26))
    before = len(log.log.entries)
    assert await selector(reads, log).select() == 4
    assert taken(log)[before:] == versions(20, 1, 21, 2)
    assert reads.asked_before == [(LATE - timedelta(seconds=60), Watermarks(before, before, before))]
    again = [event for event in log.log.events[before:] if isinstance(event, InvestigationRequested)]
    assert [(event.round, event.follows) for event in again[::2]] == [(2, 1), (2, 2)]


@pytest.mark.requirement("3.6-03", "3.6-04", "2.10-01")
@pytest.mark.parametrize(("latest", "version"), [(None, 20), ("most viewed", 20), ("lost", 1)])
async def test_where_one_run_is_allowed_lost_ones_and_new_posts_take_turns(latest: Reason | None, version: int) -> None:
    """3.6-03: A run whose worker died is taken up again.
    3.6-04: A request that was lost is made again.
    2.10-01: Order by capped unique score.
    """
    log = Log()
    log.log.publish(make_request(candidate(20), "FACT_CHECK"))
    assert await selector(Reads(overdue_runs=(20,), latest=latest), log, batch=1).select() == 1
    assert taken(log)[1:] == versions(version)


async def test_a_history_that_cannot_be_read_hides_no_other() -> None:
    log = Log(broken=frozenset({run(20)}))
    for number in (20, 21):
        log.log.publish(make_request(candidate(number), "FACT_CHECK"))
    assert await selector(Reads(overdue_runs=(20, 21), waiting=()), log).select() == 1
    assert taken(log)[2:] == versions(21)


@pytest.mark.requirement("3.6-04")
@pytest.mark.parametrize("budget", [Budget(100), Budget(0)], ids=["some", "no"])
async def test_what_was_lost_too_often_ends_whatever_the_budget_is(budget: Budget) -> None:
    """It costs nothing, and what is given up takes no place from what can still be rescued.

    3.6-04: A request that was lost is made again.
    """
    log = Log()
    hopeless, other = make_request(candidate(20), "FACT_CHECK"), make_request(candidate(21), "FACT_CHECK")
    rounds = [hopeless.model_copy(update={"round": number, "follows": number - 1}) for number in range(1, 5)]
    for event in (*rounds, other):
        log.log.publish(event)
    works = selector(Reads(overdue_runs=(20, 21), waiting=()), log, budget=budget, batch=2)
    selection = await works.plan()
    assert log.log.events == [*rounds, other], "looking ends nothing"
    assert [end.event.version_id for end in selection.abandoned] == versions(20)
    assert await works.publish(selection) == (1 if budget.runs else 0)
    ends = [event for event in log.log.events if isinstance(event, InvestigationFailed)]
    assert [(end.version_id, end.round) for end in ends] == [(hopeless.version_id, 4)]
    assert log.correlations[0] == candidate(20).correlation
    assert taken(log)[5:] == (versions(21) if budget.runs else [])
    assert (await works.plan()).abandoned == (), "it is over"


async def test_looking_takes_nothing() -> None:
    log = Log()
    selection = await selector(Reads(Spent(runs=97)), log).plan()
    assert [pick.request.version_id for pick in selection.picks] == versions(1, 2, 3)
    assert {pick.why for pick in selection.picks} == {"most viewed"}
    assert (selection.allowance.runs, selection.allowance.limit) == (3, "100 runs a day")
    assert log.log.entries == []


def test_a_request_names_what_a_readers_request_would_name() -> None:
    made = make_request(candidate(1), "FACT_CHECK")
    assert made.investigation_id == run(1)
    assert (made.requested_by, made.key_source, made.round, made.follows) == ("SELECTOR", "INSTANCE", 1, 0)


def test_a_round_after_failed_ones_follows_the_last_of_them() -> None:
    made = make_request(replace(candidate(1), round=3, follows=7), "FACT_CHECK")
    assert (made.round, made.follows) == (3, 7)
