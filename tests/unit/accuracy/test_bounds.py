"""Bounds against exact fractions, and what they promise of any sample."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import comb, fsum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accuracy.bounds import anytime_upper_bound, lower_bound, upper_bound, weigh_evidence

TOLERANCE = Fraction(1, 10**9)
ALPHA = Fraction(1, 20)
LARGEST = 120
FOLLOWED = 400

samples = st.integers(1, LARGEST).flatmap(lambda trials: st.tuples(st.integers(0, trials), st.just(trials)))


def at_most(events: int, trials: int, rate: Fraction) -> Fraction:
    """The probability of so many events or fewer."""
    seen, whole = rate.as_integer_ratio()
    other = whole - seen
    found = sum(comb(trials, each) * seen**each * other ** (trials - each) for each in range(events + 1))
    return Fraction(found, whole**trials)


def rising(base: Fraction, times: int) -> Fraction:
    """base × (base + 1) × …, so many factors."""
    product = Fraction(1)
    for each in range(times):
        product *= base + each
    return product


def mixture(events: int, trials: int, rate: Fraction) -> Fraction:
    """How much better Beta(1/2, 200) explains the sample than one rate does."""
    found = rising(Fraction(1, 2), events) * rising(Fraction(200), trials - events) / rising(Fraction(401, 2), trials)
    return found / (rate**events * (1 - rate) ** (trials - events))


def around(bound: float) -> tuple[Fraction, Fraction]:
    """Rates a little below and above a bound, short enough to compute with."""
    middle = Fraction(round(bound * 10**15), 10**15)
    return max(middle - TOLERANCE, Fraction(0)), min(middle + TOLERANCE, Fraction(1))


@pytest.mark.requirement("TR-40")
@given(samples)
def test_an_upper_bound_is_where_so_few_events_become_improbable(sample: tuple[int, int]) -> None:
    """TR-40: Bounds of rates are exact to 1e-9."""
    below, above = around(upper_bound(*sample))
    assert at_most(*sample, below) > ALPHA
    assert at_most(*sample, above) < ALPHA or above == 1


@pytest.mark.requirement("TR-40")
@given(samples)
def test_a_lower_bound_is_where_so_many_events_become_improbable(sample: tuple[int, int]) -> None:
    """TR-40: Bounds of rates are exact to 1e-9."""
    events, trials = sample
    below, above = around(lower_bound(*sample))
    assert 1 - at_most(events - 1, trials, above) > ALPHA or above == 1
    assert 1 - at_most(events - 1, trials, below) < ALPHA or below == 0


@pytest.mark.requirement("TR-40")
@given(samples)
def test_an_anytime_bound_is_where_the_mixture_is_twenty_times_better(sample: tuple[int, int]) -> None:
    """TR-40: Bounds of rates are exact to 1e-9."""
    below, above = around(anytime_upper_bound(*sample))
    assert below == 0 or mixture(*sample, below) < 20
    assert above == 1 or mixture(*sample, above) > 20


@given(st.integers(1, 3_000).flatmap(lambda trials: st.tuples(st.integers(0, trials), st.just(trials))))
def test_an_anytime_bound_costs_something_and_moves_with_what_is_seen(sample: tuple[int, int]) -> None:
    """One event more never lowers it, one trial more without an event never raises it."""
    events, trials = sample
    bound = anytime_upper_bound(events, trials)
    assert bound >= upper_bound(events, trials)
    assert anytime_upper_bound(min(events + 1, trials), trials) >= bound
    assert anytime_upper_bound(events, trials + 1) <= bound
    assert anytime_upper_bound(events + 1, trials + 1) >= bound


@pytest.mark.requirement("TR-40")
@pytest.mark.parametrize(
    ("bound", "events", "trials", "rate"),
    [
        (upper_bound, 0, 149, 0.02),
        (upper_bound, 0, 299, 0.01),
        (upper_bound, 1, 473, 0.01),
        (upper_bound, 2, 628, 0.01),
        (upper_bound, 0, 598, 0.005),
        (upper_bound, 1, 947, 0.005),
        (upper_bound, 0, 2_995, 0.001),
        (upper_bound, 0, 18_722, 0.000_16),
        (anytime_upper_bound, 0, 349, 0.01),
        (anytime_upper_bound, 1, 654, 0.01),
        (anytime_upper_bound, 0, 754, 0.005),
    ],
)
def test_how_many_trials_a_rate_takes(
    bound: Callable[[int, int], float], events: int, trials: int, rate: float
) -> None:
    """TR-40: Bounds of rates are exact to 1e-9."""
    assert bound(events, trials) < rate <= bound(events, trials - 1)


@pytest.mark.parametrize(("events", "trials"), [(3, 50), (4, 100), (7, 300)])
def test_how_many_events_are_evidence_against_a_rate(events: int, trials: int) -> None:
    assert weigh_evidence(events - 1, trials, 0.005) < 20 < weigh_evidence(events, trials, 0.005)


@pytest.mark.parametrize("rate", [0.005, 0.02, 0.2])
def test_evidence_against_the_true_rate_is_one_on_average(rate: float) -> None:
    trials = 60
    chances = ((comb(trials, each) * rate**each * (1 - rate) ** (trials - each), each) for each in range(trials + 1))
    assert fsum(chance * weigh_evidence(each, trials, rate) for chance, each in chances) == pytest.approx(1)


@pytest.mark.parametrize("rate", [0.002, 0.01, 0.05])
def test_the_true_rate_is_ever_excluded_in_one_of_twenty_samples_at_most(rate: float) -> None:
    """All samples are followed at once, by their probability: those that have not excluded the rate yet."""
    inside, excluded = {0: 1.0}, 0.0
    for trials in range(1, FOLLOWED + 1):
        grown: dict[int, float] = {}
        for events, chance in inside.items():
            grown[events] = grown.get(events, 0.0) + chance * (1 - rate)
            grown[events + 1] = grown.get(events + 1, 0.0) + chance * rate
        inside = {}
        for events, chance in grown.items():
            if chance < 1e-9 or anytime_upper_bound(events, trials) >= rate:
                inside[events] = chance
            else:
                excluded += chance
    assert excluded <= 0.05


@pytest.mark.parametrize("bound", [upper_bound, lower_bound, anytime_upper_bound])
def test_no_sample_says_nothing_and_an_impossible_one_is_refused(bound: Callable[[int, int], float]) -> None:
    assert bound(0, 0) == (0.0 if bound is lower_bound else 1.0)
    for events, trials in ((-1, 3), (4, 3)):
        with pytest.raises(ValueError, match="events in"):
            bound(events, trials)
