"""Investigations and their results.

`input_id` and `prompt_hash` are empty until the first attempt starts, because the input is frozen only then.
Progress is in `claim_candidate`, one row per candidate, so no writer overwrites newer progress with older. Users' keys
are not here: they are stored encrypted, for minutes, outside the database.
"""

from __future__ import annotations

from typing import Final, get_args

from sqlalchemy import CheckConstraint, Index, PrimaryKeyConstraint, Table, UniqueConstraint
from sqlalchemy import text as sql

from contracts.readmodel.columns import READMODEL, document, key, number, one_of, ref, sequence, text, timestamp, uuid
from contracts.v1.finding import FindingCause, FindingState
from contracts.v1.parts import MarkdownSource, Origin, PictureStatus, Provenance

prompt: Final = Table(
    "prompt",
    READMODEL,
    text("hash", primary_key=True),
    text("version"),
    text("text"),
    timestamp("created_at"),
    UniqueConstraint("version"),
)

investigation_input: Final = Table(
    "investigation_input",
    READMODEL,
    key("investigation_id"),
    text("provenance"),
    text("content_hash"),
    text("markdown_source"),
    text("markdown", null=True),
    text("markdown_renderer_version", null=True),
    timestamp("created_at"),
    one_of("provenance", get_args(Provenance)),
    one_of("markdown_source", get_args(MarkdownSource)),
    CheckConstraint(
        "(markdown_source = 'NONE') = (markdown IS NULL) AND (markdown IS NULL) = (markdown_renderer_version IS NULL)",
        name="markdown",
    ),
)

investigation: Final = Table(
    "investigation",
    READMODEL,
    key(),
    ref("post_version_id", "post_version.id"),
    text("analysis"),
    text("origin"),
    uuid("origin_id", null=True),
    ref("input_id", "investigation_input.investigation_id", null=True),
    ref("parent_investigation_id", "investigation.id", null=True, index=True),
    text("content_diff", null=True),
    text("status"),
    ref("prompt_hash", "prompt.hash", null=True),
    text("provider", null=True),
    text("model", null=True),
    text("model_version", null=True),
    text("rules", null=True),
    document("gates", null=True),
    text("variant", null=True),
    timestamp("checked_at", null=True),
    timestamp("queued_at"),
    timestamp("retry_after", null=True),
    timestamp("failed_at", null=True),
    text("failure", null=True),
    text("failure_reason", null=True),
    number("round"),
    number("attempt_count"),
    text("requested_by", null=True),
    text("key_source", null=True),
    sequence("requested_sequence", null=True),
    timestamp("created_at"),
    timestamp("updated_at"),
    UniqueConstraint("post_version_id", "analysis", "origin", "origin_id", postgresql_nulls_not_distinct=True),
    UniqueConstraint("input_id"),
    one_of("status", ("PENDING", "PROCESSING", "COMPLETE", "FAILED")),
    one_of("origin", get_args(Origin)),
    CheckConstraint("(origin = 'ORIGINAL') = (origin_id IS NULL)", name="origin_id"),
    CheckConstraint("input_id = id", name="input"),
    CheckConstraint(
        "num_nonnulls(input_id, prompt_hash, provider, model) IN (0, 4) "
        "AND (input_id IS NOT NULL OR status IN ('PENDING', 'FAILED'))",
        name="started",
    ),
    CheckConstraint("(checked_at IS NOT NULL) = (status = 'COMPLETE')", name="checked_at"),
    CheckConstraint(
        "num_nonnulls(failed_at, failure, failure_reason) = CASE status WHEN 'FAILED' THEN 3 ELSE 0 END", name="failed"
    ),
    CheckConstraint("parent_investigation_id <> id", name="parent"),
    CheckConstraint("(content_diff IS NOT NULL) = (parent_investigation_id IS NOT NULL)", name="content_diff"),
    Index(None, "status"),
    Index("investigation_variant_idx", "variant", "checked_at"),
    Index(
        "investigation_open_idx",
        "analysis",
        "queued_at",
        postgresql_where=sql("status IN ('PENDING', 'PROCESSING')"),
    ),
    postgresql_with={"fillfactor": 70},
)

investigation_lease: Final = Table(
    "investigation_lease",
    READMODEL,
    ref("investigation_id", "investigation.id", primary_key=True, cascade=True),
    text("lease_owner"),
    number("attempt"),
    timestamp("started_at"),
)

image_blob: Final = Table(
    "image_blob",
    READMODEL,
    text("content_hash", primary_key=True),
    text("storage_key"),
    text("original_url"),
    text("mime_type"),
    number("size_bytes"),
    timestamp("created_at"),
    UniqueConstraint("storage_key"),
)

investigation_image: Final = Table(
    "investigation_image",
    READMODEL,
    ref("investigation_id", "investigation.id", cascade=True),
    ref("content_hash", "image_blob.content_hash", cascade=True, index=True),
    number("image_order"),
    PrimaryKeyConstraint("investigation_id", "content_hash"),
    UniqueConstraint("investigation_id", "image_order"),
)

investigation_picture: Final = Table(
    "investigation_picture",
    READMODEL,
    ref("investigation_id", "investigation.id", cascade=True),
    number("original_index"),
    text("source_url"),
    text("fate"),
    text("content_hash", null=True),
    number("same_as", null=True),
    text("reason", null=True),
    PrimaryKeyConstraint("investigation_id", "original_index"),
    one_of("fate", get_args(PictureStatus)),
    CheckConstraint("(content_hash IS NOT NULL) = (fate = 'used')", name="content_hash"),
    CheckConstraint("(same_as IS NOT NULL) = (fate = 'duplicate')", name="same_as"),
    CheckConstraint("(reason IS NOT NULL) = (fate IN ('omitted', 'unavailable'))", name="reason"),
    comment="What became of every picture of the post when the input was frozen; `reason`: why it was not shown",
)

claim_candidate: Final = Table(
    "claim_candidate",
    READMODEL,
    key("claim_id"),
    ref("investigation_id", "investigation.id", cascade=True, index=True),
    number("attempt", null=True),
    number("ordinal"),
    document("payload"),
    text("state"),
    text("gate", null=True),
    text("reason", null=True),
    uuid("retained_from", null=True),
    timestamp("proposed_at"),
    timestamp("decided_at", null=True),
    one_of("state", ("PENDING", "APPROVED", "REJECTED", "FAILED")),
    CheckConstraint("(state = 'PENDING') = (decided_at IS NULL)", name="decided"),
    comment="Progress: what the model submitted and what became of it. `attempt` NULL: kept from an earlier version",
    postgresql_with={"fillfactor": 70},
)

claim: Final = Table(
    "claim",
    READMODEL,
    key(),
    ref("investigation_id", "investigation.id"),
    number("ordinal"),
    text("text"),
    text("context"),
    text("summary"),
    text("reasoning"),
    timestamp("created_at"),
    UniqueConstraint("investigation_id", "ordinal"),
)

source: Final = Table(
    "source",
    READMODEL,
    ref("claim_id", "claim.id", cascade=True),
    number("ordinal"),
    text("url"),
    text("title"),
    text("snippet"),
    text("snapshot_text", null=True),
    text("snapshot_hash", null=True),
    timestamp("retrieved_at"),
    PrimaryKeyConstraint("claim_id", "ordinal"),
)

corroboration_credit: Final = Table(
    "corroboration_credit",
    READMODEL,
    ref("investigation_id", "investigation.id"),
    text("reporter_key"),
    timestamp("created_at"),
    PrimaryKeyConstraint("investigation_id", "reporter_key"),
)

investigation_doc: Final = Table(
    "investigation_doc",
    READMODEL,
    ref("investigation_id", "investigation.id", primary_key=True),
    ref("post_version_id", "post_version.id"),
    text("analysis"),
    text("provenance"),
    timestamp("checked_at"),
    number("claim_count"),
    document("claims"),
    document("withdrawn"),
    text("variant", null=True),
    Index(
        "investigation_doc_version_idx",
        "post_version_id",
        "analysis",
        sql("checked_at DESC"),
        sql("investigation_id DESC"),
        postgresql_include=["claim_count"],
    ),
    Index("investigation_doc_standing_idx", "variant", "checked_at", postgresql_where=sql("claim_count > 0")),
    comment="One row for each COMPLETE investigation, ready to send; only `finding_state` changes it. "
    "`claims`: [{id, text, context, summary, reasoning, sources: [{url, title, snippet}]}], those that stand; "
    "`claim_count`: how many; `withdrawn`: those that are suspended or retracted",
)

finding_state: Final = Table(
    "finding_state",
    READMODEL,
    ref("claim_id", "claim.id", primary_key=True, cascade=True),
    ref("investigation_id", "investigation.id", index=True),
    text("state"),
    text("cause"),
    text("note"),
    timestamp("changed_at"),
    sequence(),
    one_of("state", get_args(FindingState)),
    one_of("cause", get_args(FindingCause)),
    Index("finding_state_newest_idx", sql("changed_at DESC"), sql("claim_id DESC")),
    comment="What became of published claims that were suspended or retracted at some time. `sequence` is that of the "
    "newest event",
)
