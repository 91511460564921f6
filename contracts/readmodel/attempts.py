"""The audit of every attempt: request, response, cost and error.

A row per attempt is updated while the attempt runs; its parts (tools, items, citations, summaries, calls) come from the
stored transcript, from which they can be rebuilt. A review is one request and one response, so it is a single row.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import CheckConstraint, Column, Index, Table, UniqueConstraint
from sqlalchemy import text as sql

from contracts.readmodel.columns import READMODEL, document, key, money, number, one_of, ref, text, timestamp

TRANSCRIPT_STATE: Final = ("read", "missing", "unreadable", "too_large")

attempt: Final = Table(
    "investigation_attempt",
    READMODEL,
    key(),
    ref("investigation_id", "investigation.id", cascade=True),
    number("attempt_number"),
    number("round"),
    text("outcome", null=True),
    ref("prompt_hash", "prompt.hash"),
    text("content_hash"),
    text("request_model"),
    text("request_instructions", null=True),
    text("request_input", null=True),
    text("request_reasoning_effort", null=True),
    text("request_reasoning_summary", null=True),
    text("response_id", null=True),
    text("response_status", null=True),
    text("response_model_version", null=True),
    text("response_output_text", null=True),
    text("transcript_hash", null=True),
    text("transcript_state", null=True),
    timestamp("started_at"),
    timestamp("completed_at", null=True),
    UniqueConstraint("investigation_id", "attempt_number"),
    one_of("outcome", ("SUCCEEDED", "FAILED")),
    CheckConstraint("(outcome IS NULL) = (completed_at IS NULL)", name="completed"),
    Index(None, "investigation_id", "started_at"),
    one_of("transcript_state", TRANSCRIPT_STATE),
    CheckConstraint("(transcript_state IS NULL) = (transcript_hash IS NULL)", name="transcript"),
    CheckConstraint(
        "num_nonnulls(request_instructions, request_input) = CASE transcript_state WHEN 'read' THEN 2 ELSE 0 END",
        name="request",
    ),
    comment="What was sent and what came back; the exact texts are there once the transcript was read. It lies in the "
    "blob store by its hash: sha256/<transcript_hash>, or for a long one "
    "answers/<investigation_id>/.../<transcript_hash>. A transcript that is not `read` left no further rows",
    postgresql_with={"fillfactor": 80},
)


def _parent_ref(table: str) -> Column[object]:
    return ref(f"{table.removeprefix('investigation_')}_id", f"{table}.id", cascade=True)


requested_tool: Final = Table(
    "investigation_attempt_requested_tool",
    READMODEL,
    key(),
    _parent_ref("investigation_attempt"),
    number("request_order"),
    text("tool_type"),
    document("raw_definition"),
    UniqueConstraint("attempt_id", "request_order"),
)

output_item: Final = Table(
    "investigation_attempt_output_item",
    READMODEL,
    key(),
    _parent_ref("investigation_attempt"),
    number("output_index"),
    text("provider_item_id", null=True),
    text("item_type"),
    text("item_status", null=True),
    UniqueConstraint("attempt_id", "output_index"),
)

text_part: Final = Table(
    "investigation_attempt_text_part",
    READMODEL,
    key(),
    ref("output_item_id", "investigation_attempt_output_item.id", cascade=True),
    number("part_index"),
    text("part_type"),
    text("text"),
    UniqueConstraint("output_item_id", "part_index"),
)

annotation: Final = Table(
    "investigation_attempt_annotation",
    READMODEL,
    key(),
    ref("text_part_id", "investigation_attempt_text_part.id", cascade=True),
    number("annotation_index"),
    text("annotation_type"),
    number("start_index", null=True),
    number("end_index", null=True),
    text("url", null=True),
    text("title", null=True),
    text("file_id", null=True),
    UniqueConstraint("text_part_id", "annotation_index"),
)

reasoning_summary: Final = Table(
    "investigation_attempt_reasoning_summary",
    READMODEL,
    key(),
    ref("output_item_id", "investigation_attempt_output_item.id", cascade=True),
    number("summary_index"),
    text("text"),
    UniqueConstraint("output_item_id", "summary_index"),
)

tool_call: Final = Table(
    "investigation_attempt_tool_call",
    READMODEL,
    key(),
    _parent_ref("investigation_attempt"),
    ref("output_item_id", "investigation_attempt_output_item.id", cascade=True),
    number("output_index"),
    text("provider_tool_call_id", null=True),
    text("tool_type"),
    text("status", null=True),
    document("raw_payload"),
    timestamp("captured_at"),
    timestamp("provider_started_at", null=True),
    timestamp("provider_completed_at", null=True),
    UniqueConstraint("attempt_id", "output_index"),
    UniqueConstraint("output_item_id"),
    comment="A call of the provider's tools or of ours; of ours it is known when they were carried out",
)

usage: Final = Table(
    "investigation_attempt_usage",
    READMODEL,
    ref("attempt_id", "investigation_attempt.id", primary_key=True, cascade=True),
    number("input_tokens"),
    number("output_tokens"),
    number("total_tokens"),
    number("cached_input_tokens", null=True),
    number("reasoning_output_tokens", null=True),
    money("cost_micro_usd", null=True),
    timestamp("created_at"),
)

error: Final = Table(
    "investigation_attempt_error",
    READMODEL,
    ref("attempt_id", "investigation_attempt.id", primary_key=True, cascade=True),
    text("error_name"),
    text("error_message"),
    number("status_code", null=True),
    timestamp("created_at"),
)

review: Final = Table(
    "claim_review",
    READMODEL,
    key(),
    ref("claim_id", "claim_candidate.claim_id", cascade=True),
    number("round"),
    text("outcome"),
    text("gate", null=True),
    text("reason", null=True),
    number("status_code", null=True),
    text("request_model", null=True),
    text("request_instructions", null=True),
    text("request_input", null=True),
    text("request_reasoning_effort", null=True),
    text("request_reasoning_summary", null=True),
    document("requested_tools", null=True),
    document("output_items", null=True),
    text("response_id", null=True),
    text("response_status", null=True),
    text("response_model_version", null=True),
    text("response_output_text", null=True),
    number("input_tokens"),
    number("output_tokens"),
    number("total_tokens"),
    number("cached_input_tokens", null=True),
    number("reasoning_output_tokens", null=True),
    money("cost_micro_usd", null=True),
    text("transcript_hash", null=True),
    text("transcript_state", null=True),
    timestamp("started_at", null=True),
    timestamp("completed_at", null=True),
    timestamp("decided_at"),
    number("attempt"),
    ref("prompt_hash", "prompt.hash", null=True),
    document("gates"),
    UniqueConstraint("claim_id", "round", "attempt"),
    Index("claim_review_rejected_idx", "decided_at", "gate", postgresql_where=sql("outcome = 'REJECTED'")),
    one_of("outcome", ("APPROVED", "REJECTED", "FAILED", "RETRIED")),
    one_of("transcript_state", TRANSCRIPT_STATE),
    CheckConstraint("(transcript_state IS NULL) = (transcript_hash IS NULL)", name="transcript"),
    comment="The verdict on a candidate in one round, and the exchange with the model that was asked for it, if one "
    "was; before it, RETRIED and numbered by `attempt`, what failed for now. `output_items`: as the parts of an "
    "attempt, with text_parts, annotations, reasoning_summaries and tool_call. `gates`: [{gate, outcome, code}], in "
    "their order",
)
