"""The rows of a transcript that a fact names.

A fact never depends on its transcript: one that is missing, too large or of unknown format leaves a row that says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

import orjson

from contracts.transcript import Transcript
from contracts.v1.ids import ID_NAMESPACE, derive_uuid
from kit.models.audit import Audit, rows
from kit.models.audit_rows import OutputItem as Item
from services.projector.rows import attempts


@dataclass(frozen=True, slots=True)
class UnreadableTranscript:
    """A transcript that left no rows."""

    state: attempts.State
    head: attempts.Head
    review: attempts.ReviewParts

    def parts(self, attempt: UUID, hash_: str, at: datetime) -> Iterator[attempts.Part]:
        """None."""
        return iter(())


MISSING: Final = UnreadableTranscript("missing", {}, {})
UNREADABLE: Final = UnreadableTranscript("unreadable", {}, {})
TOO_LARGE: Final = UnreadableTranscript("too_large", {}, {})


@dataclass(frozen=True, slots=True)
class ReadTranscript:
    """A transcript that could be read. Shapes: `carried_out` has begin and end of our own tools' calls, by call id."""

    audit: Audit
    carried_out: Mapping[str, tuple[datetime, datetime]]

    @property
    def state(self) -> attempts.State:
        """Read."""
        return "read"

    @property
    def head(self) -> attempts.Head:
        """About the exchange as a whole."""
        audit = self.audit
        return {
            "request_model": audit.request_model,
            "request_instructions": audit.request_instructions,
            "request_input": audit.request_input,
            "request_reasoning_effort": audit.request_reasoning_effort,
            "request_reasoning_summary": audit.request_reasoning_summary,
            "response_id": audit.response_id,
            "response_status": audit.response_status,
            "response_model_version": audit.response_model_version,
            "response_output_text": audit.response_output_text,
        }

    @property
    def review(self) -> attempts.ReviewParts:
        """About it as a review."""
        audit = self.audit
        return {
            "requested_tools": audit.requested_tools,
            "output_items": audit.output_items,
            "started_at": audit.started_at,
            "completed_at": audit.completed_at,
        }

    def parts(self, attempt: UUID, hash_: str, at: datetime) -> Iterator[attempts.Part]:
        """The rows of its parts; parents before children."""
        name = f"{attempt}\x1f{hash_}"
        for tool in self.audit.requested_tools:
            id_ = _make_id("tool", name, tool.request_order)
            row = attempts.RequestedTool(id_, attempt, tool.request_order, tool.tool_type, tool.raw_definition)
            yield attempts.REQUESTED_TOOLS, row
        for item in self.audit.output_items:
            id_ = _make_id("item", name, item.output_index)
            provider_id = item.provider_item_id
            yield (
                attempts.OUTPUT_ITEMS,
                attempts.OutputItem(id_, attempt, item.output_index, provider_id, item.item_type, item.item_status),
            )
            yield from _text_rows(id_, item)
            if item.tool_call is not None:
                call = item.tool_call
                started_at, completed_at = self.carried_out.get(call.provider_tool_call_id or "", (None, None))
                yield (
                    attempts.TOOL_CALLS,
                    attempts.ToolCall(
                        _make_id("call", str(id_)),
                        attempt,
                        id_,
                        item.output_index,
                        call.provider_tool_call_id,
                        call.tool_type,
                        call.status,
                        call.raw_payload,
                        call.captured_at or at,
                        started_at,
                        completed_at,
                    ),
                )


def read_transcript(text: str) -> attempts.Exchange:
    try:
        transcript = Transcript.model_validate_json(text)
        read = ReadTranscript(
            rows(transcript), {each.call_id: (each.started_at, each.completed_at) for each in transcript.research}
        )
        # What our JSON cannot hold must not come as far as the database.
        orjson.dumps((read.head, read.audit.requested_tools, read.audit.output_items))
    except Exception:  # evidence is never a condition
        return UNREADABLE
    return read


def _text_rows(item: UUID, item_: Item) -> Iterator[attempts.Part]:
    for part in item_.text_parts:
        id_ = _make_id("part", str(item), part.part_index)
        yield attempts.TEXT_PARTS, attempts.TextPart(id_, item, part.part_index, part.part_type, part.text)
        for each in part.annotations:
            yield (
                attempts.ANNOTATIONS,
                attempts.Annotation(
                    id=_make_id("annotation", str(id_), each.annotation_index), text_part_id=id_, **asdict(each)
                ),
            )
    for place, summary in enumerate(item_.reasoning_summaries):
        row = attempts.ReasoningSummary(_make_id("summary", str(item), place), item, place, summary)
        yield attempts.REASONING_SUMMARIES, row


def _make_id(kind: str, *of: object) -> UUID:
    return derive_uuid(ID_NAMESPACE, "\x1f".join((kind, *map(str, of))))
