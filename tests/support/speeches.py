"""How three providers say the same thing: an answer's items as the bytes of each protocol's stream.

Items are written as the Responses API writes them; the other two are translations of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

Json = dict[str, Any]


class Speech(Protocol):
    """One protocol."""

    def begin(self, response_id: str, request: Json) -> Iterator[bytes]:
        """What opens a stream."""
        ...

    def item(self, index: int, item: Json, response_id: str) -> Iterator[bytes]:
        """One item of the answer."""
        ...

    def end(self, turn: Any, response_id: str, request: Json) -> Iterator[bytes]:
        """What closes a stream that is whole."""
        ...

    def error(self, code: str) -> Iterator[bytes]:
        """An error in the middle."""
        ...

    def whole(self, turn: Any, response_id: str, request: Json) -> Json:
        """The same answer, not streamed."""
        ...


class Responses:
    """The OpenAI Responses API."""

    def begin(self, response_id: str, request: Json) -> Iterator[bytes]:
        started = self._response(response_id, request, (), "in_progress")
        yield _named({"type": "response.created", "sequence_number": 0, "response": started})

    def item(self, index: int, item: Json, response_id: str) -> Iterator[bytes]:
        done = {"type": "response.output_item.done", "sequence_number": index + 1, "output_index": index}
        yield _named(done | {"item": item})

    def end(self, turn: Any, response_id: str, request: Json) -> Iterator[bytes]:
        kind = turn.status if turn.status in ("failed", "incomplete") else "completed"
        final = self.whole(turn, response_id, request)
        yield _named({"type": f"response.{kind}", "sequence_number": 99, "response": final})

    def error(self, code: str) -> Iterator[bytes]:
        yield _named({"type": "error", "sequence_number": 99, "code": code, "message": "scripted"})

    def whole(self, turn: Any, response_id: str, request: Json) -> Json:
        response = self._response(response_id, request, turn.items, turn.status)
        details = {"reason": turn.incomplete_reason} if turn.incomplete_reason else None
        return response | {"error": turn.error, "incomplete_details": details, "usage": turn.usage}

    def _response(self, response_id: str, request: Json, items: Sequence[Json], status: str) -> Json:
        return {
            "id": response_id,
            "object": "response",
            "created_at": 0,
            "model": f"{request['model']}-2026-01-01",
            "status": status,
            "error": None,
            "incomplete_details": None,
            "instructions": request.get("instructions"),
            "tools": request.get("tools", []),
            "output": list(items),
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "usage": None,
        }


class Messages:
    """The Anthropic Messages API."""

    def begin(self, response_id: str, request: Json) -> Iterator[bytes]:
        message = self._message(response_id, request) | {"usage": {"input_tokens": 0, "output_tokens": 0}}
        yield _named({"type": "message_start", "message": message})
        yield _named({"type": "ping"})

    def item(self, index: int, item: Json, response_id: str) -> Iterator[bytes]:
        block, deltas = self._block(item)
        yield _named({"type": "content_block_start", "index": index, "content_block": block})
        for delta in deltas:
            yield _named({"type": "content_block_delta", "index": index, "delta": delta})
        yield _named({"type": "content_block_stop", "index": index})

    def end(self, turn: Any, response_id: str, request: Json) -> Iterator[bytes]:
        if turn.status == "failed":
            yield from self.error(turn.error["code"])
            return
        delta = {"stop_reason": self._why(turn), "stop_sequence": None}
        yield _named({"type": "message_delta", "delta": delta, "usage": self._usage(turn.usage)})
        yield _named({"type": "message_stop"})

    def error(self, code: str) -> Iterator[bytes]:
        yield _named({"type": "error", "error": {"type": code, "message": "scripted"}})

    def whole(self, turn: Any, response_id: str, request: Json) -> Json:
        blocks = [self._block(item)[0] for item in turn.items]
        message = self._message(response_id, request)
        return message | {"content": blocks, "stop_reason": self._why(turn), "usage": self._usage(turn.usage)}

    def _message(self, response_id: str, request: Json) -> Json:
        return {
            "id": response_id,
            "type": "message",
            "role": "assistant",
            "model": f"{request['model']}-2026-01-01",
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
        }

    def _why(self, turn: Any) -> str:
        if turn.paused:
            return "pause_turn"
        if turn.status == "incomplete":
            return "refusal" if turn.incomplete_reason == "content_filter" else "max_tokens"
        if _refused(turn.items):
            return "refusal"
        return "tool_use" if any(item["type"] == "function_call" for item in turn.items) else "end_turn"

    def _usage(self, usage: Json | None) -> Json:
        counted = usage or {"input_tokens": 0, "output_tokens": 0}
        cached = (counted.get("input_tokens_details") or {}).get("cached_tokens")
        told: Json = {"input_tokens": counted["input_tokens"] - (cached or 0)}
        told["output_tokens"] = counted["output_tokens"]
        if cached is not None:
            told |= {"cache_read_input_tokens": cached, "cache_creation_input_tokens": 0}
        thought = (counted.get("output_tokens_details") or {}).get("reasoning_tokens")
        return told | ({"output_tokens_details": {"thinking_tokens": thought}} if thought is not None else {})

    def _block(self, item: Json) -> tuple[Json, list[Json]]:
        match item["type"]:
            case "function_call":
                text = item["arguments"]
                pieces = [{"type": "input_json_delta", "partial_json": part} for part in ("", text[:7], text[7:])]
                block = {"type": "tool_use", "id": item["call_id"], "name": item["name"], "input": {}}
                return block, pieces
            case "message":
                said = "".join(part.get("text", "") for part in item["content"])
                return {"type": "text", "text": ""}, [{"type": "text_delta", "text": said}]
            case _:
                return dict(item), []


class Chat:
    """Chat completions."""

    def begin(self, response_id: str, request: Json) -> Iterator[bytes]:
        self._model = f"{request['model']}-2026-01-01"
        yield self._chunk(response_id, {"role": "assistant", "content": ""})

    def item(self, index: int, item: Json, response_id: str) -> Iterator[bytes]:
        if item["type"] == "function_call":
            text = item["arguments"]
            head = {"name": item["name"], "arguments": ""}
            first = {"index": index, "id": item["call_id"], "type": "function", "function": head}
            yield self._chunk(response_id, {"tool_calls": [first]})
            for part in (text[:7], text[7:]):
                yield self._chunk(response_id, {"tool_calls": [{"index": index, "function": {"arguments": part}}]})
            return
        for part in item["content"]:
            kind = "refusal" if part["type"] == "refusal" else "content"
            said = {kind: part.get("refusal") or part.get("text") or ""}
            yield self._chunk(response_id, said, logprobs=part.get("logprobs"))

    def end(self, turn: Any, response_id: str, request: Json) -> Iterator[bytes]:
        if turn.status == "failed":
            yield from self.error(turn.error["code"])
            return
        yield self._chunk(response_id, {}, self._why(turn))
        if turn.usage:
            yield _data({"id": response_id, "model": self._model, "choices": [], "usage": self._usage(turn.usage)})
        yield b"data: [DONE]\n\n"

    def error(self, code: str) -> Iterator[bytes]:
        yield _data({"error": {"code": code, "message": "scripted", "type": "test"}})

    def whole(self, turn: Any, response_id: str, request: Json) -> Json:
        message = {"role": "assistant", "content": "OK"}
        choice = {"index": 0, "message": message, "finish_reason": self._why(turn)}
        return {"id": response_id, "object": "chat.completion", "model": request["model"], "choices": [choice]}

    def _chunk(self, response_id: str, delta: Json, finish: str | None = None, logprobs: Json | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": logprobs}
        head = {"id": response_id, "object": "chat.completion.chunk", "created": 0, "model": self._model}
        return _data(head | {"choices": [choice]})

    def _why(self, turn: Any) -> str:
        if turn.status == "incomplete":
            return "content_filter" if turn.incomplete_reason == "content_filter" else "length"
        return "tool_calls" if any(item["type"] == "function_call" for item in turn.items) else "stop"

    def _usage(self, usage: Json) -> Json:
        told = {
            "prompt_tokens": usage["input_tokens"],
            "completion_tokens": usage["output_tokens"],
            "total_tokens": usage["total_tokens"],
        }
        if "input_tokens_details" in usage:
            told["prompt_tokens_details"] = usage["input_tokens_details"]
        if "output_tokens_details" in usage:
            told["completion_tokens_details"] = usage["output_tokens_details"]
        return told


class Google(Chat):
    """Chat completions as Google's address speaks it: documented at ai.google.dev/gemini-api/docs/openai.

    A call comes whole, each under the number 0, with a signature that must go back; usage comes with each piece and
    grows; an answer with calls ends with `stop`; an error names its status as a number and as a word.
    """

    def begin(self, response_id: str, request: Json) -> Iterator[bytes]:
        self._model = f"{request['model']}-2026-01-01"
        return iter(())

    def item(self, index: int, item: Json, response_id: str) -> Iterator[bytes]:
        if item["type"] != "function_call":
            yield from super().item(index, item, response_id)
            return
        function = {"name": item["name"], "arguments": item["arguments"]}
        call = {"index": 0, "id": item["call_id"], "type": "function", "function": function}
        yield self._chunk(response_id, {"role": "assistant", "tool_calls": [call | sign(item["call_id"])]})

    def end(self, turn: Any, response_id: str, request: Json) -> Iterator[bytes]:
        if turn.status == "failed":
            yield from self.error(turn.error["code"])
            return
        choices = [{"index": 0, "delta": {"role": "assistant"}, "finish_reason": self._why(turn)}]
        whole = self._usage(turn.usage) if turn.usage else None
        for usage in (
            [whole | {"completion_tokens": 0, "total_tokens": whole["prompt_tokens"]}, whole] if whole else [None]
        ):
            yield _data({"id": response_id, "model": self._model, "choices": choices, "usage": usage})
        yield b"data: [DONE]\n\n"

    def error(self, code: str) -> Iterator[bytes]:
        yield _data({"error": {"code": 503, "message": "scripted", "status": code}})

    def _why(self, turn: Any) -> str:
        why = super()._why(turn)
        return "stop" if why == "tool_calls" else why


def sign(call_id: str) -> Json:
    """What Google's models add to a call, and refuse a conversation without."""
    return {"extra_content": {"google": {"thought_signature": f"signed {call_id}"}}}


def _refused(items: Sequence[Json]) -> bool:
    return any(part["type"] == "refusal" for item in items for part in item.get("content") or ())


def _named(event: Json) -> bytes:
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


def _data(event: Json) -> bytes:
    return f"data: {json.dumps(event)}\n\n".encode()
