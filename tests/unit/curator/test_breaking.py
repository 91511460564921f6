"""Which breakers open for what is known, and what each kind of trigger says in words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accuracy.breaker import Effect
from contracts.v1.breaker import BreakerState, BreakerTrigger
from services.curator.breaking import (
    LEAST_JUDGED,
    Approvals,
    KnownBreaker,
    KnownTrigger,
    Observed,
    RanControl,
    Retracted,
    WrongReview,
    find_effect,
    find_openings,
)

NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)
ONE, OTHER = "1" * 64, "2" * 64


def breaker(
    scope: str, state: BreakerState, *triggers: BreakerTrigger, since: datetime | None = None, at: datetime = NOW
) -> KnownBreaker:
    return KnownBreaker(
        scope=scope,
        state=state,
        triggers=[KnownTrigger(trigger=each, at=at) for each in triggers],
        opened_at=NOW,
        since=since,
        since_sequence=0 if since is None else 5,
        sequence=7,
    )


def control(variant: str, hours_ago: int, *, flagged: bool = True) -> RanControl:
    return RanControl(variant=variant, at=NOW - timedelta(hours=hours_ago), is_flagged=flagged)


def test_a_clean_instance_opens_nothing() -> None:
    observed = Observed(controls=[control(ONE, n, flagged=False) for n in range(400)], released={})
    assert list(find_openings(observed, {}, NOW)) == []


def test_what_opened_a_breaker_before_its_trial_opens_it_no_more() -> None:
    observed = Observed(controls=[control(ONE, 5)], released={})
    known = {ONE: breaker(ONE, "HALF_OPEN", "FALSE_FLAG", since=NOW - timedelta(hours=4))}
    assert list(find_openings(observed, known, NOW)) == []
    again = find_openings(Observed(controls=[control(ONE, 5), control(ONE, 3)], released={}), known, NOW)
    told = {(event.scope, event.state, event.trigger, event.follows) for event in again}
    assert told == {("ALL", "OPEN", "SECOND_FALSE_FLAG", 0), (ONE, "OPEN", "FALSE_FLAG", 7)}


@pytest.mark.parametrize(("sequence", "opens"), [(5, []), (6, ["WRONG_AT_HIGH_EXPOSURE"])])
def test_a_review_that_was_known_when_the_trial_began_opens_it_no_more(sequence: int, opens: list[str]) -> None:
    observed = Observed(wrong=[WrongReview(variant=ONE, sequence=sequence, is_high=True)], released={})
    known = {ONE: breaker(ONE, "HALF_OPEN", since=NOW)}
    assert [event.trigger for event in find_openings(observed, known, NOW)] == opens


@pytest.mark.parametrize(("oldest", "opens"), [(6, ["MANY_RETRACTIONS"]), (7, [])])
def test_three_retractions_are_many_within_a_week(oldest: int, opens: list[str]) -> None:
    days = (1, 2, oldest, 29)
    observed = Observed(
        retracted=[Retracted(variant=ONE, at=NOW - timedelta(days=each)) for each in days], released={ONE: 100}
    )
    assert [event.trigger for event in find_openings(observed, {}, NOW)] == opens


@pytest.mark.parametrize(("judged", "opens"), [(LEAST_JUDGED, ["UNUSUAL_APPROVE_RATE"]), (LEAST_JUDGED - 1, [])])
def test_what_is_usual_is_known_from_200_claims_on(judged: int, opens: list[str]) -> None:
    week = Approvals(variant=ONE, begins=NOW, approved=50, judged=50, approved_before=4, judged_before=judged)
    observed = Observed(approvals=[week], released={})
    assert [event.trigger for event in find_openings(observed, {}, NOW)] == opens


@pytest.mark.parametrize(("hours", "opens"), [(1, []), (-1, ["FALSE_FLAG"])])
def test_what_opens_it_again_after_a_trial_is_said_again(hours: int, opens: list[str]) -> None:
    since = NOW - timedelta(hours=4)
    known = {ONE: breaker(ONE, "OPEN", "FALSE_FLAG", since=since, at=since + timedelta(hours=hours))}
    observed = Observed(controls=[control(ONE, 3)], released={})
    assert [event.trigger for event in find_openings(observed, known, NOW)] == opens


@given(st.permutations([control(ONE, 1), control(OTHER, 2), control(ONE, 3, flagged=False)]))
def test_each_scope_opens_once_a_round_and_is_told_of_each_trigger_once(controls: list[RanControl]) -> None:
    observed = Observed(controls=controls, released={})
    events = list(find_openings(observed, {}, NOW))
    assert {event.scope for event in events} == {ONE, OTHER, "ALL"}
    assert len(events) == 3
    known = {event.scope: breaker(event.scope, "OPEN", *get_args(BreakerTrigger)) for event in events}
    assert list(find_openings(observed, known, NOW)) == []


@pytest.mark.parametrize(
    ("scopes", "effect"),
    [
        ((), Effect.NONE),
        (("NEW",), Effect.HOLD),
        ((ONE,), Effect.SUSPEND),
        (("ALL", "NEW"), Effect.SUSPEND),
        ((OTHER,), Effect.NONE),
    ],
)
def test_the_strictest_breaker_counts_until_it_is_closed(scopes: tuple[str, ...], effect: Effect) -> None:
    for state in ("OPEN", "HALF_OPEN"):
        assert find_effect({each: breaker(each, state) for each in scopes}, ONE) is effect
    assert find_effect({each: breaker(each, "CLOSED") for each in scopes}, ONE) is Effect.NONE
