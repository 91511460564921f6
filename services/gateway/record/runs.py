"""Rows of an audit: a run, its attempts and its candidates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from pydantic import JsonValue


@dataclass(frozen=True, slots=True)
class Prompt:
    """The instructions to the model, word for word."""

    version: str
    hash: str
    text: str


@dataclass(frozen=True, slots=True)
class VerificationFailure:
    """Why the site could not confirm the text, as a short code."""

    reason: str
    failed_at: datetime


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """The tokens that an attempt used."""

    input_tokens: int
    output_tokens: int
    total_tokens: int
    cached_input_tokens: int | None = None
    reasoning_output_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class AttemptError:
    """The error that ended an attempt."""

    name: str
    message: str
    status_code: int | None
    at: datetime


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of a tool; `payload` as it was recorded, as JSON."""

    index: int
    tool: str
    status: str | None
    payload: str
    captured_at: datetime


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that the model was offered; `definition` as JSON."""

    type: str
    definition: str


@dataclass(frozen=True, slots=True)
class Request:
    """The model's first request. Units: `input_characters` is the whole length where `input` is cut."""

    instructions: str
    input: str
    input_characters: int
    tools: tuple[Tool, ...]
    reasoning_effort: str | None
    reasoning_summary: str | None


@dataclass(frozen=True, slots=True)
class Citation:
    """A page that the provider's own search returned for citation."""

    type: str
    url: str | None
    title: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """The exchange with the model in one attempt. `request`: None if no transcript could be read."""

    number: int
    request: Request | None
    reasoning_summaries: tuple[str, ...]
    citations: tuple[Citation, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One attempt of a model; the last three fields are of its exchange."""

    number: int
    outcome: str | None
    requested_model: str
    answered_by_model: str | None
    prompt_hash: str
    input_hash: str
    transcript_hash: str | None
    output_text: str | None
    started_at: datetime
    completed_at: datetime | None
    usage: TokenUsage | None
    error: AttemptError | None
    tool_calls: tuple[ToolCall, ...]
    request: Request | None = None
    reasoning_summaries: tuple[str, ...] = ()
    citations: tuple[Citation, ...] = ()

    def with_exchange(self, found: Exchange | None) -> Attempt:
        """The attempt with its exchange, if there is one."""
        if found is None:
            return self
        return replace(
            self, request=found.request, reasoning_summaries=found.reasoning_summaries, citations=found.citations
        )


@dataclass(frozen=True, slots=True)
class ReviewFailure:
    """A review that ended without a verdict."""

    round: int
    reason: str
    status_code: int | None
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class GateOutcome:
    """The outcome of a gate that decides by code, for a candidate."""

    gate: str
    outcome: str
    code: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """The state of one candidate; `gate` is the gate that rejected it, `payload` what the model submitted.

    Shapes: `gates` are the outcomes of gates that decide by code, in their order.
    """

    claim_id: UUID
    attempt: int | None
    state: str
    gate: str | None
    proposed_at: datetime
    decided_at: datetime | None
    retained_from: UUID | None
    model: str | None
    total_tokens: int | None
    transcript_hash: str | None
    failures: tuple[ReviewFailure, ...]
    gates: tuple[GateOutcome, ...]
    payload: JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The audit of one investigation. Only updates have a `content_diff`."""

    analysis: str
    round: int
    requested_by: str | None
    queued_at: datetime
    parent_investigation_id: UUID | None
    content_diff: str | None
    content_hash: str
    markdown_source: str
    renderer_version: str | None
    prompt: Prompt
    verification_failure: VerificationFailure | None
    model_text_withheld: bool = False
    attempts: tuple[Attempt, ...] = ()
    validation: tuple[Candidate, ...] = ()

    def with_parts(self, attempts: Sequence[Attempt], validation: Sequence[Candidate]) -> Run:
        """The run with its attempts and candidates."""
        return replace(self, attempts=tuple(attempts), validation=tuple(validation))

    @property
    def proposed_count(self) -> int:
        """The number of candidates."""
        return len(self.validation)

    @property
    def approved_count(self) -> int:
        """The number of published candidates."""
        return self._count("APPROVED")

    @property
    def rejected_count(self) -> int:
        """The number of rejected candidates."""
        return self._count("REJECTED")

    @property
    def failed_count(self) -> int:
        """The number of candidates without a verdict."""
        return self._count("FAILED")

    def _count(self, state: str) -> int:
        return sum(candidate.state == state for candidate in self.validation)


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptSummary:
    """An attempt in numbers. Units: millionths of a US dollar."""

    number: int
    outcome: str | None
    request_model: str
    response_model_version: str | None
    transcript_hash: str | None
    started_at: datetime
    completed_at: datetime | None
    input_tokens: int | None
    output_tokens: int | None
    total_tokens: int | None
    cost_micro_usd: int | None
    error_name: str | None
    tool_calls: int

    @property
    def took_s(self) -> float | None:
        """The attempt's duration; None while it is running."""
        return None if self.completed_at is None else (self.completed_at - self.started_at).total_seconds()


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateSummary:
    """The state of a candidate. Shapes: `gates` as in `Candidate`."""

    claim_id: UUID
    state: str
    gates: tuple[GateOutcome, ...]
    retained: bool
    proposed_at: datetime
    decided_at: datetime | None
