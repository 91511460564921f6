"""When the next review of a claim may begin follows from what was told of the claim in its round."""

from __future__ import annotations

from datetime import datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from contracts.v1 import ClaimValidationRetryScheduled, Event
from lifecycle.attempts import REVIEWS
from lifecycle.reviews import ReviewState, fold_review_state
from tests.support.factories import NOW, OTHER_QUOTE, QUOTE, proposed, requested, validation_retry_scheduled
from tests.support.logged import lived

SECONDS = st.floats(0, REVIEWS.longest_s)


def stands(round_: int, *events: Event) -> ReviewState:
    """Where a claim of this round stands, after these."""
    asked = [requested(round=number) for number in range(1, round_ + 1)]
    return fold_review_state(proposed(round=round_), lived([*asked, *events]), None)


def in_s(seconds: float) -> datetime:
    """A moment."""
    return NOW + timedelta(seconds=seconds)


def told(attempt: int, quote: str, round_: int, seconds: float) -> ClaimValidationRetryScheduled:
    """A review failed for now, and another one was announced."""
    return validation_retry_scheduled(quote, attempt=attempt, round=round_, retry_at=in_s(seconds))


@given(
    st.lists(st.tuples(st.sampled_from((QUOTE, OTHER_QUOTE)), st.integers(1, 2), SECONDS), max_size=6),
    st.integers(1, 2),
    SECONDS,
)
def test_no_review_begins_before_the_last_moment_told_for_it(
    course: list[tuple[str, int, float]], round_: int, now_s: float
) -> None:
    events = [told(number, *each) for number, each in enumerate(course, 1)]
    state = stands(round_, *events)
    mine = [event.retry_at for event, each in zip(events, course, strict=True) if each[:2] == (QUOTE, round_)]
    left_s = state.left_s(in_s(now_s))
    assert (left_s == 0) == all(moment <= in_s(now_s) for moment in mine)
    assert all(moment <= in_s(now_s) + timedelta(seconds=left_s) for moment in mine)
    assert left_s == 0 or in_s(now_s) + timedelta(seconds=left_s) in mine, "and no later than it"


def test_a_clock_that_is_wrong_does_not_stop_a_claim_for_longer_than_any_rule_would() -> None:
    assert stands(1, told(1, QUOTE, 1, 60)).left_s(in_s(-86_400)) == REVIEWS.longest_s
