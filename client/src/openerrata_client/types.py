"""What the job API takes and answers. Written by `python -m tests.contract.write` from contracts/jobs; do not edit.

Money is a Decimal of US dollars, a moment an aware datetime. An enumeration may hold words that this version does not
know yet.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Final, Literal
from uuid import UUID

from pydantic import Field, JsonValue

from openerrata_client.documents import Answer, Question


class ChosenOptions(Answer):
    """Options of the analysis of an article."""

    browsing: Literal["on", "off"] | str | None = None
    depth: Literal["standard", "deep"] | str | None = None
    max_claims: int | None = None
    scenarios_per_claim: int | None = None
    max_evidence_per_scenario: int | None = None
    context_aware_analysis: bool | None = None
    cache_preference: Literal["prefer_cache", "allow_partial", "skip_cache", "cache_only"] | str | None = None


class SelfLink(Answer):
    """The address of an analysis."""

    self: str


class Verdict(Answer):
    """The verdict on one scenario; `model_confidence` is the model's own number."""

    label: Literal["Highly Likely", "Likely", "Unclear", "Unlikely", "Highly Unlikely", "Unsubstantiated"] | str
    truth_label: Literal["TRUE", "PARTIALLY_TRUE", "DISPUTED", "UNSUPPORTED", "FALSE", "UNVERIFIABLE"] | str
    probability: float | None
    confidence: float
    model_confidence: float
    explanation: str
    caps_applied: tuple[str, ...]
    uncertainty_factors: tuple[str, ...]


class EvidenceItem(Answer):
    """One source; sources that carry the same text have the same number `family`."""

    text: str
    source_url: str
    source_title: str
    credibility_score: float
    quotes: tuple[str, ...]
    summary: str | None
    relevance: float
    published_at: str | None
    family: int
    looked_up: Literal["found"]


class Evidence(Answer):
    """The sources of one scenario."""

    supporting: tuple[EvidenceItem, ...]
    opposing: tuple[EvidenceItem, ...]


class Scenario(Answer):
    """One reading of a claim."""

    scenario_id: str
    description: str
    assumptions: tuple[str, ...]
    verdict: Verdict
    evidence: Evidence


class EvidenceDropped(Answer):
    """The number of sources that the model named and that were dropped, by reason."""

    missing: int
    unavailable: int
    not_looked_up: int


class AnalysisMetadata(Answer):
    """When the analysis was made, and by which model."""

    analysis_timestamp: datetime
    model_used: str | None = None
    processing_time_seconds: float | None = None


class AnalysedClaim(Answer):
    """A claim with its analysis. `stale`: the analysis is past its horizon."""

    claim_id: str
    claim_text: str
    claim_hash: str
    cache_hit: bool
    stale: bool
    analysed_at: datetime
    rollup_verdict: Literal["Supported", "Refuted", "Inconclusive"] | str
    recommended_scenario: str
    links: SelfLink
    scenarios: tuple[Scenario, ...]
    evidence_dropped: EvidenceDropped
    families: int
    metadata: AnalysisMetadata


class AnalysisLink(Answer):
    """The address of an analysis within the result."""

    analysis: str


class Options(Question):
    """Options of the analysis of an article."""

    browsing: Literal["on", "off"] | None = None
    depth: Literal["standard", "deep"] | None = None
    max_claims: int | None = None
    scenarios_per_claim: int | None = None
    max_evidence_per_scenario: int | None = None
    context_aware_analysis: bool | None = None
    cache_preference: Literal["prefer_cache", "allow_partial", "skip_cache", "cache_only"] | None = None


class ClientLabels(Question):
    """The client's own labels of its request, and the address for the message at its end."""

    request_id: str | None = None
    source_label: str | None = None
    webhook_url: str | None = None


class AnalyzeRequest(Question):
    """An article to be analysed, by its address or as text.

    Units: a text has at most 10,000 words and 100,000 characters."""

    input_type: Literal["url", "text"] | None = None
    input_url: str | None = None
    input_text: str | None = None
    options: Options | None = None
    client: ClientLabels | None = None


class OverallAssessment(Answer):
    """The scores of the article: the one that code computed, and the model's own."""

    credibility_score: float | None
    risk_tier: Literal["A", "B", "C"] | str
    summary: str
    confidence: float
    model_credibility_score: float | None


class ClaimAggregation(Answer):
    """The number of claims with an analysis, by truth label; labels without a claim may be missing."""

    total_claims: int
    verdict_distribution: Mapping[str, int]
    avg_confidence: float


class ContextualFactor(Answer):
    """A circumstance of the article that affects its assessment."""

    factor: str
    impact: Literal["positive", "neutral", "negative"] | str
    description: str


class FoundFallacy(Answer):
    """An error of reasoning."""

    type: (
        Literal[
            "cherry_picking",
            "false_equivalence",
            "straw_man",
            "ad_hominem",
            "slippery_slope",
            "circular_reasoning",
            "false_dichotomy",
        ]
        | str
    )
    location: str
    why: str
    severity: Literal["minor", "moderate", "severe"] | str


class ReasoningQuality(Answer):
    """The quality of the article's arguments."""

    evidence_strength: Literal["low", "medium", "high"] | str
    logical_coherence: Literal["low", "medium", "high"] | str
    transparency: Literal["low", "medium", "high"] | str
    nuance: Literal["low", "medium", "high"] | str


class Recommendations(Answer):
    """How the assessment may be published, and whether a person must review it first."""

    publication_mode: Literal["DRAFT_ONLY", "AI_GENERATED", "HUMAN_REVIEWED"] | str
    requires_review: bool
    review_reason: str | None
    suggested_disclaimers: tuple[str, ...]


class HolisticMetadata(Answer):
    """When the assessment was made, and by which model."""

    holistic_timestamp: datetime
    model_used: str | None = None
    processing_time_seconds: float | None = None
    cache_used: bool | None = None


class ArticleAssessment(Answer):
    """The outcome of stage 3; `article_id` is the job's."""

    article_id: str
    overall_verdict: Literal["WELL-SUPPORTED", "MISLEADING", "REFUTED", "UNCERTAIN"] | str
    overall_assessment: OverallAssessment
    claim_aggregation: ClaimAggregation
    contextual_factors: tuple[ContextualFactor, ...]
    fallacies: tuple[FoundFallacy, ...]
    reasoning_quality: ReasoningQuality
    thesis_follows: bool
    missing_context: bool
    recommendations: Recommendations
    metadata: HolisticMetadata


class ArticleMetadata(Answer):
    """The article's metadata. Units: `extracted_text_length` in code points; `language` is BCP 47, `und` if unknown."""

    title: str | None
    source_url: str | None
    extracted_text_length: int
    language: str
    author: str | None
    publisher: str | None
    published_at: str | None


class CacheCoverage(Answer):
    """The share of the article's claims that were cached. Units: `coverage_percent` is rounded, half up."""

    claims_total: int
    claims_cached: int
    claims_missing: int
    coverage_percent: int


class CacheInfo(Answer):
    """The number of claims expected to be answered from the cache, by a known extraction or the past hit rate."""

    claims_to_extract: int
    estimated_cache_hits: int
    estimated_new_claims: int
    basis: Literal["memo", "rolling_hit_rate"] | str


class Span(Answer):
    """The place of a claim's words in the submitted text, half-open. Units: code points, and UTF-16 units."""

    start: int
    end: int
    start_utf16: int
    end_utf16: int


class ExtractedClaim(Answer):
    """One claim of the article."""

    claim_id: str
    claim_text: str
    canonical_claim: str
    claim_hash: str
    is_central_to_thesis: bool
    claim_type: str
    evaluability: Literal["evaluable", "partially_evaluable", "not_evaluable"] | str
    risk_tier: Literal["A", "B", "C"] | str
    domain: str
    volatility: Literal["TIMELESS", "DATED", "SLOW", "FAST"] | str
    time_anchor: str | None
    spans: tuple[Span, ...] | None


class FurtherClaim(Answer):
    """A claim beyond `max_claims`, which is not analysed. `cached`: the cache has an analysis."""

    claim_text: str
    canonical_claim: str
    claim_hash: str
    spans: tuple[Span, ...] | None
    cached: bool


class ClaimExtraction(Answer):
    """The outcome of stage 1."""

    job_id: str
    stage: Literal["stage1_extraction"]
    article_metadata: ArticleMetadata
    article_thesis: str | None
    cost: Decimal
    claims: tuple[ExtractedClaim, ...]
    more_claims: tuple[FurtherClaim, ...]


class MissingClaim(Answer):
    """A claim without an analysis, since none was cached and none was bought."""

    claim_id: str
    claim_text: str
    claim_hash: str
    status: Literal["cache_miss"]
    estimated_cost: Decimal
    planned_queries: tuple[str, ...] | None = None


class ClaimFailure(Answer):
    """Why a claim could not be assessed."""

    code: (
        Literal[
            "MODEL_UNAVAILABLE",
            "SEARCH_UNAVAILABLE",
            "TIMEOUT",
            "MODEL_REFUSED",
            "INVALID_ANSWER",
            "COST_LIMIT",
            "NOT_A_CLAIM",
            "WITHDRAWN",
        ]
        | str
    )
    detail: str
    hint: str | None
    retryable: bool


class FailedClaim(Answer):
    """A claim that could not be assessed; it is not charged."""

    claim_id: str
    claim_text: str
    claim_hash: str
    status: Literal["failed"]
    failure: ClaimFailure


class CostBreakdown(Answer):
    """The cost of a job, by stage."""

    stage1_extraction: Decimal
    stage2_new_claims: Decimal
    stage2_cached_claims: Decimal
    stage3_holistic: Decimal


class LlmCall(Answer):
    """One paid call, without its words."""

    stage: Literal["stage1", "stage2", "stage3"] | str
    provider: str
    model: str
    input_tokens: int
    output_tokens: int
    cost: Decimal
    seconds: float


class CachedClaim(Answer):
    """A claim whose analysis was cached; `verdict` is the label of its recommended scenario."""

    claim_id: str
    verdict: Literal["Highly Likely", "Likely", "Unclear", "Unlikely", "Highly Unlikely", "Unsubstantiated"] | str
    confidence: float
    links: AnalysisLink


class ClaimToBuy(Answer):
    """A claim whose analysis was not cached. Units: `estimated_cost` is written as `$0.081`."""

    claim_id: str
    claim_text: str
    estimated_cost: str


class UpgradeOptions(Answer):
    """The operator's texts about getting more credit."""

    top_up: str
    pro_tier: str


class CacheOnlyResult(Answer):
    """The result of a job that could buy no analyses."""

    job_id: str
    generated_at: datetime
    claim_extraction: ClaimExtraction
    article_holistic_assessment: ArticleAssessment | None
    claims: tuple[AnalysedClaim | MissingClaim | FailedClaim, ...]
    cost: Decimal
    cost_breakdown: CostBreakdown
    cache_used: bool
    stages_cached: tuple[Literal["stage1", "stage2"] | str, ...]
    llm_calls: tuple[LlmCall, ...]
    receipt: str
    status: Literal["cache_only_mode"]
    message: str
    cache_coverage: CacheCoverage
    cached_claims: tuple[CachedClaim, ...]
    missing_claims: tuple[ClaimToBuy, ...]
    upgrade_options: UpgradeOptions


class UsageStats(Answer):
    """Use in the current month."""

    articles_analyzed: int
    claims_from_cache: int
    claims_newly_analyzed: int
    cache_hit_rate: float


class Credit(Answer):
    """An account's credit. `credit_limit` and `credit_remaining` are None without a limit."""

    user_id: UUID
    tier: Literal["free", "pro", "enterprise"] | str
    credit_limit: Decimal | None
    credit_used: Decimal
    credit_remaining: Decimal | None
    reset_date: datetime
    cache_only_mode: bool
    usage_stats: UsageStats
    credit_reserved: Decimal
    open_jobs: int
    extractions_left_today: int


class CreditLimitReached(Answer):
    """The body of a 402, which has no object `error`."""

    type: str
    title: str
    status: int
    detail: str
    instance: str
    error: Literal["credit_limit_reached"]
    message: str
    cache_only_mode: Literal[True]
    credit_remaining: Decimal
    reset_date: datetime
    action: str


class EchoedLabels(Answer):
    """The client's own labels of its request, while its words are kept."""

    request_id: str | None
    source_label: str | None


class ErrorBody(Answer):
    """The member `error`: code, message and details."""

    code: (
        Literal[
            "VALIDATION_ERROR",
            "UNKNOWN_VERSION",
            "INVALID_IDEMPOTENCY_KEY",
            "INPUT_TOO_LONG",
            "NO_WEBHOOK_SECRET",
            "UNKNOWN_PROVIDER",
            "UNAUTHENTICATED",
            "CREDIT_LIMIT_REACHED",
            "FORBIDDEN",
            "NOT_FOUND",
            "METHOD_NOT_ALLOWED",
            "REQUEST_TIMEOUT",
            "NOT_READY",
            "NO_RESULT",
            "EXPIRED",
            "PAYLOAD_TOO_LARGE",
            "UNSUPPORTED_MEDIA_TYPE",
            "RATE_LIMITED",
            "EXTRACTION_QUOTA",
            "TOO_MANY_OPEN_JOBS",
            "INTERNAL",
            "SERVICE_UNAVAILABLE",
        ]
        | str
    )
    message: str
    details: Mapping[str, JsonValue]


class Estimate(Answer):
    """200: what a job would cost. `credit_remaining` is None without a limit."""

    estimated_cost: Decimal
    maximum_cost: Decimal
    cost_breakdown: CostBreakdown
    cache_info: CacheInfo
    mode: Literal["credit", "cache_only"] | str
    credit_remaining: Decimal | None
    would_be_accepted: bool


class FullResult(Answer):
    """The result of a job that could buy analyses. `partial`: a claim is missing or failed."""

    job_id: str
    generated_at: datetime
    claim_extraction: ClaimExtraction
    article_holistic_assessment: ArticleAssessment | None
    claims: tuple[AnalysedClaim | MissingClaim | FailedClaim, ...]
    cost: Decimal
    cost_breakdown: CostBreakdown
    cache_used: bool
    stages_cached: tuple[Literal["stage1", "stage2"] | str, ...]
    llm_calls: tuple[LlmCall, ...]
    receipt: str
    status: Literal["complete", "partial"]


class Health(Answer):
    """`GET /v1/health`."""

    status: Literal["ok"]


class Links(Answer):
    """The paths of a job's resources."""

    self: str
    result: str
    report: str
    events: str


class JobAccepted(Answer):
    """202: a new job."""

    estimated_cost: Decimal
    maximum_cost: Decimal
    cost_breakdown: CostBreakdown
    cache_info: CacheInfo
    mode: Literal["credit", "cache_only"] | str
    job_id: str
    status: Literal["QUEUED"]
    created_at: datetime
    deadline_at: datetime
    links: Links


class JobFailure(Answer):
    """Why a job failed."""

    code: (
        Literal[
            "FETCH_FAILED",
            "NOT_PUBLIC",
            "UNSUPPORTED_CONTENT",
            "INPUT_EMPTY",
            "INPUT_TOO_LONG",
            "MODEL_REFUSED",
            "INVALID_ANSWER",
            "COST_LIMIT",
            "SERVICE_UNAVAILABLE",
            "DEADLINE_EXCEEDED",
            "INTERNAL",
        ]
        | str
    )
    message: str


class JobFinished(Answer):
    """200: a new job that ended while its client waited. `result`: it succeeded; `error`: it failed."""

    estimated_cost: Decimal
    maximum_cost: Decimal
    cost_breakdown: CostBreakdown
    cache_info: CacheInfo
    mode: Literal["credit", "cache_only"] | str
    job_id: str
    status: Literal["SUCCEEDED", "FAILED", "CANCELED"] | str
    created_at: datetime
    deadline_at: datetime
    links: Links
    charged: Decimal
    error: JobFailure | None
    result: FullResult | CacheOnlyResult | None = None


class JobRepeated(Answer):
    """200: the request was made before, and this is its job."""

    job_id: str
    status: Literal["QUEUED", "RUNNING", "SUCCEEDED", "FAILED", "CANCELED"] | str
    idempotent: Literal[True]
    original_request_at: datetime
    message: str


class Progress(Answer):
    """How far a job is; numbers are None until they are known."""

    stage: Literal["queued", "stage1", "stage2", "stage3", "ended"] | str
    claims_total: int | None
    claims_done: int | None


class WebhookState(Answer):
    """Whether a message is due at the job's end."""

    state: Literal["pending", "none"] | str


class JobView(Answer):
    """`GET /v1/jobs/{id}`. After `expires_at` result and report are gone."""

    job_id: str
    status: Literal["QUEUED", "RUNNING", "SUCCEEDED", "FAILED", "CANCELED"] | str
    created_at: datetime
    updated_at: datetime
    mode: Literal["credit", "cache_only"] | str
    options: ChosenOptions
    client: EchoedLabels
    links: Links
    deadline_at: datetime
    progress: Progress
    ended_at: datetime | None
    expires_at: datetime | None
    charged: Decimal | None
    error: JobFailure | None
    webhook: WebhookState | None


class ProblemDocument(Answer):
    """The body of every error but 402."""

    type: str
    title: str
    status: int
    detail: str
    instance: str
    error: ErrorBody


class PublicKey(Answer):
    """One key. `x` is the public point; `kid` is the key's thumbprint (RFC 7638)."""

    kty: Literal["OKP"]
    crv: Literal["Ed25519"]
    x: str
    kid: str
    use: Literal["sig"]


class PublicKeys(Answer):
    """`GET /.well-known/openerrata-receipts.json`. Replaced keys stay listed."""

    keys: tuple[PublicKey, ...]


Result = Annotated[FullResult | CacheOnlyResult, Field(discriminator="status")]
"""What `…/result` answers."""

API_VERSION: Final = "2026-12-01"
"""The dated version of the interface that this module describes."""

ADVICE: Final[Mapping[str, str]] = {
    "VALIDATION_ERROR": "Send it again when it is corrected, under another idempotency key if it had one.",
    "UNKNOWN_VERSION": "OpenErrata-Version takes the dates that the details list. Without the header the oldest one answers.",
    "INVALID_IDEMPOTENCY_KEY": "Idempotency-Key takes 1 to 255 visible ASCII characters, bare or as a quoted string, and only once.",
    "INPUT_TOO_LONG": "A text has at most 10,000 words and 100,000 characters. Send a part of it.",
    "NO_WEBHOOK_SECRET": "Messages to webhook_url are signed. Ask the operator for a secret, or leave the address out.",
    "UNKNOWN_PROVIDER": "GET /admin/v1/llm/config lists the providers of this instance.",
    "UNAUTHENTICATED": "Send Authorization: Bearer with an active key of an account. The operator makes accounts and keys.",
    "CREDIT_LIMIT_REACHED": "Cached analyses are still available: resubmit with cache_preference allow_partial or cache_only, or wait until reset_date.",
    "FORBIDDEN": "The key lacks the right, or the account's role the permission.",
    "NOT_FOUND": "The address or the id is wrong, or it belongs to another account.",
    "METHOD_NOT_ALLOWED": "The header Allow lists the methods of this address.",
    "REQUEST_TIMEOUT": "Send it again.",
    "NOT_READY": "Ask again after Retry-After seconds, wait with Prefer: wait=60, or follow the job's events.",
    "NO_RESULT": "It failed or was cancelled; the details say why. A new job may work.",
    "EXPIRED": "Results are kept for 24 hours. The claims' analyses are still cached.",
    "PAYLOAD_TOO_LARGE": "A body has at most 512 KiB.",
    "UNSUPPORTED_MEDIA_TYPE": "Send JSON with Content-Type: application/json.",
    "RATE_LIMITED": "Try again after Retry-After seconds. RateLimit-Policy and RateLimit say how many are left.",
    "EXTRACTION_QUOTA": "Without credit 50 articles a day are looked up in the cache. The count starts anew at midnight UTC.",
    "TOO_MANY_OPEN_JOBS": "Wait until one has ended, or cancel one.",
    "INTERNAL": "This is our mistake. Try again later.",
    "SERVICE_UNAVAILABLE": "Try again after Retry-After seconds.",
}
"""What to do about each problem, by its code."""
