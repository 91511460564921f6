"""The public rate: each finding once, by its worse verdict, under a bound that may be read at any time."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accuracy.bounds import anytime_upper_bound
from accuracy.facts import Verdict
from accuracy.reviews import ReviewCounts, count_reviews

ONE = UUID(int=1)
verdicts = st.sampled_from(Verdict)
decisions = st.lists(st.tuples(st.sampled_from([UUID(int=each) for each in range(8)]), verdicts), max_size=30)


@pytest.mark.parametrize(
    ("better", "worse"),
    [(Verdict.RIGHT, Verdict.PARTLY), (Verdict.RIGHT, Verdict.WRONG), (Verdict.PARTLY, Verdict.WRONG)],
)
def test_a_finding_on_which_reviewers_differ_counts_as_its_worse_verdict(better: Verdict, worse: Verdict) -> None:
    once = count_reviews([(ONE, worse)])
    assert count_reviews([(ONE, better), (ONE, worse)]) == count_reviews([(ONE, worse), (ONE, better)]) == once


@given(decisions)
def test_order_does_not_matter_and_each_finding_counts_once(found: list[tuple[UUID, Verdict]]) -> None:
    counts = count_reviews(found)
    assert counts == count_reviews(reversed(found))
    assert counts.reviewed == len({finding for finding, _ in found})


@given(decisions.filter(bool), st.uuids())
def test_a_further_wrong_never_lowers_the_bound(found: list[tuple[UUID, Verdict]], further: UUID) -> None:
    before, after = count_reviews(found).wrong_at_most, count_reviews([*found, (further, Verdict.WRONG)]).wrong_at_most
    assert before is not None
    assert after is not None
    assert after >= before


def test_the_bounds_are_those_of_wrong_and_of_not_fully_right() -> None:
    counts = ReviewCounts(right=340, partly=10, wrong=2)
    assert counts.wrong_at_most == anytime_upper_bound(2, 352)
    assert counts.not_right_at_most == anytime_upper_bound(12, 352)


def test_without_reviews_nothing_is_measured() -> None:
    counts = count_reviews([])
    assert counts == ReviewCounts()
    assert counts.wrong_at_most is None
    assert counts.not_right_at_most is None


def test_there_are_no_fewer_than_none() -> None:
    with pytest.raises(ValueError, match="-1 wrong"):
        ReviewCounts(wrong=-1)
