"""The assessment of the whole article, from stage 3."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import model_validator

from contracts.jobs.values import (
    Absent,
    Count,
    Document,
    Instant,
    JobId,
    OverallVerdict,
    Rate,
    RiskTier,
    Seconds,
    TruthLabel,
)

Grade = Literal["low", "medium", "high"]


class OverallAssessment(Document):
    """The scores of the article: the one that code computed, and the model's own."""

    credibility_score: Rate | None
    risk_tier: RiskTier
    summary: str
    confidence: Rate
    model_credibility_score: Rate | None


class ClaimAggregation(Document):
    """The number of claims with an analysis, by truth label; labels without a claim may be missing."""

    total_claims: Count
    verdict_distribution: dict[TruthLabel, Count]
    avg_confidence: Rate

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        if sum(self.verdict_distribution.values()) != self.total_claims:
            raise ValueError("the distribution must sum to all claims")
        return self


class ContextualFactor(Document):
    """A circumstance of the article that affects its assessment."""

    factor: str
    impact: Literal["positive", "neutral", "negative"]
    description: str


class FoundFallacy(Document):
    """An error of reasoning."""

    type: Literal[
        "cherry_picking",
        "false_equivalence",
        "straw_man",
        "ad_hominem",
        "slippery_slope",
        "circular_reasoning",
        "false_dichotomy",
    ]
    location: str
    why: str
    severity: Literal["minor", "moderate", "severe"]


class ReasoningQuality(Document):
    """The quality of the article's arguments."""

    evidence_strength: Grade
    logical_coherence: Grade
    transparency: Grade
    nuance: Grade


class Recommendations(Document):
    """How the assessment may be published, and whether a person must review it first."""

    publication_mode: Literal["DRAFT_ONLY", "AI_GENERATED", "HUMAN_REVIEWED"]
    requires_review: bool
    review_reason: str | None
    suggested_disclaimers: tuple[str, ...]


class HolisticMetadata(Document):
    """When the assessment was made, and by which model."""

    holistic_timestamp: Instant
    model_used: Absent[str] = None
    processing_time_seconds: Absent[Seconds] = None
    cache_used: Absent[bool] = None


class ArticleAssessment(Document):
    """The outcome of stage 3; `article_id` is the job's."""

    article_id: JobId
    overall_verdict: OverallVerdict
    overall_assessment: OverallAssessment
    claim_aggregation: ClaimAggregation
    contextual_factors: tuple[ContextualFactor, ...]
    fallacies: tuple[FoundFallacy, ...]
    reasoning_quality: ReasoningQuality
    thesis_follows: bool
    missing_context: bool
    recommendations: Recommendations
    metadata: HolisticMetadata

    @model_validator(mode="after")
    def _is_reviewed_where_it_must_be(self) -> Self:
        review = self.recommendations
        if self.overall_assessment.risk_tier == "A" and not (review.requires_review and review.review_reason):
            raise ValueError("tier A requires a review with its reason")
        return self
