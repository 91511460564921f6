"""What the demonstration answered, as audit rows."""

from __future__ import annotations

from contracts.transcript import Call
from kit.models.audit_rows import Answer, OutputItem, TextPart, ToolCall, as_text
from kit.models.events import events


def read(call: Call) -> Answer:
    """The rows of one call: a function call each, or the verdict as it is written."""
    document = next(events(call), {})
    if "calls" not in document:
        return Answer((OutputItem(0, "message", text_parts=(TextPart(0, "output_text", call.body),)),), text=call.body)
    made = [
        OutputItem(0, "function_call", tool_call=ToolCall("function_call", as_text(each["id"]), None, each, None))
        for each in document["calls"]
    ]
    return Answer(tuple(made), status="completed")
