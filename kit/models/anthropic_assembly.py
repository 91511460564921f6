"""Assembling a streamed answer of the Messages API, event by event, as plain JSON.

The next request contains the blocks unchanged, with signatures and encrypted search results. The audit reads the record
with the same code: each content block is an item, and thinking is a reasoning summary. Search results are items of
their own, which the audit counts as tool calls with their whole content.
"""

from __future__ import annotations

import json

from contracts.transcript import Call
from kit.models.audit_rows import Annotation, Answer, OutputItem, TextPart, ToolCall, as_count, as_text
from kit.models.events import SHAPE_ERRORS, BadEvent, Json, events, writable
from kit.models.prices import Spent

_NO_CALLS = frozenset({"text", "thinking", "redacted_thinking"})


class Assembly:
    """Takes events in order. Shapes: `blocks` are the completed ones, in order; `message` is all but the blocks."""

    def __init__(self) -> None:
        self.message: Json = {}
        self.blocks: list[Json] = []
        self.ended = False
        self._open: dict[int, Json] = {}
        self._arguments: dict[int, str] = {}

    def feed(self, event: Json) -> Json | None:
        """Take an event and return the block that it completes, if any. Raises: BadEvent."""
        try:
            return self._feed(event)
        except SHAPE_ERRORS as error:
            raise BadEvent(type(error).__name__) from None

    def _feed(self, event: Json) -> Json | None:
        match event.get("type"):
            case "message_start":
                self.message = {name: value for name, value in event["message"].items() if name != "content"}
            case "content_block_start":
                self._open[event["index"]] = dict(event["content_block"])
            case "content_block_delta":
                self._grow(event["index"], event["delta"])
            case "content_block_stop":
                return self._close(event["index"])
            case "message_delta":
                self.message |= {name: value for name, value in event["delta"].items() if value is not None}
                usage = {name: value for name, value in (event.get("usage") or {}).items() if value is not None}
                self.message["usage"] = (self.message.get("usage") or {}) | usage
            case "message_stop":
                self.ended = True
        return None

    @property
    def text(self) -> str:
        """The text of the answer."""
        return "".join(block["text"] for block in self.blocks if block["type"] == "text")

    def _grow(self, index: int, delta: Json) -> None:
        block = self._open[index]
        match delta["type"]:
            case "input_json_delta":
                self._arguments[index] = self._arguments.get(index, "") + delta["partial_json"]
            case "text_delta":
                block["text"] = block.get("text", "") + delta["text"]
            case "thinking_delta":
                block["thinking"] = block.get("thinking", "") + delta["thinking"]
            case "signature_delta":
                block["signature"] = delta["signature"]
            case "citations_delta":
                block["citations"] = [*(block.get("citations") or ()), delta["citation"]]

    def _close(self, index: int) -> Json:
        block = self._open.pop(index)
        arguments = self._arguments.pop(index, "")
        if arguments:
            try:
                block |= writable({"input": json.loads(arguments)})
            except (ValueError, RecursionError):
                block["input"] = {"unreadable": arguments}
        self.blocks.append(block)
        return block


def spent(message: Json) -> Spent | None:
    """The usage of an answer. Input includes cached tokens, which the provider counts separately."""
    usage = message.get("usage")
    if not usage:
        return None
    details, tools = usage.get("output_tokens_details") or {}, usage.get("server_tool_use") or {}
    read, written = as_count(usage.get("cache_read_input_tokens")), as_count(usage.get("cache_creation_input_tokens"))
    return Spent(
        input=(as_count(usage.get("input_tokens")) or 0) + (read or 0) + (written or 0),
        output=as_count(usage.get("output_tokens")) or 0,
        cached=read,
        reasoning=as_count(details.get("thinking_tokens")),
        cache_written=written or 0,
        searches=as_count(tools.get("web_search_requests")) or 0,
    )


def read(call: Call) -> Answer:
    """The audit rows of one call."""
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
