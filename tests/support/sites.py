"""Stand-ins for the sites, on loopback over real sockets: they answer as MediaWiki, LessWrong and Substack do.

They misbehave on demand, in every way that a site has been seen to.
"""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from ssl import SSLContext
from typing import Self
from urllib.parse import parse_qs, unquote, urlsplit

from tests.support.site_faults import BROKEN, CHUNK, ENDLESS
from tests.support.site_faults import Fault as Fault

BLOCKED = "blocked"
"""What posts of LessWrong and Substack are called that their site keeps from programs: it answers 403."""
HUGE_BYTES = 16 * 1024 * 1024
DRIP_EVERY_S = 0.05


@dataclass(frozen=True)
class Seen:
    """One request that arrived. Header names are lower case."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def path(self) -> str:
        """The target without its query."""
        return urlsplit(self.target).path

    @property
    def query(self) -> dict[str, str]:
        """The query's fields, the first of each name."""
        return {name: values[0] for name, values in parse_qs(urlsplit(self.target).query).items()}


@dataclass(frozen=True)
class Answer:
    """What is sent back."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


@dataclass(frozen=True)
class WikiPage:
    """What MediaWiki holds under a revision."""

    page_id: int
    html: str
    title: str = "A page"


@dataclass
class Sites:
    """One server that is all sites. Counts what arrives; `fail` makes it misbehave from then on, `heal` ends that."""

    wikipedia: dict[str, WikiPage] = field(default_factory=dict)
    lesswrong: dict[str, str] = field(default_factory=dict)
    substack: dict[str, tuple[int, str]] = field(default_factory=dict)
    pages: dict[str, Answer | Callable[[Seen], Answer]] = field(default_factory=dict)
    tls: SSLContext | None = None
    retry_after: str = "0"
    requests: list[Seen] = field(default_factory=list)
    connections: int = 0
    busy_now: int = 0
    busy_most: int = 0
    _fault: Fault | None = None
    _fault_times: int = 0
    _released: asyncio.Event = field(default_factory=asyncio.Event)
    _arrived: asyncio.Condition = field(default_factory=asyncio.Condition)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _server: asyncio.Server | None = None

    @property
    def port(self) -> int:
        """The port that the server listens on."""
        assert self._server is not None
        return int(self._server.sockets[0].getsockname()[1])

    @property
    def url(self) -> str:
        """The origin of all sites."""
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    def fail(self, fault: Fault, times: int = 1_000_000) -> None:
        """Misbehave for the next `times` requests."""
        self._fault, self._fault_times = fault, times
        self._released.clear()

    def heal(self) -> None:
        """Behave again, and release requests that were kept waiting."""
        self._fault = None
        self._released.set()

    async def seen(self, count: int, *, within_s: float = 20.0) -> None:
        """Wait until this many requests have arrived."""
        async with asyncio.timeout(within_s), self._arrived:
            await self._arrived.wait_for(lambda: len(self.requests) >= count)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self.tls)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                await self._exchange(reader, writer)
        except asyncio.CancelledError:
            pass
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.rstrip().split("\r\n")
        method, target, _ = first.split(" ", 2)
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        request = Seen(method, target, headers, body)
        async with self._arrived:
            self.requests.append(request)
            self._arrived.notify_all()
        self.busy_now += 1
        self.busy_most = max(self.busy_most, self.busy_now)
        try:
            await self._respond(request, writer)
        finally:
            self.busy_now -= 1

    async def _respond(self, request: Seen, writer: asyncio.StreamWriter) -> None:
        fault = None
        if self._fault is not None and self._fault_times > 0:
            self._fault_times -= 1
            fault = self._fault
        match fault:
            case "slow":
                await self._released.wait()
            case "stalled_body":
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nsome")
                await writer.drain()
                await self._released.wait()
                return
            case "huge":
                writer.write(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n")
                for _ in range(HUGE_BYTES // len(CHUNK)):
                    writer.write(CHUNK)
                    await writer.drain()
                return
            case "reset":
                writer.transport.abort()
                return
            case "drips" | "endless_headers" | "interim_flood":
                head, more = ENDLESS[fault]
                writer.write(head)
                while not self._released.is_set():
                    writer.write(more)
                    await writer.drain()
                    with suppress(TimeoutError):
                        await asyncio.wait_for(self._released.wait(), DRIP_EVERY_S)
                return
            case "truncated" | "no_http" | "bad_chunks" | "two_lengths":
                writer.write(BROKEN[fault])
                return
            case _:
                pass
        answer = self._faulty(fault, request) or self._answer(request, fault)
        sent = {"content-length": str(len(answer.body)), "connection": "close", **answer.headers}
        lines = "".join(f"{name}: {value}\r\n" for name, value in sent.items())
        writer.write(f"HTTP/1.1 {answer.status} Status\r\n{lines}\r\n".encode("latin-1") + answer.body)
        await writer.drain()

    def _faulty(self, fault: Fault | None, request: Seen) -> Answer | None:
        match fault:
            case "rate_limited":
                return Answer(429, {"retry-after": self.retry_after}, b"slow down")
            case "server_error":
                return Answer(500, {}, b"oops")
            case "not_found":
                return Answer(404, {}, b"nothing here")
            case "redirect_private":
                return Answer(302, {"location": f"http://127.0.0.2:{self.port}/private"})
            case "redirect_loop":
                return Answer(302, {"location": request.target})
            case "invalid_json":
                return Answer(200, {}, b"<html>maintenance</html>")
            case "unknown_encoding":
                return Answer(200, {"content-encoding": "x-nonsense"}, b"{}")
            case "deep_json":
                return Answer(200, {"content-type": "application/json"}, b'{"parse":' + b"[" * 200_000)
            case "wrong_types":
                return _json({"parse": 7, "data": {"post": {"result": "x"}}, "id": [], "body_html": {"a": None}})
            case "no_utf8":
                return Answer(200, {"content-type": "application/json"}, b'{"parse":{"text":"\xff\xfe\xc0"}}')
            case "redirect_file":
                return Answer(302, {"location": "file:///etc/passwd"})
            case "gzip_bomb":
                return Answer(200, {"content-encoding": "gzip"}, gzip.compress(b"\0" * HUGE_BYTES, 9))
            case "truncated_gzip":
                return Answer(200, {"content-encoding": "gzip"}, gzip.compress(b'{"parse":{}}' * 1000)[:-20])
            case _:
                return None

    def _answer(self, request: Seen, fault: Fault | None) -> Answer:
        page = self.pages.get(request.path)
        if page is not None:
            return page if isinstance(page, Answer) else page(request)
        if request.path == "/w/api.php":
            return self._mediawiki(request, fault)
        if request.path == "/graphql":
            return self._graphql(request, fault)
        return self._substack_post(request, fault)

    def _mediawiki(self, request: Seen, fault: Fault | None) -> Answer:
        revision = request.query.get("oldid", "")
        page = self.wikipedia.get(revision)
        if page is None:
            return _json({"error": {"code": "nosuchrevid", "info": f"There is no revision with ID {revision}."}})
        stated = int(revision) + (1 if fault == "wrong_revision" else 0)
        page_id = page.page_id + (1 if fault == "other_page" else 0)
        title = {"title": page.title, "displaytitle": f"<i>{page.title}</i>"}
        return _json({"parse": {**title, "pageid": page_id, "revid": stated, "text": page.html}})

    def _graphql(self, request: Seen, fault: Fault | None) -> Answer:
        text = request.body.decode()
        if f'"{BLOCKED}' in text:
            return Answer(403)
        post = next((id_ for id_ in self.lesswrong if f'"{id_}"' in text), None)
        if post is None:
            return _json({"data": {"post": {"result": None}}})
        stated = f"{post}x" if fault == "other_page" else post
        result = {"_id": stated, "title": "A post", "contents": {"html": self.lesswrong[post]}, "user": None}
        return _json({"data": {"post": {"result": result}}})

    def _substack_post(self, request: Seen, fault: Fault | None) -> Answer:
        slug = unquote(request.path.rpartition("/")[2])
        if slug.startswith(BLOCKED):
            return Answer(403)
        if slug not in self.substack:
            return Answer(404, {}, b'{"errors":[]}')
        id_, html = self.substack[slug]
        stated = id_ + (1 if fault == "other_page" else 0)
        return _json({"id": stated, "slug": slug, "title": "A post", "body_html": html})


def _json(value: object) -> Answer:
    return Answer(200, {"content-type": "application/json"}, json.dumps(value).encode())
