"""From the analyses of an article's claims and a model's reading of it to the assessment of the whole.

Source: requirements FH-85 to FH-98.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from analyses.claims.answers import AssessAnswer
from analyses.claims.labels import TRUTH, Label, TruthLabel
from analyses.claims.rollup import ArticleVerdict, Rollup, judge_article
from analyses.claims.scoring import Factor, ScoredClaim, average_confidence, differs_from_model, score_article
from analyses.claims.tiers import Recommendation, Tier, choose_tier, explain_high_risk, recommend

SCORES_DIFFER: Final = "The model's own score is far from the computed one."
CLAIM_WITHOUT_ANALYSIS: Final = "At least one claim has no analysis."


@dataclass(frozen=True, slots=True)
class AssessedClaim:
    """A claim as the assessment counts it. Shapes: label and confidence are those of its recommended scenario; None
    throughout where there is no analysis."""

    is_central: bool
    rollup: Rollup | None
    label: Label | None
    confidence: Decimal | None


@dataclass(frozen=True, slots=True)
class Assessment:
    """What code says of an article. Shapes: the score is unrounded; the distribution names labels that occur."""

    verdict: ArticleVerdict
    score: Decimal | None
    tier: Tier
    average_confidence: Decimal
    distribution: Mapping[TruthLabel, int]
    recommendation: Recommendation


def assess_article(claims: Sequence[AssessedClaim], answer: AssessAnswer) -> Assessment:
    """Assess an article; the model's score and disclaimers only add a review or a sentence."""
    scored = [
        ScoredClaim(TRUTH[each.label], each.confidence)
        for each in claims
        if each.label is not None and each.confidence is not None
    ]
    severities = [each.severity for each in answer.fallacies]
    factors = [Factor(each.factor, each.impact) for each in answer.contextual_factors]
    score = score_article(scored, severities, factors)
    distribution = Counter(each.label for each in scored)
    reasons = [*explain_high_risk(score, severities, distribution)]
    reasons += [CLAIM_WITHOUT_ANALYSIS] if len(scored) < len(claims) else []
    reasons += [SCORES_DIFFER] if differs_from_model(score, answer.credibility_score) else []
    tier = choose_tier(score, severities, distribution, missing_context=answer.missing_context)
    return Assessment(
        judge_article(
            [each.rollup for each in claims if each.is_central], severities, thesis_follows=answer.thesis_follows
        ),
        score,
        tier,
        average_confidence(scored),
        dict(distribution),
        recommend(tier, reasons, distribution, answer.disclaimers),
    )
