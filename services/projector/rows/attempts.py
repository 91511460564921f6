"""Attempts, and what was exchanged with a model in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal
from uuid import UUID

from services.projector.rows.table import AnyTable, Row, Table, columns_but, row

State = Literal["read", "missing", "unreadable", "too_large"]


Part = tuple[AnyTable, Row]


@dataclass(frozen=True, slots=True)
class Exchange:
    """The content of one transcript, or why there is none; the other fields are empty unless `state` is `read`.

    Shapes: `head` has the columns of `ModelExchange`, `review` those of a review beside them. `parts` makes the rows of
    an attempt, each with its table, from its id, the transcript's hash, and when the attempt's end was published.
    """

    state: State
    head: Mapping[str, object] = field(default_factory=dict)
    review: Mapping[str, object] = field(default_factory=dict)
    parts: Callable[[UUID, str, datetime], Iterator[Part]] = lambda attempt, hash_, at: iter(())


@dataclass(kw_only=True)
class ModelExchange:
    """The exchange with a model. Shapes: texts are set exactly if the transcript was `read`."""

    request_model: str | None = None
    request_instructions: str | None = None
    request_input: str | None = None
    request_reasoning_effort: str | None = None
    request_reasoning_summary: str | None = None
    response_id: str | None = None
    response_status: str | None = None
    response_model_version: str | None = None
    response_output_text: str | None = None
    transcript_hash: str | None = None
    transcript_state: str | None = None

    def set_transcript(self, transcript: str, exchange: Exchange) -> None:
        """Set the columns of a transcript."""
        self.transcript_hash, self.transcript_state = transcript, exchange.state
        vars(self).update(exchange.head)


@dataclass(kw_only=True)
class Attempt(ModelExchange):
    """One attempt, from its beginning on."""

    id: UUID
    investigation_id: UUID
    attempt_number: int
    round: int
    outcome: str | None = None
    prompt_hash: str
    content_hash: str
    started_at: datetime
    completed_at: datetime | None = None


@row
class AttemptUsage:
    """What an attempt cost."""

    attempt_id: UUID
    input_tokens: int
    output_tokens: int
    total_tokens: int
    cached_input_tokens: int | None
    reasoning_output_tokens: int | None
    cost_micro_usd: int | None
    created_at: datetime


@row
class AttemptError:
    """How an attempt failed."""

    attempt_id: UUID
    error_name: str
    error_message: str
    status_code: int | None
    created_at: datetime


@row
class RequestedTool:
    """A tool the model was offered."""

    id: UUID
    attempt_id: UUID
    request_order: int
    tool_type: str
    raw_definition: object


@row
class OutputItem:
    """One item of the answers."""

    id: UUID
    attempt_id: UUID
    output_index: int
    provider_item_id: str | None
    item_type: str
    item_status: str | None


@row
class TextPart:
    """A part of the model's text."""

    id: UUID
    output_item_id: UUID
    part_index: int
    part_type: str
    text: str


@row
class Annotation:
    """A citation."""

    id: UUID
    text_part_id: UUID
    annotation_index: int
    annotation_type: str
    start_index: int | None
    end_index: int | None
    url: str | None
    title: str | None
    file_id: str | None


@row
class ReasoningSummary:
    """A summary of the model's reasoning."""

    id: UUID
    output_item_id: UUID
    summary_index: int
    text: str


@row
class ToolCall:
    """A call of the provider's tools or of ours."""

    id: UUID
    attempt_id: UUID
    output_item_id: UUID
    output_index: int
    provider_tool_call_id: str | None
    tool_type: str
    status: str | None
    raw_payload: object
    captured_at: datetime
    provider_started_at: datetime | None
    provider_completed_at: datetime | None


ATTEMPTS: Final = Table(
    "investigation_attempt", Attempt, ("id",), (*columns_but(ModelExchange), "outcome", "completed_at")
)
USAGES: Final = Table(
    "investigation_attempt_usage", AttemptUsage, ("attempt_id",), columns_but(AttemptUsage, "attempt_id")
)
ERRORS: Final = Table("investigation_attempt_error", AttemptError, ("attempt_id",))
REQUESTED_TOOLS: Final = Table("investigation_attempt_requested_tool", RequestedTool, ("id",))
OUTPUT_ITEMS: Final = Table("investigation_attempt_output_item", OutputItem, ("id",))
TEXT_PARTS: Final = Table("investigation_attempt_text_part", TextPart, ("id",))
ANNOTATIONS: Final = Table("investigation_attempt_annotation", Annotation, ("id",))
REASONING_SUMMARIES: Final = Table("investigation_attempt_reasoning_summary", ReasoningSummary, ("id",))
TOOL_CALLS: Final = Table("investigation_attempt_tool_call", ToolCall, ("id",))

ATTEMPT_TABLES: Final[tuple[AnyTable, ...]] = (
    ATTEMPTS,
    REQUESTED_TOOLS,
    OUTPUT_ITEMS,
    TEXT_PARTS,
    ANNOTATIONS,
    REASONING_SUMMARIES,
    TOOL_CALLS,
    USAGES,
    ERRORS,
)
"""Parents before children, as foreign keys require."""
