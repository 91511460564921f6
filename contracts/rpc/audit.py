"""How a finished investigation came about, as anybody may read it: what was asked, what was tried, what became of each
candidate.

Of candidates that were not published it tells what stopped them and nothing of what they said.
"""

from __future__ import annotations

from uuid import UUID

from pydantic import ConfigDict, Json, JsonValue

from contracts.rpc.values import Instant, Wire


class Told(Wire):
    """Base of what is only ever sent, read from rows that know more than is told."""

    model_config = ConfigDict(extra="ignore", strict=False)


class PromptText(Told):
    """The instructions, word for word."""

    version: str
    hash: str
    text: str


class ToolCall(Told):
    """One call of a tool; `payload` as it was recorded."""

    index: int
    tool: str
    status: str | None
    payload: Json[JsonValue]
    captured_at: Instant


class AttemptFault(Told):
    """What ended an attempt."""

    name: str
    message: str
    status_code: int | None
    at: Instant


class TokenUsage(Told):
    """What an attempt consumed."""

    input_tokens: int
    output_tokens: int
    total_tokens: int


class Attempt(Told):
    """One attempt of a model. Shapes: `transcript_hash` names the record from which all of this can be read again."""

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


class Verdict(Told):
    """What became of one candidate; `gate` is what stopped it."""

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


class Audit(Told):
    """The whole way to a result."""

    analysis: str
    round: int
    requested_by: str | None
    queued_at: Instant
    parent_investigation_id: UUID | None
    content_hash: str
    markdown_source: str
    renderer_version: str | None
    prompt: PromptText
    attempts: tuple[Attempt, ...]
    validation: tuple[Verdict, ...]
    proposed_count: int
    approved_count: int
    rejected_count: int
    failed_count: int
