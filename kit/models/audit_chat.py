"""A recorded answer of a chat completion as audit rows: reasoning, message, then each call.

The protocol has no items, so they are built here in a fixed order.
"""

from __future__ import annotations

from contracts.transcript import Call
from kit.models.audit_rows import Answer, OutputItem, TextPart, ToolCall, as_text
from kit.models.chat_assembly import Assembly, spent
from kit.models.events import events


def read(call: Call, number: int) -> Answer:
    """The rows of one call; `number` is its place in the run, part of the ids of calls that have none."""
    answer = Assembly(number)
    for event in events(call):
        for _ in answer.feed(event):
            pass
    items: list[OutputItem] = []
    if answer.reasoning:
        items.append(OutputItem(0, "reasoning", reasoning_summaries=(answer.reasoning,)))
    parts = [
        TextPart(index, kind, text)
        for index, (kind, text) in enumerate(
            pair for pair in (("output_text", answer.text), ("refusal", answer.refusal)) if pair[1]
        )
    ]
    if parts:
        items.append(OutputItem(0, "message", text_parts=tuple(parts)))
    items += [
        OutputItem(0, "function_call", tool_call=ToolCall("function_call", each["id"], None, each, call.completed_at))
        for each in answer.calls
    ]
    return Answer(
        items=tuple(items),
        response_id=as_text(answer.id),
        status=as_text(answer.finish),
        version=as_text(answer.version),
        text=answer.text if answer.finish else None,
        spent=spent(answer.usage),
    )
