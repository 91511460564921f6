"""The rows of a transcript that a fact names.

A fact never depends on its transcript: one that is missing, too large or of unknown format leaves a row that says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import datetime
from functools import partial
from typing import Final
from uuid import UUID

import orjson

from contracts.transcript import Transcript
from contracts.v1.ids import ID_NAMESPACE, derive_uuid
from kit.models.audit import Audit, rows
from kit.models.audit_rows import OutputItem as Item
from services.projector.rows import attempts
from services.projector.rows.attempts import Exchange, Part
from services.projector.rows.table import columns_but

MISSING: Final = Exchange("missing")
UNREADABLE: Final = Exchange("unreadable")
TOO_LARGE: Final = Exchange("too_large")
_HEAD: Final = columns_but(attempts.ModelExchange, "transcript_hash", "transcript_state")
_REVIEW: Final = ("requested_tools", "output_items", "started_at", "completed_at")


def read_transcript(text: str) -> Exchange:
    try:
        transcript = Transcript.model_validate_json(text)
        audit = rows(transcript)
        head, review = ({name: getattr(audit, name) for name in names} for names in (_HEAD, _REVIEW))
        orjson.dumps((head, review))  # what our JSON cannot hold must not come as far as the database
    except Exception:  # a fact never depends on its transcript
        return UNREADABLE
    carried_out = {each.call_id: (each.started_at, each.completed_at) for each in transcript.research}
    return Exchange("read", head, review, partial(_list_parts, audit, carried_out))


def _list_parts(
    audit: Audit, carried_out: Mapping[str, tuple[datetime, datetime]], attempt: UUID, hash_: str, at: datetime
) -> Iterator[Part]:
    """The rows, parents before children. Shapes: `carried_out` has start and end of our tools' calls, by call id."""
    name = f"{attempt}\x1f{hash_}"
    for tool in audit.requested_tools:
        id_ = _make_id("tool", name, tool.request_order)
        row = attempts.RequestedTool(id_, attempt, tool.request_order, tool.tool_type, tool.raw_definition)
        yield attempts.REQUESTED_TOOLS, row
    for item in audit.output_items:
        id_ = _make_id("item", name, item.output_index)
        provider_id = item.provider_item_id
        yield (
            attempts.OUTPUT_ITEMS,
            attempts.OutputItem(id_, attempt, item.output_index, provider_id, item.item_type, item.item_status),
        )
        yield from _text_rows(id_, item)
        if item.tool_call is not None:
            call = item.tool_call
            started_at, completed_at = carried_out.get(call.provider_tool_call_id or "", (None, None))
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


def _text_rows(item: UUID, item_: Item) -> Iterator[Part]:
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
