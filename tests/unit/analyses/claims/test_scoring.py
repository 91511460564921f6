"""The score is the published formula, computed exactly."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyses.claims.labels import TruthLabel
from analyses.claims.scoring import (
    FACTORS,
    PENALTIES,
    WEIGHTS,
    Factor,
    Fallacy,
    Impact,
    ScoredClaim,
    Severity,
    average_confidence,
    differs_from_model,
    name_factor,
    round_share,
    score_article,
)
from tests.support.audit_cases import HOSTILE, Case, read_cases


class Scored(Case):
    claims: list[tuple[TruthLabel, Decimal]]
    fallacies: list[Severity]
    factors: list[tuple[str, Impact]]
    score: Decimal
    sent: str


CLAIMS = st.builds(ScoredClaim, st.sampled_from(TruthLabel), st.decimals(0, 1, places=9))
FALLACIES = st.lists(st.sampled_from(Severity), max_size=8)
KNOWN = st.builds(Factor, st.sampled_from(sorted(FACTORS)), st.sampled_from(Impact))
NAMED = st.builds(Factor, st.sampled_from(sorted(FACTORS)) | HOSTILE, st.sampled_from(Impact))


@pytest.mark.parametrize("case", read_cases("score", list[Scored]), ids=str)
@pytest.mark.requirement("FH-90", "FH-91", "FH-93")
def test_the_printed_scores(case: Scored) -> None:
    """FH-90: The score follows the published formula.
    FH-91: Weights and adjustments are the published ones.
    FH-93: One true claim and one positive factor give 0.9603.
    """
    score = score_article(
        [ScoredClaim(*each) for each in case.claims], case.fallacies, [Factor(*each) for each in case.factors]
    )
    assert score == case.score
    assert str(round_share(case.score)) == case.sent


@pytest.mark.requirement("FH-91")
def test_weights_and_adjustments() -> None:
    """FH-91: Weights and adjustments are the published ones."""
    assert [str(WEIGHTS[each]) for each in TruthLabel] == ["1.0", "0.7", "0.5", "0.3", "0.0", "0.4"]
    assert [str(PENALTIES[each]) for each in Severity] == ["-0.05", "-0.15", "-0.30"]
    assert {name: str(weight) for name, weight in FACTORS.items()} == {
        "source_credibility": "0.10",
        "author_expertise": "0.10",
        "timeliness": "0.05",
        "transparency": "0.05",
    }


@given(st.lists(CLAIMS, min_size=1, max_size=10), FALLACIES, st.lists(NAMED, max_size=8))
@pytest.mark.requirement("FH-90", "FH-92")
def test_a_score_is_a_share_and_never_rises_by_a_fault(
    claims: list[ScoredClaim], fallacies: list[Severity], factors: list[Factor]
) -> None:
    """FH-90: The score follows the published formula.
    FH-92: Code computes the score; a model's far-off number is flagged.
    """
    score = score_article(claims, fallacies, factors)
    assert score is not None
    assert 0 <= score <= 1
    worse = score_article(claims, [*fallacies, Severity.SEVERE], factors)
    negative = score_article(claims, fallacies, [*factors, Factor("timeliness", Impact.NEGATIVE)])
    assert worse is not None
    assert negative is not None
    assert max(worse, negative) <= score


@given(st.lists(CLAIMS, min_size=1, max_size=10), FALLACIES, st.lists(KNOWN, max_size=8))
@pytest.mark.requirement("FH-89", "FH-90")
def test_the_score_is_the_formula_in_exact_fractions(
    claims: list[ScoredClaim], fallacies: list[Severity], factors: list[Factor]
) -> None:
    """FH-89: Factors are positive, neutral or negative, and unknown ones weigh nothing.
    FH-90: The score follows the published formula.
    """
    signs = {Impact.POSITIVE: 1, Impact.NEUTRAL: 0, Impact.NEGATIVE: -1}
    confidence = add(Fraction(each.confidence) for each in claims) / len(claims)
    weighed = add(Fraction(WEIGHTS[each.label]) * Fraction(each.confidence) for each in claims) / len(claims)
    reasoning = cut(1 + add(Fraction(PENALTIES[each]) for each in fallacies))
    context = cut(1 + add(signs[each.impact] * Fraction(FACTORS[each.name]) for each in factors))
    whole = Fraction(6, 10) * weighed + Fraction(2, 10) * reasoning + Fraction(2, 10) * context
    score = score_article(claims, fallacies, factors)
    assert score is not None
    assert abs(Fraction(score) - cut(whole * (Fraction(8, 10) + Fraction(2, 10) * confidence))) < Fraction(1, 10**40)


def add(values: Iterable[Fraction]) -> Fraction:
    return sum(values, Fraction(0))


def cut(value: Fraction) -> Fraction:
    return min(max(value, Fraction(0)), Fraction(1))


@given(FALLACIES, st.lists(NAMED))
@pytest.mark.requirement("FH-92")
def test_without_claims_there_is_no_score(fallacies: list[Severity], factors: list[Factor]) -> None:
    """FH-92: Code computes the score; a model's far-off number is flagged."""
    assert score_article([], fallacies, factors) is None
    assert average_confidence([]) == 0
    assert not differs_from_model(None, Decimal(1))


@pytest.mark.parametrize(
    ("score", "model", "flagged"), [("0.9", "0.2", True), ("0.9", "0.75", False), ("0.9", "0.7499", True)]
)
@pytest.mark.requirement("FH-92", "FH-175")
def test_a_model_s_number_far_off_is_flagged(score: str, model: str, flagged: bool) -> None:
    """FH-92: Code computes the score; a model's far-off number is flagged.
    FH-175: A model's hints never outrank words, evidence and formulas.
    """
    assert differs_from_model(Decimal(score), Decimal(model)) is flagged
    assert differs_from_model(Decimal(model), Decimal(score)) is flagged
    assert not differs_from_model(Decimal(score), None)


@pytest.mark.parametrize(
    "name", ["Source credibility", "source_credibility", "sourceCredibility", " SOURCE-Credibility!"]
)
@pytest.mark.requirement("FH-89")
def test_a_factor_s_name_is_read_in_snake_case(name: str) -> None:
    """FH-89: Factors are positive, neutral or negative, and unknown ones weigh nothing."""
    assert name_factor(name) == "source_credibility"


@given(HOSTILE)
@pytest.mark.requirement("FH-89")
def test_an_unknown_factor_weighs_nothing(name: str) -> None:
    """FH-89: Factors are positive, neutral or negative, and unknown ones weigh nothing."""
    claims = [ScoredClaim(TruthLabel.DISPUTED, Decimal("0.5"))]
    for impact in Impact:
        assert score_article(claims, (), [Factor(f"other {name}", impact)]) == score_article(claims, (), ())
    assert score_article(claims, (), [Factor("timeliness", Impact.NEUTRAL)]) == score_article(claims, (), ())


@pytest.mark.requirement("FH-88")
def test_the_fallacies_are_seven() -> None:
    """FH-88: Seven fallacies and four qualities of reasoning are looked for."""
    assert [each.value for each in Fallacy] == [
        "cherry_picking",
        "false_equivalence",
        "straw_man",
        "ad_hominem",
        "slippery_slope",
        "circular_reasoning",
        "false_dichotomy",
    ]
