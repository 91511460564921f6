"""The audit rows of an attempt, a pure function of its transcript.

Each output item has its provider's type and raw payload, and fields that all providers share. Unreadable parts are left
out and raise no error: an audit is read when something went wrong.
Source: requirements 3.2.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar, assert_never

from pydantic import JsonValue

from contracts.transcript import Call, Failed, MessagePicture, Protocol, Transcript
from contracts.v1.parts import Usage
from kit.models import anthropic_assembly, audit_openai, chat_assembly
from kit.models.audit_rows import Answer, OutputItem, TextPart, ToolCall, as_text
from kit.models.events import SHAPE_ERRORS, BadEvent, events
from kit.models.prices import Bill

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class RequestedTool:
    """A tool that was offered to the model."""

    request_order: int
    tool_type: str
    raw_definition: dict[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Audit:
    """Everything about one attempt, or one review.

    Shapes: `output_items` have indices from 0 without gaps over all calls; response fields are those of the last answer
    that had them; `usage` is that of this attempt's answers, None if no answer reported it.
    """

    request_model: str
    request_instructions: str
    request_input: str
    request_reasoning_effort: str | None
    request_reasoning_summary: str | None
    requested_tools: tuple[RequestedTool, ...]
    output_items: tuple[OutputItem, ...]
    response_id: str | None
    response_status: str | None
    response_model_version: str | None
    response_output_text: str | None
    usage: Usage | None
    error: Failed | None
    started_at: datetime | None
    completed_at: datetime | None


def rows(transcript: Transcript) -> Audit:
    """The rows of a transcript."""
    answers = list(_answers(transcript))
    bill = Bill(transcript.price)
    for answer in answers[transcript.taken_over :]:
        if answer.spent is not None:
            bill.add(answer.spent)
    reasoning = transcript.reasoning or {}
    effort, summary = reasoning.get("effort"), reasoning.get("summary")
    return Audit(
        request_model=transcript.model,
        request_instructions=transcript.instructions,
        request_input="".join(
            f"[picture sha256:{part.sha256}]" if isinstance(part, MessagePicture) else part.text
            for part in transcript.input
        ),
        request_reasoning_effort=effort if isinstance(effort, str) else None,
        request_reasoning_summary=summary if isinstance(summary, str) else None,
        requested_tools=tuple(
            RequestedTool(order, str(tool.get("type", "custom")), tool) for order, tool in enumerate(transcript.tools)
        ),
        output_items=tuple(
            replace(item, output_index=index)
            for index, item in enumerate(item for answer in answers for item in answer.items)
        ),
        response_id=_last(answer.response_id for answer in answers),
        response_status=_last(answer.status for answer in answers),
        response_model_version=_last(answer.version for answer in answers),
        response_output_text=_last(answer.text for answer in answers),
        usage=bill.usage if any(answer.spent for answer in answers[transcript.taken_over :]) else None,
        error=transcript.error,
        started_at=min((call.started_at for call in transcript.calls if call.started_at), default=None),
        completed_at=max((call.completed_at for call in transcript.calls if call.completed_at), default=None),
    )


def _answers(transcript: Transcript) -> Iterator[Answer]:
    for number, call in enumerate(transcript.calls):
        try:
            yield _read(transcript.protocol, call, number)
        except (BadEvent, *SHAPE_ERRORS):
            yield Answer()


def _read(protocol: Protocol, call: Call, number: int) -> Answer:
    match protocol:
        case "openai_responses":
            return audit_openai.read(call)
        case "anthropic":
            return anthropic_assembly.read(call)
        case "chat_completions":
            return chat_assembly.read(call, number)
        case "demo":
            return _read_demo(call)
        case _:
            assert_never(protocol)


def _read_demo(call: Call) -> Answer:
    """The demonstration's answer: an item for each function call, or one with the text of a verdict."""
    document = next(events(call), {})
    if "calls" not in document:
        return Answer((OutputItem(0, "message", text_parts=(TextPart(0, "output_text", call.body),)),), text=call.body)
    made = [
        OutputItem(0, "function_call", tool_call=ToolCall("function_call", as_text(each["id"]), None, each, None))
        for each in document["calls"]
    ]
    return Answer(tuple(made), status="completed")


def _last(values: Iterable[Value | None]) -> Value | None:
    found: Value | None = None
    for value in values:
        found = value if value is not None else found
    return found
