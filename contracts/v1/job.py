"""The life of one audit of an article, from intake to its end. Its words are in texts that expire (`EphemeralRef`)."""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated, Literal, Self
from uuid import UUID

from pydantic import Field, model_validator

from contracts.v1.codes import Anchor, Code, Language, MicroUsd, Share, Word
from contracts.v1.event import OnceEvent
from contracts.v1.parts import EphemeralRef, Sha256, Value
from contracts.v1.run import RunEnd, StageModel

Mode = Literal["CREDIT", "CACHE_ONLY"]
CachePreference = Literal["PREFER_CACHE", "ALLOW_PARTIAL", "SKIP_CACHE", "CACHE_ONLY"]
Depth = Literal["STANDARD", "DEEP"]
Volatility = Literal["TIMELESS", "DATED", "SLOW", "FAST"]
RiskTier = Literal["A", "B", "C"]
Evaluability = Literal["EVALUABLE", "PARTIALLY_EVALUABLE", "NOT_EVALUABLE"]
LookOutcome = Literal["HIT", "OWN", "JOINED", "MISS", "UNUSABLE"]
JobOutcome = Literal["SUCCEEDED", "FAILED", "CANCELED"]
CachedStage = Literal["EXTRACT", "ANALYSE"]

ClaimNumber = Annotated[int, Field(ge=1, le=10)]
"""A claim's place in its article, from 1: `C1` on the wire."""


class AuditOptions(Value):
    """The options that the account chose; the defaults are the API's. Source: FH-3 to FH-9."""

    browsing: bool = True
    depth: Depth = "STANDARD"
    max_claims: int = Field(default=5, ge=1, le=10)
    scenarios_per_claim: int = Field(default=2, ge=1, le=5)
    max_evidence_per_scenario: int = Field(default=6, ge=3, le=10)
    context_aware_analysis: bool = True
    cache_preference: CachePreference = "PREFER_CACHE"


class AuditPrices(Value):
    """List prices, frozen in the job. Units: millionths of a US dollar; to extract and to assess an article, and to
    analyse a new claim."""

    extract_micro_usd: MicroUsd
    analyse_micro_usd: MicroUsd
    assess_micro_usd: MicroUsd


class ExtractedClaim(Value):
    """A claim of the article without its words. `claim_hash` is the SHA-256 of its canonical text."""

    number: ClaimNumber
    assertion_id: UUID
    claim_hash: Sha256
    central: bool
    claim_type: Word
    evaluability: Evaluability
    risk_tier: RiskTier
    domain: Word
    volatility: Volatility
    anchor: Anchor | None = None


class PlannedClaim(Value):
    """The outcome of a claim's look-up in the cache.

    Shapes: HIT has the `analysis_id` that is used, `stale` if it is past its horizon; OWN and JOINED have the `run_id`
    that the job waits for, requested by this job or by another one, and may have the `analysis_id` to use as stale if
    the run fails; MISS and UNUSABLE have neither.
    """

    number: ClaimNumber
    outcome: LookOutcome
    analysis_id: UUID | None = None
    run_id: UUID | None = None
    stale: bool = False

    @model_validator(mode="after")
    def _refers_to_what_it_says(self) -> Self:
        waits = self.outcome in ("OWN", "JOINED")
        if waits != (self.run_id is not None):
            raise ValueError("exactly OWN and JOINED have a run_id")
        if not waits and (self.outcome == "HIT") != (self.analysis_id is not None):
            raise ValueError("a HIT has an analysis_id, MISS and UNUSABLE have none")
        if self.stale and self.outcome != "HIT":
            raise ValueError("only a HIT is stale")
        return self


class ResolvedClaim(Value):
    """The analysis of a claim, or the code of the failure; neither if it was a miss."""

    number: ClaimNumber
    analysis_id: UUID | None = None
    failure: Code | None = None

    @model_validator(mode="after")
    def _is_one_of_them(self) -> Self:
        if self.analysis_id is not None and self.failure is not None:
            raise ValueError("a claim with an analysis has not failed")
        return self


class JobIdempotencyKeyBound(OnceEvent, subject="job.idempotency_key_bound", key="key_id", identity=("job_id",)):
    """A key names a job of an account until `expires_at`, after which it is free; `follows` is its previous binding.

    `key_id` derives from the account and the SHA-256 of the key. `body_sha256` is of the request's canonical JSON
    (RFC 8785).
    """

    key_id: UUID
    account_id: UUID
    job_id: UUID
    body_sha256: Sha256
    expires_at: datetime


class JobRequested(OnceEvent, subject="job.requested", key="job_id"):
    """An account requests an audit; stored together with the reservation of credit.

    Shapes: `input` has the request with its address or text; `content_sha256` is set if a text was sent. `period_id` is
    the period of the reservation, None exactly in mode CACHE_ONLY. Units: `reserved_micro_usd` is the most that the job
    may charge.
    """

    job_id: UUID
    account_id: UUID
    period_id: UUID | None = None
    mode: Mode
    options: AuditOptions
    options_hash: Sha256
    input_type: Literal["URL", "TEXT"]
    input: EphemeralRef
    content_sha256: Sha256 | None = None
    reserved_micro_usd: MicroUsd
    prices: AuditPrices
    has_webhook: bool = False
    deadline_at: datetime

    @model_validator(mode="after")
    def _only_credit_is_reserved(self) -> Self:
        if (self.mode == "CREDIT") != (self.period_id is not None):
            raise ValueError("mode CREDIT names the period of its reservation, CACHE_ONLY has none")
        if self.mode == "CACHE_ONLY" and self.reserved_micro_usd:
            raise ValueError("mode CACHE_ONLY reserves nothing")
        return self


class JobFetched(OnceEvent, subject="job.fetched", key="job_id"):
    """The article was fetched, and everything that must not change during the job is frozen.

    Shapes: `article` has its text, title, address and author. `reference_day` is the day that "yesterday" counts back
    from. `score_epoch` is the epoch of the publishers' scores to use. Units: `characters` are code points.
    """

    job_id: UUID
    content_sha256: Sha256
    characters: int = Field(ge=1)
    language: Language | None = None
    reference_day: date
    article: EphemeralRef
    stages: tuple[StageModel, ...] = Field(min_length=1)
    score_epoch: int = Field(ge=0)


class JobExtracted(OnceEvent, subject="job.extracted", key="job_id"):
    """The article's claims are known.

    `memo_id` derives from account, article, model and prompt; `memo_of` is the job whose extraction was reused, in
    which case there is no `end`.
    """

    job_id: UUID
    extraction: EphemeralRef
    memo_id: UUID
    memo_of: UUID | None = None
    claims: tuple[ExtractedClaim, ...] = ()
    end: RunEnd | None = None

    @model_validator(mode="after")
    def _was_bought_or_found(self) -> Self:
        if self.end is not None and self.memo_of is not None:
            raise ValueError("an extraction that was taken from another job was not bought in a run")
        return self


class JobPlanned(OnceEvent, subject="job.planned", key="job_id"):
    """Every claim was looked up in the cache, and missing analyses that the job may buy were requested."""

    job_id: UUID
    claims: tuple[PlannedClaim, ...] = ()


class JobResolved(OnceEvent, subject="job.resolved", key="job_id"):
    """No run is awaited any more: every claim has its analysis, has failed or is missing. `complete`: all have one."""

    job_id: UUID
    claims: tuple[ResolvedClaim, ...] = ()
    complete: bool


class JobEnded(OnceEvent, subject="job.ended", key="job_id"):
    """The job is over: of a result, a failure and a cancellation only the first is stored.

    Shapes: SUCCEEDED has a `result`; FAILED has a `code` and charges nothing. `stages_cached` names the steps that cost
    nothing. `end` is that of the last step, if it ran.
    """

    job_id: UUID
    outcome: JobOutcome
    code: Code | None = None
    result: EphemeralRef | None = None
    overall_verdict: Code | None = None
    credibility_score: Share | None = None
    risk_tier: RiskTier | None = None
    publication_mode: Code | None = None
    requires_review: bool | None = None
    charged_micro_usd: MicroUsd
    from_cache: int = Field(default=0, ge=0)
    newly_analysed: int = Field(default=0, ge=0)
    stages_cached: tuple[CachedStage, ...] = ()
    end: RunEnd | None = None

    @model_validator(mode="after")
    def _says_what_its_outcome_needs(self) -> Self:
        if (self.outcome == "SUCCEEDED") != (self.result is not None):
            raise ValueError("exactly a job that SUCCEEDED has a result")
        if (self.outcome == "FAILED") != (self.code is not None):
            raise ValueError("exactly a job that FAILED has a code")
        if self.outcome == "FAILED" and self.charged_micro_usd:
            raise ValueError("a job that FAILED charges nothing")
        return self

    def identity(self) -> str:
        """The outcome, so that another end is refused instead of treated as a repetition."""
        return self.outcome
