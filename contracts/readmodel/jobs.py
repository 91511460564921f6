"""Audits of articles: jobs with their claims, the runs that were paid for, credit, and the operator's configuration.

No table has words of an article: an account's request and its result are texts that expire, and only their hashes are
here.
Money is in millionths of a US dollar.
"""

from __future__ import annotations

from typing import Final, get_args

from sqlalchemy import (
    CheckConstraint,
    Index,
    PrimaryKeyConstraint,
    Table,
)
from sqlalchemy import text as sql

from contracts.readmodel.columns import (
    READMODEL,
    boolean,
    day,
    document,
    key,
    money,
    number,
    one_of,
    real,
    ref,
    sequence,
    text,
    texts,
    timestamp,
    uuid,
)
from contracts.v1.credit import CreditEntry
from contracts.v1.job import LookOutcome, Mode

job: Final = Table(
    "job",
    READMODEL,
    key(),
    uuid("account_id"),
    uuid("period_id", null=True),
    text("mode"),
    text("status"),
    document("options"),
    text("options_hash"),
    text("input_type"),
    text("content_sha256", null=True),
    money("reserved_micro_usd"),
    document("prices"),
    boolean("has_webhook"),
    timestamp("deadline_at"),
    timestamp("created_at"),
    timestamp("fetched_at", null=True),
    number("characters", null=True),
    text("language", null=True),
    day("reference_day", null=True),
    document("stages", null=True),
    number("score_epoch", null=True),
    timestamp("extracted_at", null=True),
    uuid("memo_id", null=True),
    uuid("memo_of", null=True),
    document("extraction", null=True),
    timestamp("planned_at", null=True),
    timestamp("resolved_at", null=True),
    boolean("complete", null=True),
    timestamp("ended_at", null=True),
    text("code", null=True),
    document("result", null=True),
    text("overall_verdict", null=True),
    real("credibility_score", null=True),
    text("risk_tier", null=True),
    text("publication_mode", null=True),
    boolean("requires_review", null=True),
    money("charged_micro_usd", null=True),
    number("from_cache", null=True),
    number("newly_analysed", null=True),
    texts("stages_cached", null=True),
    one_of("mode", get_args(Mode)),
    one_of("status", ("QUEUED", "RUNNING", "SUCCEEDED", "FAILED", "CANCELED")),
    CheckConstraint("(status IN ('QUEUED', 'RUNNING')) = (ended_at IS NULL)", name="ended"),
    CheckConstraint("(status = 'SUCCEEDED') = (result IS NOT NULL)", name="result"),
    CheckConstraint("(status = 'FAILED') = (code IS NOT NULL)", name="code"),
    Index(None, "account_id", sql("created_at DESC"), "id"),
    Index(None, "memo_id", postgresql_where=sql("status = 'SUCCEEDED'")),
    Index("job_ended_idx", "ended_at", postgresql_where=sql("ended_at IS NOT NULL")),
    Index("job_open_idx", "deadline_at", postgresql_where=sql("ended_at IS NULL")),
    comment="One audit of an article. `extraction` and `result` name texts that lie under until/ in the blob store and "
    "expire at their hour; the row does not change then",
    postgresql_with={"fillfactor": 70},
)

job_claim: Final = Table(
    "job_claim",
    READMODEL,
    ref("job_id", "job.id", cascade=True),
    number("number"),
    uuid("assertion_id"),
    text("claim_hash"),
    boolean("central"),
    text("claim_type"),
    text("evaluability"),
    text("risk_tier"),
    text("domain"),
    text("volatility"),
    text("anchor", null=True),
    text("outcome", null=True),
    uuid("run_id", null=True),
    uuid("analysis_id", null=True),
    boolean("stale"),
    text("failure", null=True),
    PrimaryKeyConstraint("job_id", "number"),
    one_of("outcome", get_args(LookOutcome)),
    Index(None, "assertion_id"),
    comment="A claim of an article: what the claim cache answered (`outcome`), and the analysis that serves it or why "
    "there is none; neither: it was a miss",
)

run_attempt: Final = Table(
    "run_attempt",
    READMODEL,
    uuid("run_id"),
    number("attempt"),
    text("step"),
    uuid("subject_id"),
    text("worker"),
    number("delivery_count"),
    text("prompt_version"),
    text("prompt_hash"),
    text("provider"),
    text("model"),
    text("rules"),
    money("cost_limit_micro_usd", null=True),
    timestamp("started_at"),
    number("calls"),
    number("input_tokens"),
    number("output_tokens"),
    number("total_tokens"),
    number("cached_input_tokens", null=True),
    number("reasoning_output_tokens", null=True),
    money("cost_micro_usd", null=True),
    text("outcome", null=True),
    text("answered_by", null=True),
    text("failure", null=True),
    text("reason", null=True),
    number("status_code", null=True),
    text("error_name", null=True),
    timestamp("retry_at", null=True),
    timestamp("completed_at", null=True),
    PrimaryKeyConstraint("run_id", "attempt"),
    one_of("outcome", ("SUCCEEDED", "FAILED")),
    CheckConstraint("(outcome IS NULL) = (completed_at IS NULL)", name="completed"),
    CheckConstraint("(outcome IS NOT DISTINCT FROM 'FAILED') = (failure IS NOT NULL)", name="failure"),
    Index(None, "subject_id"),
    Index(None, "started_at"),
    Index("run_attempt_failed_idx", "completed_at", postgresql_where=sql("outcome = 'FAILED'")),
    comment="A paid try of a step; `subject_id` is the job or the assertion, the texts are nowhere here. "
    "`cost_micro_usd` NULL: the model's price is not known, or nothing was answered yet",
    postgresql_with={"fillfactor": 70},
)

credit_period: Final = Table(
    "credit_period",
    READMODEL,
    key("period_id"),
    uuid("account_id"),
    text("month"),
    money("limit_micro_usd", null=True),
    boolean("hard"),
    money("used_micro_usd"),
    money("reserved_micro_usd"),
    number("open_jobs"),
    day("extraction_day", null=True),
    number("extractions"),
    sequence(),
    timestamp("updated_at"),
    Index(None, "account_id", "month", unique=True),
    comment="An account's credit of one month, as its newest entry, of this `sequence`, left it",
    postgresql_with={"fillfactor": 70},
)

credit_entry: Final = Table(
    "credit_entry",
    READMODEL,
    ref("period_id", "credit_period.period_id", cascade=True),
    uuid("cause_id"),
    text("entry"),
    money("micro_usd"),
    money("used_micro_usd"),
    sequence(),
    timestamp("posted_at"),
    PrimaryKeyConstraint("period_id", "cause_id", "entry"),
    one_of("entry", get_args(CreditEntry)),
    Index(None, "cause_id"),
    comment="One entry of a period. `cause_id` is the job, of ADJUSTED the correction itself; `used_micro_usd` is what "
    "was used of the period after it",
)

stage_config: Final = Table(
    "stage_config",
    READMODEL,
    text("stage", primary_key=True),
    text("provider"),
    text("model"),
    number("max_tokens"),
    real("temperature"),
    uuid("configured_by"),
    timestamp("configured_at"),
    sequence(),
    comment="The model of a step of audits that an operator chose; without a row the environment decides",
)

purge: Final = Table(
    "purge",
    READMODEL,
    text("what", primary_key=True),
    text("slot"),
    timestamp("before"),
    timestamp("purged_at"),
    comment="Up to when words of one sort are deleted: all that were kept until `before` at the latest",
)

erased_entity: Final = Table(
    "erased_entity",
    READMODEL,
    key("entity_id"),
    uuid("erasure_id"),
    text("reason"),
    timestamp("erased_at"),
    comment="Jobs, assertions and accounts that were erased; later facts about them are not applied",
)
