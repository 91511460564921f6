"""A real HTTP server on the loopback that speaks the OpenAI Responses protocol and misbehaves on request.

A test scripts one turn per expected request; a request without a turn is answered 500, so no call goes unnoticed.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class Answer:
    """A response with these output items. `gate` holds back everything after the first item until it is set."""

    items: tuple[Json, ...]
    status: str = "completed"
    incomplete_reason: str | None = None
    error: Json | None = None
    usage: Json | None = None
    gate: asyncio.Event | None = None
    announced: bool = True


@dataclass(frozen=True)
class HttpError:
    """An answer without a response object."""

    status: int
    body: Json = field(default_factory=lambda: {"error": {"message": "scripted", "type": "test", "code": None}})


@dataclass(frozen=True)
class Broken:
    """A stream that sends these items and then: an error event, silence, a clean end, a lost connection, or garbage."""

    how: str
    items: tuple[Json, ...] = ()
    code: str = "server_error"


Turn = Answer | HttpError | Broken


def call(name: str, arguments: object, call_id: str) -> Json:
    """A function call item; `arguments` is sent as it is if it is a string."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {
        "type": "function_call",
        "id": f"fc_{call_id}",
        "call_id": call_id,
        "name": name,
        "arguments": text,
        "status": "completed",
    }


def message(text: str, kind: str = "output_text") -> Json:
    """An assistant message; kind `refusal` makes it a refusal."""
    part: Json = {"type": kind, "text": text, "annotations": []}
    if kind == "refusal":
        part = {"type": kind, "refusal": text}
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}


@dataclass(frozen=True)
class Request:
    """What the client sent. Shapes: header names are lower case."""

    path: str
    headers: dict[str, str]
    body: Json


class OpenAIServer:
    """Plays its script, one turn per request, and keeps the requests."""

    def __init__(self) -> None:
        self.url = ""
        self.turns: list[Turn] = []
        self.requests: list[Request] = []
        self.closing = asyncio.Event()
        self.left = asyncio.Event()

    def script(self, *turns: Turn) -> None:
        """Add turns to be played in order."""
        self.turns += turns

    def turn(self, request: Request) -> Turn:
        """What this request is answered with."""
        return self.turns.pop(0) if self.turns else HttpError(500)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request per connection; `left` is set when a client hangs up."""
        watching: list[asyncio.Task[None]] = []
        try:
            with suppress(asyncio.IncompleteReadError, ConnectionError):
                request = await _read(reader)
                self.requests.append(request)
                watching.append(asyncio.create_task(self._watch(reader)))
                await self._play(self.turn(request), f"resp_{len(self.requests)}", request, writer)
        finally:
            for task in watching:
                task.cancel()
            writer.close()

    async def _watch(self, reader: asyncio.StreamReader) -> None:
        with suppress(ConnectionError):
            await reader.read()
        self.left.set()

    async def _play(self, turn: Turn, response_id: str, request: Request, writer: asyncio.StreamWriter) -> None:
        if isinstance(turn, HttpError):
            await _respond(writer, turn.status, turn.body)
        elif isinstance(turn, Answer) and not request.body.get("stream"):
            await _respond(writer, 200, _response(response_id, request, turn))
        elif isinstance(turn, Broken) and not request.body.get("stream"):
            if turn.how == "silence":
                await self.closing.wait()
            elif turn.how == "lost":
                writer.transport.abort()
        else:
            await self._stream(turn, response_id, request, writer)

    async def _stream(
        self, turn: Answer | Broken, response_id: str, request: Request, writer: asyncio.StreamWriter
    ) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
        started = _response(response_id, request, Answer((), status="in_progress"))
        await _event(writer, {"type": "response.created", "sequence_number": 0, "response": started})
        for index, item in enumerate(turn.items):
            if isinstance(turn, Broken) or turn.announced:
                done = {"type": "response.output_item.done", "sequence_number": index + 1, "output_index": index}
                await _event(writer, done | {"item": item})
            if isinstance(turn, Answer) and turn.gate is not None and index == 0:
                await turn.gate.wait()
        if isinstance(turn, Answer):
            kind = turn.status if turn.status in ("failed", "incomplete") else "completed"
            final = _response(response_id, request, turn)
            await _event(writer, {"type": f"response.{kind}", "sequence_number": 99, "response": final})
        elif turn.how == "error":
            await _event(writer, {"type": "error", "sequence_number": 99, "code": turn.code, "message": "scripted"})
        elif turn.how == "garbage":
            await _chunk(writer, b"event: response.completed\ndata: {not json\n\n")
        elif turn.how == "silence":
            await self.closing.wait()
        elif turn.how == "lost":
            writer.transport.abort()
            return
        writer.write(b"0\r\n\r\n")
        await writer.drain()


@asynccontextmanager
async def openai_server(fake: OpenAIServer | None = None) -> AsyncIterator[OpenAIServer]:
    """A server on a free port, stopped at the end together with whatever it was still sending."""
    fake = fake or OpenAIServer()
    server = await asyncio.start_server(fake.serve, "127.0.0.1", 0)
    fake.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    try:
        yield fake
    finally:
        fake.closing.set()
        server.close()
        await server.wait_closed()


async def _read(reader: asyncio.StreamReader) -> Request:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Request(head[0].split(" ")[1], headers, json.loads(body or b"{}"))


def _response(response_id: str, request: Request, turn: Answer) -> Json:
    return {
        "id": response_id,
        "object": "response",
        "created_at": 0,
        "model": f"{request.body['model']}-2026-01-01",
        "status": turn.status,
        "error": turn.error,
        "incomplete_details": {"reason": turn.incomplete_reason} if turn.incomplete_reason else None,
        "instructions": request.body.get("instructions"),
        "tools": request.body.get("tools", []),
        "output": list(turn.items),
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "usage": turn.usage,
    }


async def _respond(writer: asyncio.StreamWriter, status: int, body: Json) -> None:
    payload = json.dumps(body).encode()
    head = f"HTTP/1.1 {status} Scripted\r\ncontent-type: application/json\r\ncontent-length: {len(payload)}\r\n"
    writer.write(f"{head}connection: close\r\n\r\n".encode() + payload)
    await writer.drain()


async def _event(writer: asyncio.StreamWriter, event: Json) -> None:
    await _chunk(writer, f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())


async def _chunk(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
    await writer.drain()
