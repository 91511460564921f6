"""Each trigger of the breaker: the facts that set it off, those that just do not, and the scope that it stops."""

from __future__ import annotations

from datetime import timedelta
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accuracy.bounds import weigh_evidence
from accuracy.facts import ApprovalCounts, Control, Exposure, RetractionCounts, Review, Verdict
from accuracy.triggers import (
    EveryVariant,
    Evidence,
    FalseFlag,
    ManyRetractions,
    NewReleases,
    NoNote,
    NoQuorum,
    OneVariant,
    QuoteNotInPage,
    Scope,
    SecondFalseFlag,
    Trigger,
    UnusualApproveRate,
    WrongAtHighExposure,
)
from accuracy.watch import Facts, find_triggers

V, W = OneVariant("v"), OneVariant("w")
DAY, MINUTE, MOMENT = timedelta(days=1), timedelta(minutes=1), timedelta(microseconds=1)


def controls(count: int, *flagged: int, variants: str = "v") -> tuple[Control, ...]:
    """So many controls, of these variants in turn, flagged at these places from 1."""
    return tuple(Control(variants[place % len(variants)], place in flagged) for place in range(1, count + 1))


def statistics(found: tuple[Trigger, ...]) -> set[type[Trigger]]:
    """Kinds of those that concern controls of all variants together."""
    return {type(trigger) for trigger in found} & {SecondFalseFlag, Evidence}


@pytest.mark.requirement("TR-45")
@pytest.mark.parametrize(
    ("facts", "triggers"),
    [
        (Facts(), {}),
        (Facts(controls=controls(5_000)), {}),
        (Facts(controls=controls(1, 1)), {FalseFlag("v"): V}),
        (Facts(reviews=[Review("v", Verdict.WRONG, Exposure.HIGH)]), {WrongAtHighExposure("v"): V}),
        (Facts(reviews=[Review("v", Verdict.WRONG, Exposure.MEDIUM), Review("v", Verdict.PARTLY, Exposure.HIGH)]), {}),
        (Facts(quotes_not_in_page=1), {QuoteNotInPage(1): EveryVariant()}),
        (Facts(note_age=15 * MINUTE), {NoNote(15 * MINUTE): NewReleases()}),
        (Facts(note_age=15 * MINUTE - MOMENT, quorum_age=DAY - MOMENT), {}),
        (Facts(quorum_age=DAY), {NoQuorum(DAY): NewReleases()}),
        (
            Facts(controls=controls(301, 2, 301, variants="vw")),
            {FalseFlag("v"): V, FalseFlag("w"): W, SecondFalseFlag(300): EveryVariant()},
        ),
        (Facts(controls=controls(301, 1, 301)), {FalseFlag("v"): V}),
    ],
)
def test_a_trigger_has_its_scope_and_its_numbers(facts: Facts, triggers: dict[Trigger, Scope]) -> None:
    """TR-45: Each trigger opens the breaker of its scope, and only a written cause and a clean trial close it."""
    assert {trigger: trigger.scope for trigger in find_triggers(facts)} == triggers


def flagged_late(flagged: int, trials: int) -> Facts:
    """So many controls, of which the last ones were flagged."""
    return Facts(controls=controls(trials, *range(trials - flagged + 1, trials + 1)))


@pytest.mark.requirement("TR-45")
@pytest.mark.parametrize(("flagged", "trials"), [(3, 50), (4, 100), (7, 300)])
def test_so_many_flags_are_evidence_and_one_less_is_not(flagged: int, trials: int) -> None:
    """TR-45: Each trigger opens the breaker of its scope, and only a written cause and a clean trial close it."""
    evidence = Evidence(flagged, trials, weigh_evidence(flagged, trials, 0.005))
    assert evidence in find_triggers(flagged_late(flagged, trials))
    assert statistics(find_triggers(flagged_late(flagged - 1, trials))) == {SecondFalseFlag}


@pytest.mark.parametrize(("flagged", "trials"), [(2, 25), (3, 69), (4, 127), (7, 363)])
def test_so_many_controls_are_the_most_in_which_flags_are_evidence(flagged: int, trials: int) -> None:
    assert Evidence in statistics(find_triggers(flagged_late(flagged, trials)))
    assert Evidence not in statistics(find_triggers(flagged_late(flagged, trials + 1)))


def test_evidence_counts_even_if_more_controls_follow_before_it_is_read() -> None:
    whole = controls(2_000, 10, 11, 12)
    assert weigh_evidence(3, 2_000, 0.005) < 20
    (evidence,) = (each for each in find_triggers(Facts(controls=whole)) if isinstance(each, Evidence))
    assert (evidence.flagged, evidence.controls) == (2, 11)


@given(st.lists(st.integers(0, 400), max_size=12))
def test_decisive_evidence_never_comes_before_the_second_flag_in_300(gaps: list[int]) -> None:
    """So it cannot trip a breaker by itself; it says how much is known when one has tripped."""
    flagged = [sum(gaps[: end + 1]) + end + 1 for end in range(len(gaps))]
    for end in range(len(flagged)):
        found = statistics(find_triggers(Facts(controls=controls(flagged[end], *flagged[: end + 1]))))
        assert found != {Evidence}


@pytest.mark.requirement("TR-45")
@pytest.mark.parametrize(
    ("week", "month", "released", "trips"),
    [(3, 3, 299, True), (3, 3, 300, False), (2, 30, 300, False), (3, 4, 300, True), (3, 3, 0, True), (0, 0, 0, False)],
)
def test_retractions_for_fault(week: int, month: int, released: int, trips: bool) -> None:
    """TR-45: Each trigger opens the breaker of its scope, and only a written cause and a clean trial close it."""
    counts = RetractionCounts("v", week, month, released)
    found = find_triggers(Facts(retractions=[counts]))
    assert {trigger: trigger.scope for trigger in found} == ({ManyRetractions(counts): V} if trips else {})


def chance_of_at_most(events: int, trials: int, rate: float) -> float:
    """Of a binomial distribution."""
    return sum(comb(trials, each) * rate**each * (1 - rate) ** (trials - each) for each in range(events + 1))


@pytest.mark.requirement("TR-45")
@given(st.integers(0, 80).flatmap(lambda judged: st.tuples(st.integers(0, judged), st.just(judged))), st.floats(0, 1))
def test_an_approve_rate_is_outside_its_band_once_in_a_hundred(sample: tuple[int, int], reference: float) -> None:
    """TR-45: Each trigger opens the breaker of its scope, and only a written cause and a clean trial close it."""
    approved, judged = sample
    low = chance_of_at_most(approved, judged, reference)
    high = 1 - chance_of_at_most(approved - 1, judged, reference)
    counts = ApprovalCounts("v", approved, judged, reference)
    if min(abs(low - 0.01), abs(high - 0.01)) > 1e-9:
        expected = {UnusualApproveRate(counts): V} if low < 0.01 or high < 0.01 else {}
        assert {trigger: trigger.scope for trigger in find_triggers(Facts(approvals=[counts]))} == expected


@pytest.mark.parametrize(("approved", "trips"), [(2, True), (6, False), (15, False), (19, True)])
def test_both_sides_of_an_approve_rate_count(approved: int, trips: bool) -> None:
    assert bool(find_triggers(Facts(approvals=[ApprovalCounts("v", approved, 20, 0.55)]))) is trips


def test_counts_that_contradict_themselves_are_refused() -> None:
    for week, month, released in ((2, 1, 9), (-1, 1, 9), (0, 0, -1)):
        with pytest.raises(ValueError, match="retractions in 7 days"):
            RetractionCounts("v", week, month, released)
    for approved, judged, reference in ((2, 1, 0.5), (-1, 1, 0.5), (0, 1, 1.1), (0, 1, float("nan"))):
        with pytest.raises(ValueError, match="approved of"):
            ApprovalCounts("v", approved, judged, reference)
