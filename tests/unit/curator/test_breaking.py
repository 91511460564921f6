"""Which breakers open for what is known, and what each kind of trigger says in words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accuracy.breaker import Effect
from contracts.v1.breaker import BreakerState, BreakerTrigger
from services.curator.breaking import KnownBreaker, KnownTrigger, Observed, RanControl, find_effect, find_openings

NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)
ONE, OTHER = "1" * 64, "2" * 64


def breaker(scope: str, state: BreakerState, *triggers: BreakerTrigger, since: datetime | None = None) -> KnownBreaker:
    return KnownBreaker(
        scope=scope,
        state=state,
        triggers=[KnownTrigger(trigger=each, at=NOW) for each in triggers],
        opened_at=NOW,
        since=since,
        since_sequence=0,
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
