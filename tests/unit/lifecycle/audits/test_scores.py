"""How publishers of cited sources are scored."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.v1.ids import publisher_id
from lifecycle.audits.scores import (
    INITIAL,
    PARTS,
    Band,
    Cited,
    Concluded,
    Rating,
    Record,
    compute_accuracy,
    compute_credibility,
    compute_score,
    count_week,
    find_band,
    weigh_relevance,
)

DOMAINS: Final = ("daily.example", "journal.example", "mirror.example", "office.example")
RATED: Final = Rating("news", 80, 60, 40, 100)
PERCENT: Final = st.integers(0, 100)
RATINGS: Final = st.builds(Rating, st.sampled_from(["journal", "news", "unknown"]), *[st.none() | PERCENT] * 5)
CITED: Final = st.builds(
    lambda domain, scenario, supports, family: cite(domain, scenario=scenario, supports=supports, family=family),
    st.sampled_from(DOMAINS),
    st.integers(1, 2),
    st.booleans(),
    st.integers(1, 3),
)
CONCLUDED: Final = st.builds(
    Concluded,
    st.sampled_from(["SUPPORTED", "REFUTED", "INCONCLUSIVE"]),
    st.booleans(),
    st.lists(CITED, max_size=5),
    st.lists(CITED, max_size=5),
    st.none() | st.integers(1, 2),
)


def cite(domain: str, *, supports: bool = True, family: int = 1, scenario: int = 1) -> Cited:
    return Cited(publisher_id(domain), domain, scenario, supports, family)


def conclude(*before: Cited, rollup: str = "SUPPORTED", is_central: bool = False) -> Concluded:
    """A claim whose analysis before cited these, and that now stands on two other sources."""
    return Concluded(rollup, is_central, (cite("new.example"), cite("other.example", family=2)), before, 1)


def record_of(domain: str, *analyses: Concluded) -> Record:
    return count_week(analyses).get(publisher_id(domain), Record())


@pytest.mark.requirement("FH-129")
@pytest.mark.parametrize(
    ("supports", "rollup", "expected"),
    [
        (True, "SUPPORTED", (1, 1)),
        (True, "REFUTED", (0, 1)),
        (False, "REFUTED", (1, 1)),
        (False, "SUPPORTED", (0, 1)),
        (True, "INCONCLUSIVE", (0, 0)),
    ],
)
def test_a_citation_is_judged_by_the_roll_up_of_the_next_analysis(
    supports: bool, rollup: str, expected: tuple[int, int]
) -> None:
    """FH-129: A job reads one closed epoch of scores."""
    found = record_of("daily.example", conclude(cite("daily.example", supports=supports), rollup=rollup))
    assert (found.correct, found.total) == expected


def test_no_citation_is_judged_by_the_analysis_that_cites_it() -> None:
    found = record_of("daily.example", Concluded("SUPPORTED", False, (cite("daily.example"), cite("office.example"))))
    assert found == Record(citations=1, claims=1)


def test_a_claim_whose_only_evidence_is_the_publisher_or_its_mirror_judges_nothing() -> None:
    alone = Concluded("SUPPORTED", False, (cite("daily.example"),), (cite("daily.example"),), 1)
    mirrored = replace(alone, citations=(cite("daily.example"), cite("mirror.example")))
    joined = replace(alone, citations=(cite("daily.example"), cite("office.example", family=2)))
    assert [record_of("daily.example", each).total for each in (alone, mirrored, joined)] == [0, 0, 1]


@pytest.mark.parametrize("scenario", [1, 2])
def test_only_citations_of_the_recommended_scenario_are_judged(scenario: int) -> None:
    assert record_of("daily.example", conclude(cite("daily.example", scenario=scenario))).total == (scenario == 1)


def test_a_central_claim_counts_twice() -> None:
    right, wrong = cite("daily.example"), cite("daily.example", supports=False)
    found = record_of("daily.example", conclude(right, is_central=True), conclude(wrong))
    assert (found.correct, found.total, found.correct_weight, found.total_weight) == (1, 2, 2, 3)
    assert compute_accuracy(found.correct, found.total) == Decimal("0.5")


@given(st.lists(CONCLUDED, max_size=4), st.integers(1, 3))
def test_a_page_that_repeats_another_of_its_family_changes_nothing(week: list[Concluded], repeated: int) -> None:
    copied = [
        replace(each, citations=(*each.citations, *each.citations[:repeated]), before=(*each.before, *each.before))
        for each in week
    ]
    assert count_week(copied) == count_week(week)


@given(st.lists(CONCLUDED, max_size=6), st.randoms())
def test_a_week_is_the_sum_of_its_analyses_in_any_order(week: list[Concluded], random: object) -> None:
    whole = count_week(week)
    for each in whole.values():
        assert 0 <= each.correct <= each.total
        assert 0 <= each.correct_weight <= each.total_weight
        assert each.claims <= each.citations
    summed: dict[object, Record] = {}
    for analysis in reversed(week):
        for publisher, record in count_week([analysis]).items():
            summed[publisher] = summed.get(publisher, Record()) + record
    assert summed == whole


@pytest.mark.requirement("FH-130")
@pytest.mark.parametrize(("correct", "total", "expected"), [(0, 0, "0.5"), (0, 4, "0"), (3, 4, "0.75"), (4, 4, "1")])
def test_accuracy_is_correct_over_all(correct: int, total: int, expected: str) -> None:
    """FH-130: Accuracy is correct over all citations, half if there are none."""
    assert compute_accuracy(correct, total) == Decimal(expected)


@pytest.mark.requirement("FH-131")
@pytest.mark.requirement("FH-130")
@pytest.mark.parametrize(
    ("record", "rating", "expected"),
    [
        (Record(), RATED, "59.0"),  # 25 + 16 + 9 + 4 + 5
        (Record(4, 4, 4, 4), RATED, "84.0"),
        (Record(1, 2, 2, 3), RATED, "67.3"),  # the central claim was right
        (Record(1, 2, 1, 3), RATED, "50.7"),
        (Record(3, 4, 3, 4), Rating("journal"), "72.5"),
        (Record(0, 1, 0, 1), None, "15.0"),
        (Record(), Rating("journal", longevity=100), "61.5"),
    ],
)
def test_a_score_is_composed_of_five_parts(record: Record, rating: Rating | None, expected: str) -> None:
    """FH-131: A source's score is composed of five parts.

    FH-130: Accuracy is correct over all citations, half if there are none.
    """
    assert sum(PARTS.values()) == 100
    assert compute_score(record, rating) == (Decimal(expected), "COMPUTED")


@pytest.mark.requirement("FH-132")
@pytest.mark.parametrize(("type_", "expected"), [(None, 30), ("journal", 70), ("unknown", 30), ("news", 55), ("x", 30)])
def test_a_new_publisher_has_its_types_score(type_: str | None, expected: int) -> None:
    """FH-132: A new source starts with its type's score."""
    rating = None if type_ is None else Rating(type_)
    seen = Record(citations=3, claims=2)
    assert compute_score(seen, rating, {**INITIAL, "news": 55}) == (Decimal(expected), "INITIAL")


@pytest.mark.requirement("FH-133")
@pytest.mark.parametrize(
    ("score", "expected"),
    [
        ("100", Band.EXCEPTIONAL),
        ("90", Band.EXCEPTIONAL),
        ("89.9", Band.RELIABLE),
        ("70", Band.RELIABLE),
        ("69.9", Band.ACCEPTABLE),
        ("50", Band.ACCEPTABLE),
        ("49.9", Band.QUESTIONABLE),
        ("30", Band.QUESTIONABLE),
        ("29.9", Band.UNRELIABLE),
        ("0", Band.UNRELIABLE),
    ],
)
def test_bands_begin_at_their_boundaries(score: str, expected: Band) -> None:
    """FH-133: Scores fall into five bands."""
    assert find_band(Decimal(score)) is expected


@pytest.mark.requirement("FH-135")
@pytest.mark.parametrize(
    ("relevance", "score", "expected"), [("0.9", "30", "0.27"), ("0.5", "72.5", "0.3625"), ("1", "0", "0")]
)
def test_relevance_is_weighed_by_the_score(relevance: str, score: str, expected: str) -> None:
    """FH-135: Relevance is weighed by the source's score."""
    assert weigh_relevance(Decimal(relevance), Decimal(score)) == Decimal(expected)
    assert compute_credibility(Decimal(score)) == Decimal(score) / 100


@given(st.integers(0, 50), st.integers(0, 50), st.integers(0, 50), RATINGS)
def test_a_score_lies_between_0_and_100_and_rises_with_accuracy(
    right: int, wrong: int, more: int, rating: Rating
) -> None:
    total = right + wrong
    score, why = compute_score(Record(right, total, right, total), rating)
    assert Decimal(0) <= score <= Decimal(100)
    assert (why == "SET") == (rating.score is not None)
    if total and rating.score is None:
        better, _ = compute_score(Record(right + more, total + more, right + more, total + more), rating)
        assert better >= score
