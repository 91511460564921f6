"""A breaker opens at once, and closes only after a written cause, 48 hours in the shadow and a clean trial."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accuracy.breaker import (
    Breaker,
    Cause,
    Closed,
    Effect,
    HalfOpen,
    Open,
    Trial,
    find_effect,
    half_open,
    trip,
    trip_all,
    try_to_close,
)
from accuracy.facts import GateTier
from accuracy.triggers import (
    EveryVariant,
    FalseFlag,
    NewReleases,
    NoNote,
    OneVariant,
    QuoteNotInPage,
    Scope,
    SecondFalseFlag,
    Trigger,
    WrongAtHighExposure,
)
from accuracy.volume import FIRST_QUOTA, Limited, quota

CAUSE = Cause("The prompt asked for too much; it is changed.", "an operator")
THEN = datetime(2026, 11, 1, 12, tzinfo=UTC)
LATER = THEN + timedelta(hours=48)
OPEN = Open(FalseFlag("v"))
HALF = HalfOpen(OPEN, CAUSE, THEN)
CLEAN = Trial(150, 0, GateTier.CLEAN)
TRIGGERS: list[Trigger] = [
    FalseFlag("v"),
    WrongAtHighExposure("v"),
    SecondFalseFlag(7),
    QuoteNotInPage(1),
    NoNote(timedelta(hours=1)),
]


@pytest.mark.requirement("TR-45")
@pytest.mark.parametrize("trigger", TRIGGERS)
def test_a_trigger_opens_any_breaker(trigger: Trigger) -> None:
    """TR-45: Each trigger opens the breaker of its scope, and only a written cause and a clean trial close it."""
    first = WrongAtHighExposure("v")
    both = Open(first) if trigger == first else Open(first, (trigger,))
    assert trip(Closed(), trigger) == trip(Closed(10), trigger) == Open(trigger)
    assert trip(Open(first), trigger) == trip(HalfOpen(Open(first), CAUSE, THEN), trigger) == both
    assert trip(both, trigger) == both


@pytest.mark.requirement("TR-45")
@pytest.mark.parametrize(
    ("trial", "now", "state"),
    [
        (CLEAN, LATER, Closed(10)),
        (CLEAN, LATER - timedelta(microseconds=1), HALF),
        (Trial(149, 0, GateTier.CLEAN), LATER, HALF),
        (Trial(150, 0, GateTier.PENDING), LATER, HALF),
        (Trial(150, 0, GateTier.FAILED), LATER, OPEN),
        (Trial(150, 1, GateTier.CLEAN), LATER, OPEN),
        (Trial(1, 1, GateTier.PENDING), THEN, OPEN),
    ],
)
def test_a_breaker_closes_after_a_clean_trial_alone(trial: Trial, now: datetime, state: Breaker) -> None:
    """TR-45: Each trigger opens the breaker of its scope, and only a written cause and a clean trial close it."""
    assert try_to_close(half_open(OPEN, CAUSE, THEN), trial, now) == state
    assert quota(Limited()) == FIRST_QUOTA == 10


trials = st.builds(
    Trial, st.integers(148, 151), st.sampled_from([0, 0, 0, 1]), st.sampled_from([GateTier.CLEAN, GateTier.PENDING])
)
pauses = st.integers(24, 49).map(lambda hours: timedelta(hours=hours))
steps = st.one_of(st.sampled_from(TRIGGERS), st.just(CAUSE), pauses, trials)


@given(st.lists(steps, max_size=40))
def test_whatever_happens_no_breaker_closes_without_a_cause_and_a_trial(
    happened: list[Trigger | Trial | Cause | timedelta],
) -> None:
    breaker: Breaker = Closed()
    now = since = THEN
    for each in happened:
        before = breaker
        match each:
            case timedelta():
                now += each
            case Cause() if isinstance(breaker, Open):
                breaker, since = half_open(breaker, each, now), now
            case Trial() if isinstance(breaker, HalfOpen):
                breaker = try_to_close(breaker, each, now)
            case Cause() | Trial():
                pass
            case _:
                breaker = trip(breaker, each)
        if isinstance(breaker, Closed) and breaker != before:
            assert isinstance(before, HalfOpen)
            assert isinstance(each, Trial)
            assert (each.flagged, each.gate_tier, breaker.quota) == (0, GateTier.CLEAN, 10)
            assert each.controls >= 150
            assert now - since >= timedelta(hours=48)


@pytest.mark.requirement("TR-45")
def test_each_trigger_opens_the_breaker_of_its_scope() -> None:
    """TR-45: Each trigger opens the breaker of its scope, and only a written cause and a clean trial close it."""
    triggers: list[Trigger] = [FalseFlag("v"), FalseFlag("w"), SecondFalseFlag(2), WrongAtHighExposure("v")]
    breakers: dict[Scope, Breaker] = {
        OneVariant("w"): HalfOpen(Open(FalseFlag("w")), CAUSE, THEN),
        NewReleases(): Closed(),
    }
    assert trip_all(breakers, triggers) == {
        OneVariant("v"): Open(FalseFlag("v"), (WrongAtHighExposure("v"),)),
        OneVariant("w"): Open(FalseFlag("w")),
        EveryVariant(): Open(SecondFalseFlag(2)),
        NewReleases(): Closed(),
    }


@pytest.mark.requirement("TR-45")
@pytest.mark.parametrize("state", [OPEN, HALF])
def test_a_breaker_that_is_not_closed_stops_its_scope_and_no_other(state: Breaker) -> None:
    """TR-45: Each trigger opens the breaker of its scope, and only a written cause and a clean trial close it."""
    v, every, new = OneVariant("v"), EveryVariant(), NewReleases()
    assert find_effect({}, "v") is find_effect({v: Closed(), every: Closed(10), new: Closed()}, "v") is Effect.NONE
    assert (find_effect({v: state}, "v"), find_effect({v: state}, "w")) == (Effect.SUSPEND, Effect.NONE)
    assert find_effect({every: state}, "w") is Effect.SUSPEND
    assert find_effect({new: state}, "w") is find_effect({v: state, new: state}, "w") is Effect.HOLD
    assert find_effect({v: state, new: state}, "v") is find_effect({new: state, every: state}, "v") is Effect.SUSPEND


def test_a_cause_is_written_by_somebody_and_a_trial_is_possible() -> None:
    for text, by in (("", "an operator"), (" \n", "an operator"), ("It is known.", " ")):
        with pytest.raises(ValueError, match="a cause needs"):
            Cause(text, by)
    for controls, flagged in ((1, 2), (1, -1), (-1, -1)):
        with pytest.raises(ValueError, match="controls"):
            Trial(controls, flagged, GateTier.CLEAN)
