"""`GET …/result`: claims with their scenarios, evidence and verdicts, the assessment, and the cost.

A claim is one of three: analysed, missing (`cache_miss`), or failed.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from contracts.jobs.assessment import ArticleAssessment
from contracts.jobs.costs import CostBreakdown
from contracts.jobs.extraction import ClaimExtraction
from contracts.jobs.values import (
    Absent,
    ClaimHash,
    ClaimId,
    Count,
    Document,
    Instant,
    JobId,
    Money,
    Rate,
    RollupVerdict,
    ScenarioLabel,
    Seconds,
    Stage,
    TruthLabel,
)

QUOTE_WORDS = 25


class Verdict(Document):
    """The verdict on one scenario; `model_confidence` is the model's own number."""

    label: ScenarioLabel
    truth_label: TruthLabel
    probability: Rate | None
    confidence: Rate
    model_confidence: Rate
    explanation: str
    caps_applied: tuple[str, ...]
    uncertainty_factors: tuple[str, ...]


def _is_short(quote: str) -> bool:
    return len(quote.split()) <= QUOTE_WORDS


class EvidenceItem(Document):
    """One source; sources that carry the same text have the same number `family`."""

    text: str
    source_url: str
    source_title: str
    credibility_score: Rate
    quotes: Annotated[tuple[str, ...], Field(max_length=3)]
    summary: str | None
    relevance: Rate
    published_at: str | None
    family: Count
    looked_up: Literal["found"]

    @model_validator(mode="after")
    def _quotes_little(self) -> Self:
        if not all(map(_is_short, self.quotes)):
            raise ValueError(f"a quote has at most {QUOTE_WORDS} words")
        return self


class Evidence(Document):
    """The sources of one scenario."""

    supporting: tuple[EvidenceItem, ...]
    opposing: tuple[EvidenceItem, ...]


class Scenario(Document):
    """One reading of a claim."""

    scenario_id: Annotated[str, Field(pattern=r"^s[1-9][0-9]?$")]
    description: str
    assumptions: tuple[str, ...]
    verdict: Verdict
    evidence: Evidence


class AnalysisBody(Document):
    """The words of an analysis, which are kept for 90 days and are in no fact."""

    scenarios: Annotated[tuple[Scenario, ...], Field(min_length=1)]
    families: Count


class EvidenceDropped(Document):
    """The number of sources that the model named and that were dropped, by reason."""

    missing: Count
    unavailable: Count
    not_looked_up: Count


class AnalysisMetadata(Document):
    """When the analysis was made, and by which model."""

    analysis_timestamp: Instant
    model_used: Absent[str] = None
    processing_time_seconds: Absent[Seconds] = None


class SelfLink(Document):
    """The address of an analysis."""

    self: str


class AnalysedClaim(Document):
    """A claim with its analysis. `stale`: the analysis is past its horizon."""

    claim_id: ClaimId
    claim_text: str
    claim_hash: ClaimHash
    cache_hit: bool
    stale: bool
    analysed_at: Instant
    rollup_verdict: RollupVerdict
    recommended_scenario: str
    links: SelfLink
    scenarios: Annotated[tuple[Scenario, ...], Field(min_length=1)]
    evidence_dropped: EvidenceDropped
    families: Count
    metadata: AnalysisMetadata

    @model_validator(mode="after")
    def _recommends_one_of_its_scenarios(self) -> Self:
        if self.recommended_scenario not in {each.scenario_id for each in self.scenarios}:
            raise ValueError("the recommended scenario must be one of the claim's")
        return self


class MissingClaim(Document):
    """A claim without an analysis, since none was cached and none was bought."""

    claim_id: ClaimId
    claim_text: str
    claim_hash: ClaimHash
    status: Literal["cache_miss"]
    estimated_cost: Money
    planned_queries: Absent[tuple[str, ...]] = None


class ClaimFailure(Document):
    """Why a claim could not be assessed."""

    code: Literal[
        "MODEL_UNAVAILABLE",
        "SEARCH_UNAVAILABLE",
        "TIMEOUT",
        "MODEL_REFUSED",
        "INVALID_ANSWER",
        "COST_LIMIT",
        "NOT_A_CLAIM",
        "WITHDRAWN",
    ]
    detail: str
    hint: str | None
    retryable: bool


class FailedClaim(Document):
    """A claim that could not be assessed; it is not charged."""

    claim_id: ClaimId
    claim_text: str
    claim_hash: ClaimHash
    status: Literal["failed"]
    failure: ClaimFailure


class LlmCall(Document):
    """One paid call, without its words."""

    stage: Stage
    provider: str
    model: str
    input_tokens: Count
    output_tokens: Count
    cost: Money
    seconds: Seconds


class JobResult(Document):
    """The fields of every result."""

    job_id: JobId
    generated_at: Instant
    claim_extraction: ClaimExtraction
    article_holistic_assessment: ArticleAssessment | None
    claims: tuple[AnalysedClaim | MissingClaim | FailedClaim, ...]
    cost: Money
    cost_breakdown: CostBreakdown
    cache_used: bool
    stages_cached: tuple[Literal["stage1", "stage2"], ...]
    llm_calls: tuple[LlmCall, ...]
    receipt: str


class FullResult(JobResult):
    """The result of a job that could buy analyses. `partial`: a claim is missing or failed."""

    status: Literal["complete", "partial"]


class CacheCoverage(Document):
    """The share of the article's claims that were cached. Units: `coverage_percent` is rounded, half up."""

    claims_total: Count
    claims_cached: Count
    claims_missing: Count
    coverage_percent: Annotated[int, Field(ge=0, le=100)]

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        if self.claims_total != self.claims_cached + self.claims_missing:
            raise ValueError("cached and missing claims must make up all claims")
        return self


class AnalysisLink(Document):
    """The address of an analysis within the result."""

    analysis: str


class CachedClaim(Document):
    """A claim whose analysis was cached; `verdict` is the label of its recommended scenario."""

    claim_id: ClaimId
    verdict: ScenarioLabel
    confidence: Rate
    links: AnalysisLink


class ClaimToBuy(Document):
    """A claim whose analysis was not cached. Units: `estimated_cost` is written as `$0.081`."""

    claim_id: ClaimId
    claim_text: str
    estimated_cost: Annotated[str, Field(pattern=r"^\$[0-9]+(\.[0-9]{1,6})?$")]


class UpgradeOptions(Document):
    """The operator's texts about getting more credit."""

    top_up: str
    pro_tier: str


class CacheOnlyResult(JobResult):
    """The result of a job that could buy no analyses."""

    status: Literal["cache_only_mode"]
    message: str
    cache_coverage: CacheCoverage
    cached_claims: tuple[CachedClaim, ...]
    missing_claims: tuple[ClaimToBuy, ...]
    upgrade_options: UpgradeOptions


Result = Annotated[FullResult | CacheOnlyResult, Field(discriminator="status")]
