"""The rows that every provider's answer is read into.

A tool call's raw payload is the whole item as the provider sent it; the other fields are read from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from pydantic import JsonValue

from kit.models.prices import Spent


@dataclass(frozen=True, slots=True)
class Annotation:
    """A citation. Units: `start_index` and `end_index` as the provider counts them."""

    annotation_index: int
    annotation_type: str
    start_index: int | None = None
    end_index: int | None = None
    url: str | None = None
    title: str | None = None
    file_id: str | None = None


@dataclass(frozen=True, slots=True)
class TextPart:
    """A piece of the model's output; `part_type` is `output_text` or `refusal`."""

    part_index: int
    part_type: str
    text: str
    annotations: tuple[Annotation, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of any tool, the provider's or ours."""

    tool_type: str
    provider_tool_call_id: str | None
    status: str | None
    raw_payload: dict[str, JsonValue]
    captured_at: datetime | None


@dataclass(frozen=True, slots=True)
class OutputItem:
    """One item of an answer. Shapes: `provider_item_id` and `item_status` are both given or both None."""

    output_index: int
    item_type: str
    provider_item_id: str | None = None
    item_status: str | None = None
    text_parts: tuple[TextPart, ...] = ()
    reasoning_summaries: tuple[str, ...] = ()
    tool_call: ToolCall | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """The parsed answer to one request."""

    items: tuple[OutputItem, ...] = ()
    response_id: str | None = None
    status: str | None = None
    version: str | None = None
    text: str | None = None
    spent: Spent | None = None


def as_text(value: object) -> str | None:
    """`value` if it is a text, else None."""
    return value if isinstance(value, str) else None


def as_count(value: object) -> int | None:
    """`value` if it is an integer of 0 or more, else None."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
