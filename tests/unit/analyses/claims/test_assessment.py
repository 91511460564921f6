"""The article's score, tier and verdict are computed; a model's numbers are compared with them."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyses.claims.answers import AssessAnswer, read_answer
from analyses.claims.assessment import (
    CLAIM_WITHOUT_ANALYSIS,
    SCORES_DIFFER,
    AssessedClaim,
    Assessment,
    Tier,
    assess_article,
)
from analyses.claims.labels import Label, TruthLabel
from analyses.claims.rollup import ArticleVerdict, Rollup

ANSWER: dict[str, object] = {
    "summary": "It holds.",
    "thesis_follows": True,
    "missing_context": False,
    "reasoning_quality": dict.fromkeys(("evidence_strength", "logical_coherence", "transparency", "nuance"), "high"),
}
TRUE = AssessedClaim(True, Rollup.SUPPORTED, Label.HIGHLY_LIKELY, Decimal("0.95"))
MISSING = AssessedClaim(False, None, None, None)


def assess(*claims: AssessedClaim, **more: object) -> Assessment:
    return assess_article(claims, read_answer(json.dumps(ANSWER | more), AssessAnswer))


@pytest.mark.requirement("FH-92", "FH-93", "FH-95")
def test_the_printed_example() -> None:
    """FH-92: Code computes the score; a model's far-off number is flagged.
    FH-93: One true claim and one positive factor give 0.9603.
    FH-95: Tier C is a high score without faults.
    """
    found = assess(TRUE, contextual_factors=[{"factor": "Source credibility", "impact": "Positive"}])
    assert found.score == Decimal("0.9603")
    assert (found.tier, found.verdict) == (Tier.C, ArticleVerdict.WELL_SUPPORTED)
    assert not found.recommendation.requires_review


@pytest.mark.requirement("FH-92", "FH-175")
def test_a_model_s_score_changes_nothing_but_asks_for_a_review() -> None:
    """FH-92: Code computes the score; a model's far-off number is flagged.
    FH-175: A model's hints never outrank words, evidence and formulas.
    """
    honest, odd = assess(TRUE, credibility_score=0.95), assess(TRUE, credibility_score=0.2)
    assert (odd.score, odd.tier, odd.verdict) == (honest.score, honest.tier, honest.verdict)
    assert honest.recommendation.review_reason is None
    assert odd.recommendation.review_reason == SCORES_DIFFER


@pytest.mark.requirement("FH-92")
def test_no_claims_no_score() -> None:
    """FH-92: Code computes the score; a model's far-off number is flagged."""
    found = assess()
    assert (found.score, found.tier, found.verdict) == (None, Tier.A, ArticleVerdict.UNCERTAIN)
    assert found.recommendation.requires_review


@pytest.mark.requirement("FH-87")
@pytest.mark.parametrize(
    ("is_central", "verdict"), [(True, ArticleVerdict.REFUTED), (False, ArticleVerdict.WELL_SUPPORTED)]
)
def test_only_central_claims_decide(is_central: bool, verdict: ArticleVerdict) -> None:
    """FH-87: Central claims decide before reasoning does."""
    wrong = AssessedClaim(is_central, Rollup.REFUTED, Label.HIGHLY_UNLIKELY, Decimal("0.95"))
    assert assess(TRUE, wrong).verdict is verdict


def test_a_claim_without_an_analysis_asks_for_a_review() -> None:
    assert assess(TRUE, MISSING).recommendation.review_reason == CLAIM_WITHOUT_ANALYSIS


@given(
    st.lists(
        st.builds(
            AssessedClaim, st.booleans(), st.sampled_from(Rollup), st.sampled_from(Label), st.decimals(0, 1, places=4)
        )
        | st.just(MISSING)
    )
)
@pytest.mark.requirement("FH-85")
def test_the_distribution_counts_the_analysed_claims(claims: list[AssessedClaim]) -> None:
    """FH-85: The distribution of verdicts uses truth labels and sums to the analysed claims."""
    found = assess(*claims)
    assert sum(found.distribution.values()) == sum(each.label is not None for each in claims)
    assert set(found.distribution) <= set(TruthLabel)
