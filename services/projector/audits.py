"""What was exchanged with a model, as rows; read from the transcript that a fact names, the same whenever it is read.

A transcript is evidence and never a condition: one that is gone, too large or of a shape we do not know leaves a row
that says so, and the fact that names it counts all the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Final, Literal
from uuid import UUID, uuid5

import orjson

from contracts.transcript import Transcript
from contracts.v1.ids import ID_NAMESPACE
from kit.models.audit import Audit, rows
from kit.models.audit_rows import Annotation, OutputItem
from services.projector.changes import Heard, Review

State = Literal["read", "missing", "unreadable", "too_large"]
Row = dict[str, Any]

_HEAD: Final = (
    "request_model",
    "request_instructions",
    "request_input",
    "request_reasoning_effort",
    "request_reasoning_summary",
    "response_id",
    "response_status",
    "response_model_version",
    "response_output_text",
)
_REVIEW: Final = tuple(field.name for field in fields(Review))
_ANNOTATION: Final = tuple(field.name for field in fields(Annotation))


@dataclass(frozen=True, slots=True)
class Exchange:
    """What one transcript says. Shapes: `audit` is there exactly if it is `read`; `carried_out` by the call's id."""

    state: State
    audit: Audit | None = None
    carried_out: Mapping[str, tuple[datetime, datetime]] | None = None


MISSING: Final = Exchange("missing")
UNREADABLE: Final = Exchange("unreadable")
TOO_LARGE: Final = Exchange("too_large")


def exchange(text: str) -> Exchange:
    """Read a transcript."""
    try:
        transcript = Transcript.model_validate_json(text)
        audit = rows(transcript)
        # What our JSON cannot hold must not come as far as the database.
        orjson.dumps((_head(audit), audit.requested_tools, audit.output_items))
    except Exception:  # evidence is never a condition
        return UNREADABLE
    return Exchange("read", audit, {each.call_id: (each.started_at, each.completed_at) for each in transcript.research})


def attempt_rows(heard: Iterable[Heard], exchanges: Mapping[str, Exchange]) -> dict[str, list[Row]]:
    """The rows of attempts, by the name that `writes` has for them."""
    made: dict[str, list[Row]] = {
        name: []
        for name in (
            "requested_tools",
            "output_items",
            "text_parts",
            "annotations",
            "reasoning_summaries",
            "tool_calls",
            "told",
        )
    }
    for each in heard:
        found = exchanges.get(each.transcript_hash, MISSING)
        told = {"id": each.attempt_id, "transcript_hash": each.transcript_hash, "transcript_state": found.state}
        made["told"].append(told | _head(found.audit))
        if found.audit is not None:
            _parts(made, each, found, found.audit)
    return made


def review_rows(reviews: Iterable[Review], exchanges: Mapping[str, Exchange]) -> Iterator[Row]:
    """The rows of reviews, with the words of those that a model was asked for."""
    for review in reviews:
        row = {name: getattr(review, name) for name in _REVIEW}
        if review.transcript_hash is not None:
            found = exchanges.get(review.transcript_hash, MISSING)
            row |= {"transcript_state": found.state} | _head(found.audit)
            if found.audit is not None:
                row |= {
                    "requested_tools": found.audit.requested_tools,
                    "output_items": found.audit.output_items,
                    "started_at": found.audit.started_at,
                    "completed_at": found.audit.completed_at,
                }
        yield row


def _head(audit: Audit | None) -> Row:
    return {} if audit is None else {name: getattr(audit, name) for name in _HEAD}


def _parts(made: dict[str, list[Row]], heard: Heard, found: Exchange, audit: Audit) -> None:
    attempt, name = heard.attempt_id, f"{heard.attempt_id}\x1f{heard.transcript_hash}"
    made["requested_tools"] += (
        {
            "id": _id("tool", name, tool.request_order),
            "attempt_id": attempt,
            "request_order": tool.request_order,
            "tool_type": tool.tool_type,
            "raw_definition": tool.raw_definition,
        }
        for tool in audit.requested_tools
    )
    for item in audit.output_items:
        id_ = _id("item", name, item.output_index)
        made["output_items"].append(
            {
                "id": id_,
                "attempt_id": attempt,
                "output_index": item.output_index,
                "provider_item_id": item.provider_item_id,
                "item_type": item.item_type,
                "item_status": item.item_status,
            }
        )
        _words(made, id_, item)
        if item.tool_call is not None:
            call = item.tool_call
            begun, ended = (found.carried_out or {}).get(call.provider_tool_call_id or "", (None, None))
            made["tool_calls"].append(
                {
                    "id": _id("call", str(id_)),
                    "attempt_id": attempt,
                    "output_item_id": id_,
                    "output_index": item.output_index,
                    "provider_tool_call_id": call.provider_tool_call_id,
                    "tool_type": call.tool_type,
                    "status": call.status,
                    "raw_payload": call.raw_payload,
                    "captured_at": call.captured_at or heard.at,
                    "provider_started_at": begun,
                    "provider_completed_at": ended,
                }
            )


def _words(made: dict[str, list[Row]], item: UUID, said: OutputItem) -> None:
    for part in said.text_parts:
        id_ = _id("part", str(item), part.part_index)
        made["text_parts"].append(
            {
                "id": id_,
                "output_item_id": item,
                "part_index": part.part_index,
                "part_type": part.part_type,
                "text": part.text,
            }
        )
        made["annotations"] += (
            {"id": _id("annotation", str(id_), each.annotation_index), "text_part_id": id_}
            | {name: getattr(each, name) for name in _ANNOTATION}
            for each in part.annotations
        )
    made["reasoning_summaries"] += (
        {"id": _id("summary", str(item), place), "output_item_id": item, "summary_index": place, "text": summary}
        for place, summary in enumerate(said.reasoning_summaries)
    )


def _id(kind: str, *of: object) -> UUID:
    return uuid5(ID_NAMESPACE, "\x1f".join((kind, *map(str, of))))
