"""A run whose money is spent in the middle of its reviews ends as failed, and nothing of it is published."""

from __future__ import annotations

import pytest

from contracts.v1 import ClaimApproved, ClaimValidationFailed, Event, InvestigationCompleted, InvestigationFailed
from contracts.v1.parts import Usage
from lifecycle.conclusion import conclude
from lifecycle.investigation import Investigation
from tests.support.factories import (
    OTHER_QUOTE,
    QUOTE,
    claim_of,
    drafted,
    proposed,
    requested,
    started,
)
from tests.support.fakes import MemoryLog, verdict
from tests.support.judging import InMemory, Judge


def end_of(log: MemoryLog) -> Event | None:
    """What the facts conclude to."""
    found = Investigation.fold(log.entries)
    assert found is not None
    return conclude(found)


@pytest.mark.requirement("2.4.3-10")
@pytest.mark.parametrize(("limit", "enough"), [(100, False), (101, True), (None, True)])
async def test_what_is_left_decides_over_the_next_review(limit: int | None, enough: bool) -> None:
    """2.4.3-10: An error of a review fails the attempt, it drops no claim."""
    log = MemoryLog(requested(), started(cost_limit_micro_usd=limit))
    log.publish(drafted(claims=(claim_of(QUOTE), claim_of(OTHER_QUOTE)), usage=Usage(cost_micro_usd=70)))
    judge = Judge(InMemory(log), verdict(approved=True, usage=Usage(total_tokens=1, cost_micro_usd=30)))
    (first,) = (await judge.judge(proposed(QUOTE))).facts
    (second,) = (await judge.judge(proposed(OTHER_QUOTE))).facts
    assert isinstance(first, ClaimApproved)
    end = end_of(log)
    if enough:
        assert isinstance(second, ClaimApproved)
        assert isinstance(end, InvestigationCompleted)
        return
    assert isinstance(second, ClaimValidationFailed)
    assert len(judge.model.reviews) == 1
    assert isinstance(end, InvestigationFailed)
    assert (end.failure, end.fault) == ("NON_RETRYABLE", "RUN")
    assert (
        end.reason
        == "validation: The run has cost 0.0001 USD and its limit is 0.0001 USD: no further review is bought."
    )
