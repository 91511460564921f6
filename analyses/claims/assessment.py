"""Make an article's assessment and risk tier from the analyses of its claims and a model's answer.

Source: requirements FH-85 to FH-98.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Final, NamedTuple

from analyses.claims.answers import AssessAnswer
from analyses.claims.labels import TRUTH, Label, TruthLabel
from analyses.claims.rollup import ArticleVerdict, Rollup, judge_article
from analyses.claims.scoring import Factor, ScoredClaim, Severity, average_confidence, differs_from_model, score_article

HIGH_RISK_SCORE: Final = Decimal("0.5")
LOW_RISK_SCORE: Final = Decimal("0.8")
MODERATE_FALLACIES: Final = 3
SCORES_DIFFER: Final = "The model's own score is far from the computed one."
CLAIM_WITHOUT_ANALYSIS: Final = "At least one claim has no analysis."
DISPUTED_DISCLAIMER: Final = "Sources disagree about at least one claim of this article."


class Tier(StrEnum):
    """A: high risk, B: medium, C: low."""

    A = "A"
    B = "B"
    C = "C"


class PublicationMode(StrEnum):
    """How an audit may be published. Only a moderator makes it HUMAN_REVIEWED."""

    DRAFT_ONLY = "DRAFT_ONLY"
    AI_GENERATED = "AI_GENERATED"
    HUMAN_REVIEWED = "HUMAN_REVIEWED"


class Recommendation(NamedTuple):
    """What the audit recommends for itself. `review_reason` is None exactly if no review is required."""

    publication_mode: PublicationMode
    requires_review: bool
    review_reason: str | None
    disclaimers: tuple[str, ...]


def choose_tier(
    score: Decimal | None,
    fallacies: Sequence[Severity],
    distribution: Mapping[TruthLabel, int],
    *,
    missing_context: bool,
) -> Tier:
    """The risk tier: A is tested first, then C, else it is B. Shapes: the score is unrounded, None without analyses."""
    if explain_high_risk(score, fallacies, distribution):
        return Tier.A
    total = sum(distribution.values())
    problematic = total - distribution.get(TruthLabel.TRUE, 0)
    sound = all(each is Severity.MINOR for each in fallacies) and not missing_context
    assert score is not None  # without a score it is tier A
    return Tier.C if score > LOW_RISK_SCORE and sound and 5 * problematic < total else Tier.B


def explain_high_risk(
    score: Decimal | None, fallacies: Sequence[Severity], distribution: Mapping[TruthLabel, int]
) -> tuple[str, ...]:
    """The reasons why an article is in tier A, a sentence each; empty if it is not."""
    if score is None:
        return ("No claim of the article has an analysis.",)
    unsupported = distribution.get(TruthLabel.FALSE, 0) + distribution.get(TruthLabel.UNSUPPORTED, 0)
    found = {
        "The credibility score is 0.5 or lower.": score <= HIGH_RISK_SCORE,
        "The article has a severe fallacy.": Severity.SEVERE in fallacies,
        "The article has three or more moderate fallacies.": fallacies.count(Severity.MODERATE) >= MODERATE_FALLACIES,
        "At least half of the claims are false or unsupported.": unsupported > 0
        and 2 * unsupported >= sum(distribution.values()),
    }
    return tuple(reason for reason, holds in found.items() if holds)


def recommend(
    tier: Tier, reasons: Sequence[str], distribution: Mapping[TruthLabel, int], disclaimers: Sequence[str] = ()
) -> Recommendation:
    """The recommendation. Shapes: `reasons` require a review in any tier, and include those of tier A."""
    if tier is Tier.A and not reasons:
        reasons = ("The article is of risk tier A.",)
    ours = (DISPUTED_DISCLAIMER,) if tier is not Tier.C and distribution.get(TruthLabel.DISPUTED, 0) else ()
    return Recommendation(
        PublicationMode.DRAFT_ONLY if tier is Tier.A else PublicationMode.AI_GENERATED,
        bool(reasons),
        " ".join(reasons) or None,
        tuple(dict.fromkeys((*ours, *disclaimers))),
    )


@dataclass(frozen=True, slots=True)
class AssessedClaim:
    """A claim as the assessment counts it. Shapes: label and confidence are those of its recommended scenario; all are
    None without an analysis."""

    is_central: bool
    rollup: Rollup | None
    label: Label | None
    confidence: Decimal | None


@dataclass(frozen=True, slots=True)
class Assessment:
    """The assessment of an article by code. Shapes: the score is unrounded; the distribution has labels that occur."""

    verdict: ArticleVerdict
    score: Decimal | None
    tier: Tier
    average_confidence: Decimal
    distribution: Mapping[TruthLabel, int]
    recommendation: Recommendation


def assess_article(claims: Sequence[AssessedClaim], answer: AssessAnswer) -> Assessment:
    """Assess an article; the model's own score can only require a review, its disclaimers are added."""
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
