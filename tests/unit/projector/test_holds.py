"""A held claim in the tables: its review is paid for once, and it has no verdict until its hold is over."""

from __future__ import annotations

from datetime import timedelta

import pytest

from contracts.v1 import ClaimHoldEnded, Event
from services.projector.rows.claims import CANDIDATES, EXPENSES, REVIEWS
from tests.unit.projector.histories import START, Page
from tests.unit.projector.test_project import folded

PAGE = Page("a")
APPROVAL = PAGE.approved(0)
HELD = PAGE.held(APPROVAL)
ENDED = ClaimHoldEnded(investigation_id=APPROVAL.investigation_id, claim_id=APPROVAL.claim_id, state="RELEASED")


@pytest.mark.requirement("TR-31")
@pytest.mark.parametrize(
    ("events", "state", "reviews"),
    [
        ((HELD,), "PENDING", 0),
        ((HELD, HELD), "PENDING", 0),
        ((HELD, ENDED), "PENDING", 0),
        ((HELD, ENDED, APPROVAL), "APPROVED", 1),
        ((HELD, ENDED, APPROVAL, APPROVAL, HELD), "APPROVED", 1),
        ((HELD, ENDED, PAGE.rejected(0)), "REJECTED", 1),
    ],
)
def test_a_held_claim_has_no_verdict_and_its_review_costs_once(
    events: tuple[Event, ...], state: str, reviews: int
) -> None:
    """TR-31: Nothing of a held finding is seen before its release"""
    tables = folded(PAGE.proposed(0), *events)
    (candidate,) = tables[CANDIDATES].current
    assert candidate.state == state
    assert len(tables[REVIEWS].current) == reviews
    (expense,) = tables[EXPENSES].current
    assert (expense.total_tokens, expense.spent_at) == (6, START + timedelta(seconds=2)), "when it was held"


def test_each_try_of_a_review_is_paid_for() -> None:
    tries = PAGE.tried(0, 1), PAGE.tried(0, 2)
    tables = folded(PAGE.proposed(0), *tries, *tries, APPROVAL, APPROVAL)
    assert sorted(each.total_tokens for each in tables[EXPENSES].current) == [3, 3, 6]
