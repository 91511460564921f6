"""The result of an audit, put together from what was extracted, analysed and assessed. Pure.

Source: requirements D.5, D.6, FH-46 to FH-48, FH-99.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Literal

from analyses.claims.answers import AssessAnswer
from analyses.claims.assessment import AssessedClaim, Assessment
from analyses.claims.costs import Coverage, Prices, format_dollars
from analyses.claims.labels import Label
from analyses.claims.rollup import Rollup
from analyses.claims.scoring import round_share
from contracts.jobs import assessment as wire
from contracts.jobs.costs import CostBreakdown
from contracts.jobs.extraction import ClaimExtraction
from contracts.jobs.extraction import ExtractedClaim as ClaimText
from contracts.jobs.ids import format_job_id
from contracts.jobs.result import (
    AnalysedClaim,
    AnalysisBody,
    AnalysisLink,
    AnalysisMetadata,
    CacheCoverage,
    CachedClaim,
    CacheOnlyResult,
    ClaimToBuy,
    EvidenceDropped,
    FailedClaim,
    FullResult,
    JobResult,
    LlmCall,
    MissingClaim,
    Scenario,
    SelfLink,
    UpgradeOptions,
)
from contracts.v1 import AssertionAnalysed
from services.auditor.failures import describe_failure


@dataclass(frozen=True, slots=True)
class Served:
    """An analysis that serves a claim. `new`: it was made for this job. `stale`: it is past its horizon."""

    event: AssertionAnalysed
    at: datetime
    body: AnalysisBody
    new: bool
    stale: bool

    @property
    def recommended(self) -> Scenario:
        """The scenario that the claim's verdict is taken from."""
        name = name_scenario(self.event.recommended)
        return next(each for each in self.body.scenarios if each.scenario_id == name)


@dataclass(frozen=True, slots=True)
class Failed:
    """A claim without an analysis, by the code of its failure."""

    code: str


@dataclass(frozen=True, slots=True)
class Missed:
    """A claim without an analysis, for which none was bought. `queries` is None if the job may look up pages."""

    queries: tuple[str, ...] | None


Outcome = Served | Failed | Missed


Result = FullResult | CacheOnlyResult


@dataclass(frozen=True, slots=True)
class Audit:
    """All that the result of a job is made of. `cost` is what the job is charged."""

    extraction: ClaimExtraction
    outcomes: tuple[Outcome, ...]
    assessment: wire.ArticleAssessment | None
    cost: CostBreakdown
    prices: Prices
    calls: tuple[LlmCall, ...]
    from_memo: bool
    generated_at: datetime

    @property
    def served(self) -> tuple[Served, ...]:
        """Claims with an analysis."""
        return tuple(each for each in self.outcomes if isinstance(each, Served))

    @property
    def is_complete(self) -> bool:
        """Whether every claim has an analysis."""
        return len(self.served) == len(self.outcomes)

    @property
    def from_cache(self) -> int:
        """How many claims are served by an analysis that another job paid for."""
        return sum(not each.new for each in self.served)


def name_scenario(ordinal: int) -> str:
    """The id of a scenario within its claim."""
    return f"s{ordinal}"


def count_claim(claim: ClaimText, outcome: Outcome) -> AssessedClaim:
    """A claim as the assessment counts it."""
    if not isinstance(outcome, Served):
        return AssessedClaim(claim.is_central_to_thesis, None, None, None)
    verdict = outcome.recommended.verdict
    return AssessedClaim(
        claim.is_central_to_thesis,
        Rollup[outcome.event.rollup],
        Label(verdict.label),
        Decimal(str(verdict.confidence)),
    )


def write_assessment(
    extraction: ClaimExtraction, found: Assessment, answer: AssessAnswer, model: str, at: datetime
) -> wire.ArticleAssessment:
    """The assessment as the account reads it, from what code decided and what the model wrote."""
    confidence = found.average_confidence if answer.confidence is None else answer.confidence
    return wire.ArticleAssessment(
        article_id=extraction.job_id,
        overall_verdict=found.verdict.value,
        overall_assessment=wire.OverallAssessment(
            credibility_score=None if found.score is None else float(round_share(found.score)),
            risk_tier=found.tier.value,
            summary=answer.summary,
            confidence=float(round_share(confidence)),
            model_credibility_score=None if answer.credibility_score is None else float(answer.credibility_score),
        ),
        claim_aggregation=wire.ClaimAggregation(
            total_claims=sum(found.distribution.values()),
            verdict_distribution={label.value: count for label, count in found.distribution.items()},
            avg_confidence=float(round_share(found.average_confidence)),
        ),
        contextual_factors=tuple(
            wire.ContextualFactor(factor=each.factor, impact=each.impact.value, description=each.description or "")
            for each in answer.contextual_factors
        ),
        fallacies=tuple(
            wire.FoundFallacy(
                type=each.type.value, location=each.location or "", why=each.why, severity=each.severity.value
            )
            for each in answer.fallacies
        ),
        reasoning_quality=wire.ReasoningQuality(**answer.reasoning_quality.model_dump()),
        thesis_follows=answer.thesis_follows,
        missing_context=answer.missing_context,
        recommendations=wire.Recommendations(
            publication_mode=found.recommendation.publication_mode.value,
            requires_review=found.recommendation.requires_review,
            review_reason=found.recommendation.review_reason,
            suggested_disclaimers=found.recommendation.disclaimers,
        ),
        metadata=wire.HolisticMetadata(holistic_timestamp=at, model_used=model),
    )


def list_cached_stages(audit: Audit) -> tuple[Literal["stage1", "stage2"], ...]:
    """The stages that cost nothing, because their outcome was cached."""
    stages: list[Literal["stage1", "stage2"]] = ["stage1"] if audit.from_memo else []
    if audit.served and audit.from_cache == len(audit.served):
        stages.append("stage2")
    return tuple(stages)


def write_result(audit: Audit, upgrade: UpgradeOptions | None) -> Result:
    """The result without its receipt. Shapes: `upgrade` has the operator's texts; None exactly if the job could buy."""
    common = JobResult(
        job_id=audit.extraction.job_id,
        generated_at=audit.generated_at,
        claim_extraction=audit.extraction,
        article_holistic_assessment=audit.assessment,
        claims=tuple(_write_claim(audit, index) for index in range(len(audit.outcomes))),
        cost=audit.cost.total,
        cost_breakdown=audit.cost,
        cache_used=audit.from_cache > 0,
        stages_cached=list_cached_stages(audit),
        llm_calls=audit.calls,
        receipt="",
    )
    if upgrade is None:
        return FullResult(**dict(common), status="complete" if audit.is_complete else "partial")
    claims = list(enumerate(zip(audit.extraction.claims, audit.outcomes, strict=True)))
    missing = [claim for _, (claim, outcome) in claims if isinstance(outcome, Missed)]
    coverage = Coverage(len(audit.served), len(missing))
    return CacheOnlyResult(
        **dict(common),
        status="cache_only_mode",
        message=_describe_coverage(coverage, audit.prices),
        cache_coverage=CacheCoverage(
            claims_total=coverage.total,
            claims_cached=coverage.cached,
            claims_missing=coverage.missing,
            coverage_percent=coverage.percent,
        ),
        cached_claims=tuple(
            CachedClaim(
                claim_id=claim.claim_id,
                verdict=outcome.recommended.verdict.label,
                confidence=outcome.recommended.verdict.confidence,
                links=AnalysisLink(analysis=_link(audit, index)),
            )
            for index, (claim, outcome) in claims
            if isinstance(outcome, Served)
        ),
        missing_claims=tuple(
            ClaimToBuy(
                claim_id=claim.claim_id,
                claim_text=claim.claim_text,
                estimated_cost=format_dollars(audit.prices.new_claim),
            )
            for claim in missing
        ),
        upgrade_options=upgrade,
    )


def _describe_coverage(coverage: Coverage, prices: Prices) -> str:
    if not coverage.missing:
        return "Every claim of the article is in the cache."
    price = format_dollars(coverage.price_to_complete(prices))
    return f"{coverage.cached} of {coverage.total} claims are in the cache. Analysing the others costs {price}."


def _link(audit: Audit, index: int) -> str:
    return f"/v1/jobs/{format_job_id(audit.extraction.job_id)}/result#/claims/{index}"


def _write_claim(audit: Audit, index: int) -> AnalysedClaim | MissingClaim | FailedClaim:
    claim = audit.extraction.claims[index]
    match audit.outcomes[index]:
        case Failed(code):
            return FailedClaim(
                claim_id=claim.claim_id,
                claim_text=claim.claim_text,
                claim_hash=claim.claim_hash,
                status="failed",
                failure=describe_failure(code),
            )
        case Missed(queries):
            missing = MissingClaim(
                claim_id=claim.claim_id,
                claim_text=claim.claim_text,
                claim_hash=claim.claim_hash,
                status="cache_miss",
                estimated_cost=audit.prices.new_claim,
            )
            return missing if queries is None else missing.model_copy(update={"planned_queries": queries})
        case Served() as served:
            return AnalysedClaim(
                claim_id=claim.claim_id,
                claim_text=claim.claim_text,
                claim_hash=claim.claim_hash,
                cache_hit=not served.new,
                stale=served.stale,
                analysed_at=served.at,
                rollup_verdict=Rollup[served.event.rollup].value,
                recommended_scenario=name_scenario(served.event.recommended),
                links=SelfLink(self=_link(audit, index)),
                scenarios=served.body.scenarios,
                evidence_dropped=EvidenceDropped(**served.event.dropped.model_dump()),
                families=served.body.families,
                metadata=AnalysisMetadata(analysis_timestamp=served.at, model_used=served.event.end.model),
            )
