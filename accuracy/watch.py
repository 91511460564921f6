"""Finds the triggers of the breaker that facts set off. Source: row TR-45 of docs/requirements/trust.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise
from typing import Final

from accuracy.bounds import lower_bound, upper_bound, weigh_evidence
from accuracy.facts import ApprovalCounts, Control, Exposure, RetractionCounts, Review, Verdict
from accuracy.triggers import (
    Evidence,
    FalseFlag,
    ManyRetractions,
    NoNote,
    NoQuorum,
    QuoteNotInPage,
    SecondFalseFlag,
    Trigger,
    UnusualApproveRate,
    WrongAtHighExposure,
)

TOLERATED: Final = 0.005
"""The rate of flagged controls that evidence is weighed against."""

DECISIVE: Final = 20
"""An e-value above this is evidence at the level of 95 %, whenever it is read."""

SECOND_WITHIN: Final = 300
RETRACTIONS_IN_7_DAYS: Final = 3
RETRACTED_PER_CENT: Final = 1
BAND: Final = 0.99
NOTE_EVERY: Final = timedelta(minutes=15)
QUORUM_EVERY: Final = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known since the breakers last closed.

    Shapes: `controls` in the order of their runs, all variants together; of `retractions` and `approvals` one for each
    variant; `quotes_not_in_page` are displayed quotes. Units: ages of the newest signed and the newest witnessed note.
    """

    controls: Sequence[Control] = ()
    reviews: Sequence[Review] = ()
    retractions: Sequence[RetractionCounts] = ()
    approvals: Sequence[ApprovalCounts] = ()
    quotes_not_in_page: int = 0
    note_age: timedelta = timedelta(0)
    quorum_age: timedelta = timedelta(0)


def find_triggers(facts: Facts) -> tuple[Trigger, ...]:
    """Every trigger that the facts set off, each once; earlier calls make no difference."""
    return tuple(dict.fromkeys(_find(facts)))


def _find(facts: Facts) -> Iterator[Trigger]:
    yield from (FalseFlag(control.variant) for control in facts.controls if control.is_flagged)
    yield from _find_in_all_controls([place for place, each in enumerate(facts.controls, 1) if each.is_flagged])
    for review in facts.reviews:
        if review.verdict is Verdict.WRONG and review.exposure is Exposure.HIGH:
            yield WrongAtHighExposure(review.variant)
    yield from (ManyRetractions(counts) for counts in facts.retractions if _are_many(counts))
    yield from (UnusualApproveRate(counts) for counts in facts.approvals if _is_unusual(counts))
    if facts.quotes_not_in_page:
        yield QuoteNotInPage(facts.quotes_not_in_page)
    if facts.note_age >= NOTE_EVERY:
        yield NoNote(facts.note_age)
    if facts.quorum_age >= QUORUM_EVERY:
        yield NoQuorum(facts.quorum_age)


def _find_in_all_controls(flagged: Sequence[int]) -> Iterator[Trigger]:
    """Shapes: `flagged` are the places of flagged controls, from 1.

    A batch of controls is read at once, so evidence in the middle of it still counts at its end. The e-value falls
    between flags and need not be computed there. Before it is decisive there are two flags in 300 controls anyway:
    `Evidence` is reported too because it states how strong the evidence is.
    """
    distance = next((b - a + 1 for a, b in pairwise(flagged) if b - a < SECOND_WITHIN), None)
    if distance is not None:
        yield SecondFalseFlag(distance)
    for count, place in enumerate(flagged, 1):
        if (e_value := weigh_evidence(count, place, TOLERATED)) > DECISIVE:
            yield Evidence(count, place, e_value)
            return


def _are_many(counts: RetractionCounts) -> bool:
    return counts.in_7_days >= RETRACTIONS_IN_7_DAYS and counts.in_30_days * 100 > counts.released * RETRACTED_PER_CENT


def _is_unusual(counts: ApprovalCounts) -> bool:
    """Whether the reference lies outside the one-sided 99 % bounds of the share of approvals."""
    low = lower_bound(counts.approved, counts.judged, BAND)
    return not low <= counts.reference <= upper_bound(counts.approved, counts.judged, BAND)
