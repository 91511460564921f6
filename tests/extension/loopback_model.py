"""A server of chat completions and a search engine on the loopback, for checks in real browsers."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Literal
from urllib.parse import parse_qs, quote, urlsplit

FOUND: Final = "https://towers.example/height"
RESULTS: Final = {
    FOUND: ("Height of <b>towers</b>", "The tower is 330 m tall, not 400 m."),
    "https://atlas.example/towers": ("Towers of the world", "A list of towers: 330 m, 324 m, 300 m."),
}
VERDICT: Final = {
    "verdict": "False",
    "confidence": 85,
    "summary": "The tower is lower.",
    "claims": [{"claim": "It is 400 m tall.", "assessment": "It is 330 m tall."}],
    "caveats": "None.",
    "sources": [{"title": "made up", "url": FOUND}],
}
AWAY: Final = "//duckduckgo.com/l/?uddg="
QUERY: Final = "height of the tower"


@dataclass(frozen=True)
class Turn:
    """One answer of the model: its chunks and how it ends. `silent` takes the request and says nothing."""

    deltas: tuple[dict[str, Any], ...] = ()
    end: Literal["done", "cut", "silent"] = "done"
    finish: str = "stop"
    status: int = 200
    headers: tuple[str, ...] = ()


def says(*words: str, key: str = "content", finish: str = "stop") -> Turn:
    """An answer in words, with the empty list of calls that LM Studio sends in each chunk."""
    return Turn(tuple({"tool_calls": [], key: said} for said in words), finish=finish)


def searches(query: str = QUERY) -> Turn:
    """A call of the search tool without an id."""
    call = {"index": 0, "id": "", "function": {"name": "web_search", "arguments": json.dumps({"query": query})}}
    return Turn(({"tool_calls": [call]},), finish="tool_calls")


def refuses(status: int, *headers: str) -> Turn:
    """An error."""
    return Turn(status=status, headers=headers)


SILENT: Final = Turn(end="silent")
USUAL: Final = (searches(), says(json.dumps(VERDICT)))


@dataclass
class LoopbackModel:
    """`searched` are queries, `abandoned` counts requests given up. `held` searches wait for the event."""

    url: str = ""
    search_port: int = 0
    turns: tuple[Turn, ...] = USUAL
    held: asyncio.Event | None = None
    asked: list[dict[str, Any]] = field(default_factory=list)
    headers: list[str] = field(default_factory=list)
    searched: list[str] = field(default_factory=list)
    abandoned: int = 0

    def script(self, *turns: Turn) -> None:
        """What is answered from now on; the last turn is repeated."""
        self.turns = turns
        self.asked.clear()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request; each has a connection of its own."""
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            self.headers.append(head)
            length = next(
                (int(line[15:]) for line in head.splitlines() if line.lower().startswith("content-length:")), 0
            )
            body = await reader.readexactly(length)
            target = head.split(" ", 2)[1]
            if target.startswith("/html/"):
                await self._search(target, writer)
            elif target == "/v1/chat/completions":
                await self._chat(json.loads(body), reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _chat(self, body: dict[str, Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        turn = self.turns[min(len(self.asked), len(self.turns) - 1)]
        self.asked.append(body)
        if turn.end == "silent":
            await reader.read()
            self.abandoned += 1
        elif turn.status != 200:
            await _answer(writer, "application/json", '{"error": {"message": "no"}}', turn.status, turn.headers)
        elif turn.deltas or turn.end == "done":
            events = [_chunk(delta) for delta in turn.deltas]
            if turn.end == "done":
                events += [_chunk({}, turn.finish), "data: [DONE]\n\n"]
            # A connection that breaks has promised more than it sent.
            more = ("content-length: 1000000",) if turn.end == "cut" else ()
            await _answer(writer, "text/event-stream", "".join(events), headers=more)

    async def _search(self, target: str, writer: asyncio.StreamWriter) -> None:
        self.searched += parse_qs(urlsplit(target).query)["q"]
        if self.held is not None:
            await self.held.wait()
        found = "".join(
            f'<div class="result"><a class="result__a" href="{AWAY}{quote(url, safe="")}">{title}</a>'
            f'<a class="result__snippet">{snippet}</a></div>'
            for url, (title, snippet) in RESULTS.items()
        )
        await _answer(writer, "text/html", f'<div id="links">{found}</div>')


def _chunk(delta: dict[str, Any], finish: str | None = None) -> str:
    return f"data: {json.dumps({'choices': [{'delta': delta, 'finish_reason': finish}]})}\n\n"


async def _answer(
    writer: asyncio.StreamWriter, kind: str, body: str, status: int = 200, headers: tuple[str, ...] = ()
) -> None:
    head = "\r\n".join([f"HTTP/1.1 {status} Said", f"content-type: {kind}", "connection: close", *headers])
    writer.write(f"{head}\r\n\r\n{body}".encode())
    await writer.drain()


@asynccontextmanager
async def loopback_model(tls: ssl.SSLContext | None = None) -> AsyncIterator[LoopbackModel]:
    """Both servers; the search only where there is a certificate."""
    model = LoopbackModel()
    chat = await asyncio.start_server(model.serve, "127.0.0.1", 0)
    search = await asyncio.start_server(model.serve, "127.0.0.1", 0, ssl=tls) if tls else None
    model.url = f"http://127.0.0.1:{chat.sockets[0].getsockname()[1]}/v1"
    model.search_port = search.sockets[0].getsockname()[1] if search else 0
    try:
        yield model
    finally:
        for server in filter(None, (chat, search)):
            server.close()
