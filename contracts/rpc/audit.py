"""The public audit of a finished investigation: its input, its attempts and the verdict on each candidate.

For candidates that were not published it has the reason, but nothing of their content (decision 0044).
"""

from __future__ import annotations

from uuid import UUID

from pydantic import ConfigDict, Json, JsonValue

from contracts.rpc.values import Instant, Wire


class AuditModel(Wire):
    """Base of answers that are built from rows with more columns."""

    model_config = ConfigDict(extra="ignore", strict=False)


class PromptText(AuditModel):
    """The instructions, word for word."""

    version: str
    hash: str
    text: str


class ToolCall(AuditModel):
    """One call of a tool; `payload` is the recorded call."""

    index: int
    tool: str
    status: str | None
    payload: Json[JsonValue]
    captured_at: Instant


class RequestedTool(AuditModel):
    """A tool that was offered to the model."""

    type: str
    definition: Json[JsonValue]


class AttemptRequest(AuditModel):
    """The first request to the model. Units: `input_characters` is the whole length, even if `input` is cut."""

    instructions: str
    input: str
    input_characters: int
    tools: tuple[RequestedTool, ...]
    reasoning_effort: str | None
    reasoning_summary: str | None


class Citation(AuditModel):
    """A page that the provider's own search returned for citation."""

    type: str
    url: str | None
    title: str | None


class AttemptFault(AuditModel):
    """The error that ended an attempt."""

    name: str
    message: str
    status_code: int | None
    at: Instant


class TokenUsage(AuditModel):
    """The tokens that an attempt used."""

    input_tokens: int
    output_tokens: int
    total_tokens: int


class Attempt(AuditModel):
    """One attempt of a model. Shapes: `transcript_hash` is of the stored transcript, from which the rest is derived."""

    number: int
    outcome: str | None
    requested_model: str
    answered_by_model: str | None
    prompt_hash: str
    input_hash: str
    transcript_hash: str | None
    output_text: str | None
    started_at: Instant
    completed_at: Instant | None
    usage: TokenUsage | None
    error: AttemptFault | None
    tool_calls: tuple[ToolCall, ...]
    request: AttemptRequest | None = None
    reasoning_summaries: tuple[str, ...] = ()
    citations: tuple[Citation, ...] = ()


class ReviewFailure(AuditModel):
    """A review that ended without a verdict."""

    round: int
    reason: str
    status_code: int | None
    at: Instant


class GateOutcome(AuditModel):
    """The result of a gate that decides by code: PASS, or FAIL with a code."""

    gate: str
    outcome: str
    code: str | None


class ValidationResult(AuditModel):
    """The verdict on one candidate; `gate` rejected it, `gates` are the results of those that decide by code."""

    claim_id: UUID
    attempt: int | None
    state: str
    gate: str | None
    proposed_at: Instant
    decided_at: Instant | None
    retained_from: UUID | None
    model: str | None
    total_tokens: int | None
    transcript_hash: str | None
    failures: tuple[ReviewFailure, ...] = ()
    gates: tuple[GateOutcome, ...] = ()


class VerificationFailure(AuditModel):
    """Why the site could not confirm the text, as a short code."""

    reason: str
    failed_at: Instant


class Audit(AuditModel):
    """The audit of one investigation.

    Shapes: only updates have a `content_diff`; `model_text_withheld`: no attempt has `output_text` or
    `reasoning_summaries`, because some of what the model submitted is not published.
    """

    analysis: str
    round: int
    requested_by: str | None
    queued_at: Instant
    parent_investigation_id: UUID | None
    content_diff: str | None = None
    content_hash: str
    markdown_source: str
    renderer_version: str | None
    verification_failure: VerificationFailure | None = None
    model_text_withheld: bool = False
    prompt: PromptText
    attempts: tuple[Attempt, ...]
    validation: tuple[ValidationResult, ...]
    proposed_count: int
    approved_count: int
    rejected_count: int
    failed_count: int
