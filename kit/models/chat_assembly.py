"""Assembling a streamed chat completion, chunk by chunk, as plain JSON.

Servers differ: some send a call in one piece, some restart the numbers of calls in every answer, some give no ids. Here
each call gets an id. Some refuse a conversation that lacks what they sent beside an answer, so each gets back what it
sent: Google a call's `extra_content` (its models sign their thoughts there), OpenRouter `reasoning_details`, DeepSeek
and Kimi `reasoning_content`. The audit reads the record with the same code; as the protocol has no items, they are the
reasoning, the message and the calls, in this order.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import exp
from typing import Final

from contracts.transcript import Call
from kit.models.audit_rows import Answer, OutputItem, TextPart, ToolCall, as_count, as_text
from kit.models.events import SHAPE_ERRORS, BadEvent, Json, events
from kit.models.prices import Spent

_TEXT_OF: Final = {"reasoning.text": "text", "reasoning.summary": "summary"}
"""The field with the text of a thought, by its type: texts come in pieces, everything else comes whole."""


class Assembly:
    """Takes chunks in order. Shapes: `calls` are the complete ones, as `{id, type, function: {name, arguments}}`."""

    def __init__(self, number: int) -> None:
        self.id: str | None = None
        self.version: str | None = None
        self.text = ""
        self.refusal = ""
        self.reasoning = ""
        self.thoughts: Json = {}
        self.calls: list[Json] = []
        self.finish: str | None = None
        self.usage: Json | None = None
        self.alternatives: dict[str, float] = {}
        self._number = number
        self._open: dict[int, Json] = {}

    def feed(self, chunk: Json) -> Iterator[Json]:
        """Take a chunk and yield the calls that it completes. Raises: BadEvent."""
        try:
            yield from self._feed(chunk)
        except SHAPE_ERRORS as error:
            raise BadEvent(type(error).__name__) from None

    def _feed(self, chunk: Json) -> Iterator[Json]:
        self.id = chunk.get("id") or self.id
        self.version = chunk.get("model") or self.version
        self.usage = chunk.get("usage") or self.usage
        for choice in (chunk.get("choices") or ())[:1]:
            delta = choice.get("delta") or {}
            self.text += delta.get("content") or ""
            self.refusal += delta.get("refusal") or ""
            self.reasoning += delta.get("reasoning_content") or delta.get("reasoning") or ""
            self._think(delta)
            if not self.alternatives:
                self.alternatives = _read_alternatives(choice.get("logprobs") or {})
            for piece in delta.get("tool_calls") or ():
                yield from self._grow(piece)
            if choice.get("finish_reason"):
                self.finish = choice["finish_reason"]
                yield from self._close_all()

    @property
    def message(self) -> Json:
        """The answer as the next request repeats it."""
        message: Json = {"role": "assistant", "content": self.text or None} | self.thoughts
        return message | ({"tool_calls": self.calls} if self.calls else {})

    def _think(self, delta: Json) -> None:
        """Keep what goes back with the answer, and put the pieces of one text together."""
        if (text := delta.get("reasoning_content")) is not None:
            self.thoughts["reasoning_content"] = self.thoughts.get("reasoning_content", "") + text
        for piece in delta.get("reasoning_details") or ():
            details = self.thoughts.setdefault("reasoning_details", [])
            field = _TEXT_OF.get(piece.get("type"))
            if field and details and all(details[-1].get(name) == piece.get(name) for name in ("type", "index")):
                details[-1] |= piece | {field: (details[-1].get(field) or "") + (piece.get(field) or "")}
            else:
                details.append(dict(piece))

    def _grow(self, piece: Json) -> Iterator[Json]:
        index = piece.get("index")
        index = len(self._open) + len(self.calls) if index is None else index
        before = self._open.get(index)
        given = piece.get("function") or {}
        if before is None or _begins_another(before, piece.get("id"), given.get("name")):
            yield from self._close_all()
            before = self._open[index] = {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
        before["id"] = before["id"] or piece.get("id") or ""
        if piece.get("extra_content"):
            before["extra_content"] = piece["extra_content"]
        before["function"]["name"] += given.get("name") or ""
        before["function"]["arguments"] += given.get("arguments") or ""

    def _close_all(self) -> Iterator[Json]:
        for index in sorted(self._open):
            call = self._open.pop(index)
            call["id"] = call["id"] or f"call-{self._number}-{len(self.calls)}"
            self.calls.append(call)
            yield call


def _read_alternatives(logprobs: Json) -> dict[str, float]:
    """The likeliest tokens at the first place that is not white space, with their probabilities."""
    first = next((each for each in logprobs.get("content") or () if each["token"].strip()), None)
    if first is None:
        return {}
    found: dict[str, float] = {}
    for each in first.get("top_logprobs") or [first]:
        token = each["token"].strip()
        found[token] = found.get(token, 0.0) + exp(min(0.0, each["logprob"]))
    return found


def _begins_another(call: Json, id_: str | None, name: str | None) -> bool:
    """Whether a piece with the number of an open call begins another call: some servers number every call 0."""
    return bool((id_ and call["id"] and id_ != call["id"]) or (name and call["function"]["arguments"]))


def spent(usage: Json | None) -> Spent | None:
    """The usage of an answer. Output is the total less the input: some servers count thinking in the total only."""
    if not usage:
        return None
    asked, total = as_count(usage.get("prompt_tokens")) or 0, as_count(usage.get("total_tokens"))
    return Spent(
        input=asked,
        output=max(as_count(usage.get("completion_tokens")) or 0, (total or 0) - asked),
        total=total,
        cached=as_count((usage.get("prompt_tokens_details") or {}).get("cached_tokens")),
        reasoning=as_count((usage.get("completion_tokens_details") or {}).get("reasoning_tokens")),
    )


def read(call: Call, number: int) -> Answer:
    """The audit rows of one request; `number` is its place in the run, used in ids of function calls that have none."""
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
