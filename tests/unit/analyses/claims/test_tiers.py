"""Risk decides what may be done with an audit."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyses.claims.assessment import (
    DISPUTED_DISCLAIMER,
    PublicationMode,
    Tier,
    choose_tier,
    explain_high_risk,
    recommend,
)
from analyses.claims.labels import TruthLabel
from analyses.claims.scoring import Severity
from tests.support.audit_cases import Case, read_cases


class Tiered(Case):
    score: Decimal | None
    fallacies: list[Severity]
    distribution: dict[TruthLabel, int]
    missing_context: bool
    tier: Tier


@pytest.mark.parametrize("case", read_cases("tiers", list[Tiered]), ids=str)
@pytest.mark.requirement("FH-94", "FH-95", "FH-96")
def test_the_tier_of_an_article(case: Tiered) -> None:
    """FH-94: Tier A is a low score, bad fallacies or many unsupported claims.
    FH-95: Tier C is a high score without faults.
    FH-96: Tier A is tested first, then C, and the rest is B.
    """
    tier = choose_tier(case.score, case.fallacies, case.distribution, missing_context=case.missing_context)
    assert tier is case.tier


@given(
    st.none() | st.decimals(0, 1, places=4),
    st.lists(st.sampled_from(Severity), max_size=5),
    st.dictionaries(st.sampled_from(TruthLabel), st.integers(0, 10)),
    st.booleans(),
    st.lists(st.sampled_from(["A claim has no analysis.", "The scores differ."])),
)
@pytest.mark.requirement("FH-92", "FH-97", "FH-98")
def test_a_recommendation_fits_its_tier(
    score: Decimal | None,
    fallacies: list[Severity],
    distribution: dict[TruthLabel, int],
    missing_context: bool,
    more: list[str],
) -> None:
    """FH-92: Code computes the score; a model's far-off number is flagged.
    FH-97: The pipeline publishes as draft or as generated, never as reviewed.
    FH-98: Tier A requires a review, and a disputed claim a disclaimer.
    """
    tier = choose_tier(score, fallacies, distribution, missing_context=missing_context)
    reasons = (*explain_high_risk(score, fallacies, distribution), *more)
    found = recommend(tier, reasons, distribution, ["One of the model's."])
    assert (found.publication_mode is PublicationMode.DRAFT_ONLY) == (tier is Tier.A)
    assert found.publication_mode is not PublicationMode.HUMAN_REVIEWED
    assert found.requires_review == (found.review_reason is not None) == bool(reasons)
    assert tier is not Tier.A or found.requires_review
    assert score is not None or tier is Tier.A
    if tier is Tier.B and distribution.get(TruthLabel.DISPUTED):
        assert DISPUTED_DISCLAIMER in found.disclaimers
    assert "One of the model's." in found.disclaimers


@pytest.mark.requirement("FH-98")
def test_tier_a_is_reviewed_even_without_a_reason() -> None:
    """FH-98: Tier A requires a review, and a disputed claim a disclaimer."""
    assert recommend(Tier.A, (), {}).review_reason


@pytest.mark.requirement("FH-98")
@pytest.mark.parametrize(("tier", "disclaimers"), [(Tier.A, 1), (Tier.B, 1), (Tier.C, 0)])
def test_a_disputed_claim_is_disclaimed(tier: Tier, disclaimers: int) -> None:
    """FH-98: Tier A requires a review, and a disputed claim a disclaimer."""
    found = recommend(tier, (), {TruthLabel.TRUE: 8, TruthLabel.DISPUTED: 1}).disclaimers
    assert found == (DISPUTED_DISCLAIMER,) * disclaimers
