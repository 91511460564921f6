"""The most wanted posts within the day's budget, by one selector at a time, each once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.v1 import InvestigationRequested
from contracts.v1.ids import investigation_id
from services.selector.domain import Candidate, allowance, request
from services.selector.handlers import Selector
from tests.support.fakes import MemoryLog, StillClock


def candidate(number: int) -> Candidate:
    """A post that nobody has investigated; a lower number is more wanted."""
    return Candidate(UUID(int=number), UUID(int=1_000 + number), 1_000 - number, UUID(int=2_000 + number))


@dataclass
class Reads:
    """The read model: what was taken today, and who is next."""

    taken: int = 0
    waiting: Sequence[Candidate] = tuple(candidate(number) for number in range(1, 10))
    asked_since: list[datetime] = field(default_factory=list)
    asked_limit: list[int] = field(default_factory=list)

    async def taken_since(self, since: datetime, analysis: str) -> int:
        self.asked_since.append(since)
        return self.taken

    async def candidates(self, analysis: str, limit: int) -> Sequence[Candidate]:
        self.asked_limit.append(limit)
        return self.waiting[:limit]


@dataclass
class Requests:
    """The log, which may know some of the requests already."""

    others: frozenset[UUID] = frozenset()
    log: MemoryLog = field(default_factory=MemoryLog)
    correlations: list[UUID] = field(default_factory=list)

    async def publish(self, request: InvestigationRequested, correlation: UUID) -> bool:
        if request.version_id in self.others:
            return False
        self.log.publish(request)
        self.correlations.append(correlation)
        return True


@dataclass
class Leadership:
    """Leader or not."""

    leading: bool = True

    async def hold(self) -> bool:
        return self.leading


def selector(
    reads: Reads, requests: Requests, *, leading: bool = True, budget_per_day: int = 100, batch: int = 4
) -> Selector:
    """A selector at a moment late on a day."""
    clock = StillClock(datetime(2026, 3, 4, 23, 59, 59, tzinfo=UTC))
    return Selector(
        reads,
        requests,
        Leadership(leading),
        clock,
        analysis="FACT_CHECK",
        budget_per_day=budget_per_day,
        batch=batch,
    )


def taken(requests: Requests) -> list[UUID]:
    """Versions requested, in order."""
    return [event.version_id for event in requests.log.events if isinstance(event, InvestigationRequested)]


@pytest.mark.requirement("2.1-09", "2.10-01")
async def test_the_most_wanted_are_requested_first() -> None:
    requests = Requests()
    assert await selector(Reads(), requests).select() == 4
    assert taken(requests) == [candidate(number).version_id for number in range(1, 5)]
    assert requests.correlations == [candidate(number).correlation for number in range(1, 5)]


@pytest.mark.requirement("2.10-02")
async def test_the_budget_is_that_of_the_day() -> None:
    reads, requests = Reads(taken=98), Requests()
    assert await selector(reads, requests).select() == 2
    assert reads.asked_since == [datetime(2026, 3, 4, tzinfo=UTC)]
    assert reads.asked_limit == [2]


async def test_a_spent_budget_asks_nobody() -> None:
    reads, requests = Reads(taken=100), Requests()
    assert await selector(reads, requests).select() == 0
    assert reads.asked_limit == []
    assert taken(requests) == []


async def test_only_the_leader_selects() -> None:
    reads, requests = Reads(), Requests()
    assert await selector(reads, requests, leading=False).select() == 0
    assert reads.asked_since == []
    assert taken(requests) == []


@pytest.mark.requirement("2.8-01")
async def test_a_request_that_somebody_else_made_is_theirs() -> None:
    requests = Requests(others=frozenset({candidate(1).version_id}))
    assert await selector(Reads(), requests).select() == 3
    assert taken(requests) == [candidate(number).version_id for number in range(2, 5)]


def test_a_request_names_what_a_readers_request_would_name() -> None:
    made = request(candidate(1), "FACT_CHECK")
    assert made.investigation_id == investigation_id(candidate(1).version_id, "FACT_CHECK")
    assert (made.requested_by, made.key_source, made.round, made.follows) == ("SELECTOR", "INSTANCE", 1, 0)


@given(st.integers(0, 200), st.integers(0, 400), st.integers(1, 50))
def test_no_round_takes_more_than_batch_or_budget(budget: int, spent: int, batch: int) -> None:
    allowed = allowance(budget, spent, batch)
    assert 0 <= allowed <= batch
    assert allowed == 0 or spent + allowed <= budget
    assert allowed == batch or spent + allowed >= min(budget, spent)
