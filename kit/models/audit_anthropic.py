"""A recorded answer of the Messages API as audit rows: each content block is an item, thinking is a summary.

Search results are items of their own there; they are tool calls in the sense of the audit, with all they brought.
"""

from __future__ import annotations

from contracts.transcript import Call
from kit.models.anthropic_assembly import Assembly, spent
from kit.models.audit_rows import Annotation, Answer, OutputItem, TextPart, ToolCall, as_text
from kit.models.events import Json, events

_NO_CALLS = frozenset({"text", "thinking", "redacted_thinking"})


def read(call: Call) -> Answer:
    """The rows of one call."""
    answer = Assembly()
    for event in events(call):
        answer.feed(event)
    return Answer(
        items=tuple(_item(block, call) for block in answer.blocks),
        response_id=as_text(answer.message.get("id")),
        status=as_text(answer.message.get("stop_reason")),
        version=as_text(answer.message.get("model")),
        text=answer.text if answer.ended else None,
        spent=spent(answer.message),
    )


def _item(block: Json, call: Call) -> OutputItem:
    kind = str(block.get("type"))
    id_ = as_text(block.get("id")) or as_text(block.get("tool_use_id"))
    tool = None if kind in _NO_CALLS else ToolCall(kind, id_, None, block, call.completed_at)
    parts: tuple[TextPart, ...] = ()
    if kind == "text":
        cited = enumerate(block.get("citations") or ())
        parts = (
            TextPart(0, "output_text", as_text(block.get("text")) or "", tuple(_citation(*each) for each in cited)),
        )
    thought = as_text(block.get("thinking")) if kind == "thinking" else None
    return OutputItem(0, kind, text_parts=parts, reasoning_summaries=(thought,) if thought else (), tool_call=tool)


def _citation(index: int, cited: Json) -> Annotation:
    return Annotation(index, str(cited.get("type")), url=as_text(cited.get("url")), title=as_text(cited.get("title")))
