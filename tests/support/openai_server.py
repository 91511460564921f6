"""A real HTTP server on the loopback that speaks a model provider's protocol and misbehaves on request.

A test scripts one turn per expected request; a request without a turn is answered 500, so no call goes unnoticed.
"""

from __future__ import annotations

import asyncio
import gc
import json
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final

from tests.support.speeches import Responses, Speech

Json = dict[str, Any]


GENERATORS_IN_A_CHAIN: Final = 12
"""How many generators read one answer, from the client's events to the connection; each is ended by the one above."""


@dataclass(frozen=True)
class Answer:
    """A response with these output items, written as the Responses API writes them.

    `gate` holds back everything after the item numbered `gate_at` until it is set; `paused` answers want to go on.
    """

    items: tuple[Json, ...]
    status: str = "completed"
    incomplete_reason: str | None = None
    error: Json | None = None
    usage: Json | None = None
    gate: asyncio.Event | None = None
    announced: bool = True
    paused: bool = False
    gate_at: int = 0


@dataclass(frozen=True)
class HttpError:
    """An answer without a response object. A body that is a text is a page of HTML."""

    status: int
    body: Json | list[Any] | str = field(
        default_factory=lambda: {"error": {"message": "scripted", "type": "test", "code": None}}
    )
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Broken:
    """A stream that sends these items and then: an error event, silence, a clean end, a lost connection, or garbage.

    One that `drips` sends the server's drop again and again.
    """

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

    def __init__(self, speech: Speech | None = None, drip: bytes = b"", every_s: float = 0.1) -> None:
        self.speech = speech or Responses()
        self._drip, self._every_s = drip, every_s
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
            await _respond(writer, turn.status, turn.body, turn.headers)
        elif isinstance(turn, Answer) and not request.body.get("stream"):
            await _respond(writer, 200, self.speech.whole(turn, response_id, request.body))
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
        await _say(writer, self.speech.begin(response_id, request.body))
        for index, item in enumerate(turn.items):
            if isinstance(turn, Broken) or turn.announced:
                await _say(writer, self.speech.item(index, item, response_id))
            if isinstance(turn, Answer) and turn.gate is not None and index == turn.gate_at:
                await turn.gate.wait()
        if isinstance(turn, Answer):
            await _say(writer, self.speech.end(turn, response_id, request.body))
        elif turn.how == "error":
            await _say(writer, self.speech.error(turn.code))
        elif turn.how == "garbage":
            await _chunk(writer, b"event: response.completed\ndata: {not json\n\n")
        elif turn.how == "silence":
            await self.closing.wait()
        elif turn.how == "drips":
            while not self.closing.is_set():
                await _chunk(writer, self._drip)
                with suppress(TimeoutError):
                    await asyncio.wait_for(self.closing.wait(), self._every_s)
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
        await _end_generators()


async def _end_generators() -> None:
    """End generators that still read an answer that was cut off, while their loop runs; later that is impossible."""
    gc.collect(1)
    for _ in range(GENERATORS_IN_A_CHAIN):
        await asyncio.sleep(0)


async def _read(reader: asyncio.StreamReader) -> Request:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Request(head[0].split(" ")[1], headers, json.loads(body or b"{}"))


async def _respond(
    writer: asyncio.StreamWriter, status: int, body: Json | list[Any] | str, headers: dict[str, str] | None = None
) -> None:
    kind, text = ("text/html", body) if isinstance(body, str) else ("application/json", json.dumps(body))
    payload = text.encode()
    head = f"HTTP/1.1 {status} Scripted\r\ncontent-type: {kind}\r\ncontent-length: {len(payload)}\r\n"
    head += "".join(f"{name}: {value}\r\n" for name, value in (headers or {}).items())
    writer.write(f"{head}connection: close\r\n\r\n".encode() + payload)
    await writer.drain()


async def _say(writer: asyncio.StreamWriter, events: Iterable[bytes]) -> None:
    for event in events:
        await _chunk(writer, event)


async def _chunk(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
    await writer.drain()
