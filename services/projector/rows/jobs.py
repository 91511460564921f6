"""Audits: jobs with their claims, runs, credit, and what an operator configured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Final
from uuid import UUID

from services.projector.rows.table import AnyTable, Table, columns_but, row


@dataclass(kw_only=True)
class Job:
    """One audit of an article."""

    id: UUID
    account_id: UUID
    period_id: UUID | None
    mode: str
    status: str = "QUEUED"
    options: Mapping[str, object]
    options_hash: str
    input_type: str
    content_sha256: str | None
    reserved_micro_usd: int
    prices: Mapping[str, object]
    has_webhook: bool
    deadline_at: datetime
    created_at: datetime
    fetched_at: datetime | None = None
    characters: int | None = None
    language: str | None = None
    reference_day: date | None = None
    stages: Sequence[Mapping[str, object]] | None = None
    score_epoch: int | None = None
    extracted_at: datetime | None = None
    memo_id: UUID | None = None
    memo_of: UUID | None = None
    extraction: Mapping[str, object] | None = None
    planned_at: datetime | None = None
    resolved_at: datetime | None = None
    complete: bool | None = None
    ended_at: datetime | None = None
    code: str | None = None
    result: Mapping[str, object] | None = None
    overall_verdict: str | None = None
    credibility_score: float | None = None
    risk_tier: str | None = None
    publication_mode: str | None = None
    requires_review: bool | None = None
    charged_micro_usd: int | None = None
    from_cache: int | None = None
    newly_analysed: int | None = None
    stages_cached: Sequence[str] | None = None


@dataclass(kw_only=True)
class JobClaim:
    """A claim of an article, what the claim cache answered, and what serves it in the end."""

    job_id: UUID
    number: int
    assertion_id: UUID
    claim_hash: str
    central: bool
    claim_type: str
    evaluability: str
    risk_tier: str
    domain: str
    volatility: str
    anchor: str | None
    outcome: str | None = None
    run_id: UUID | None = None
    analysis_id: UUID | None = None
    stale: bool = False
    failure: str | None = None


@dataclass(kw_only=True)
class RunAttempt:
    """One attempt of a run, which is paid for."""

    run_id: UUID
    attempt: int
    step: str
    subject_id: UUID
    worker: str
    delivery_count: int
    prompt_version: str
    prompt_hash: str
    provider: str
    model: str
    rules: str
    cost_limit_micro_usd: int | None
    started_at: datetime
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    total_tokens: int = 0
    cached_input_tokens: int | None = None
    reasoning_output_tokens: int | None = None
    cost_micro_usd: int | None = None
    outcome: str | None = None
    answered_by: str | None = None
    failure: str | None = None
    reason: str | None = None
    status_code: int | None = None
    error_name: str | None = None
    retry_at: datetime | None = None
    completed_at: datetime | None = None


@row
class CreditPeriod:
    """An account's credit of one month."""

    period_id: UUID
    account_id: UUID
    month: str
    limit_micro_usd: int | None
    hard: bool
    used_micro_usd: int
    reserved_micro_usd: int
    open_jobs: int
    extraction_day: date | None
    extractions: int
    sequence: int
    updated_at: datetime


@row
class CreditEntry:
    """One entry of a period."""

    period_id: UUID
    cause_id: UUID
    entry: str
    micro_usd: int
    used_micro_usd: int
    sequence: int
    posted_at: datetime


@row
class StageConfig:
    """The model of a step that an operator chose."""

    stage: str
    provider: str
    model: str
    max_tokens: int
    temperature: float
    configured_by: UUID
    configured_at: datetime
    sequence: int


@row
class Purge:
    """The newest purge of one kind of words: all up to `before` are deleted."""

    what: str
    slot: str
    before: datetime
    purged_at: datetime


JOBS: Final = Table(
    "job",
    Job,
    ("id",),
    columns_but(
        Job,
        *("id", "account_id", "period_id", "mode", "options", "options_hash", "input_type"),
        *("reserved_micro_usd", "prices", "has_webhook", "deadline_at", "created_at"),
    ),
)
JOB_CLAIMS: Final = Table(
    "job_claim", JobClaim, ("job_id", "number"), ("outcome", "run_id", "analysis_id", "stale", "failure")
)
RUN_ATTEMPTS: Final = Table(
    "run_attempt",
    RunAttempt,
    ("run_id", "attempt"),
    columns_but(
        RunAttempt,
        *("run_id", "attempt", "step", "subject_id", "worker", "delivery_count", "prompt_version", "prompt_hash"),
        *("provider", "model", "rules", "cost_limit_micro_usd", "started_at"),
    ),
)
CREDIT_PERIODS: Final = Table(
    "credit_period", CreditPeriod, ("period_id",), columns_but(CreditPeriod, "period_id", "account_id", "month")
)
CREDIT_ENTRIES: Final = Table("credit_entry", CreditEntry, ("period_id", "cause_id", "entry"))
STAGE_CONFIGS: Final = Table("stage_config", StageConfig, ("stage",), columns_but(StageConfig, "stage"))
PURGES: Final = Table("purge", Purge, ("what",), columns_but(Purge, "what"))

JOB_TABLES: Final[tuple[AnyTable, ...]] = (
    JOBS,
    JOB_CLAIMS,
    RUN_ATTEMPTS,
    CREDIT_PERIODS,
    CREDIT_ENTRIES,
    STAGE_CONFIGS,
    PURGES,
)
