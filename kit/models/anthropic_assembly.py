"""Assembling a streamed answer of the Messages API, event by event, as plain JSON.

The next request contains the blocks unchanged, with signatures and encrypted search results. The audit reads the record
with the same code.
"""

from __future__ import annotations

import json

from kit.models.audit_rows import as_count
from kit.models.events import SHAPE_ERRORS, BadEvent, Json, writable
from kit.models.prices import Spent


class Assembly:
    """Takes events in order. Shapes: `blocks` are whole ones, in order; `message` is everything but those."""

    def __init__(self) -> None:
        self.message: Json = {}
        self.blocks: list[Json] = []
        self.ended = False
        self._open: dict[int, Json] = {}
        self._arguments: dict[int, str] = {}

    def feed(self, event: Json) -> Json | None:
        """Take an event; the block that it completes, if it does. Raises: BadEvent."""
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
        """The words of the answer."""
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
    """The usage of an answer; the provider counts cached tokens beside the others, we count them within."""
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
