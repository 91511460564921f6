"""`GET /events` as an ASGI application.

A client that does not read is cut rather than waited for: it holds one chunk of ours and the socket's buffers, and it
comes back with the id of the last event it saw. A process takes a limited number of clients, of each network and in
all, and says so.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from typing import Any, Final

import orjson
from prometheus_client import CollectorRegistry, Counter, Gauge

from services.gateway.callers import header
from services.gateway.http import Receive, Reply, Scope, Send, respond, with_common_headers
from services.gateway.ports import Unavailable
from services.gateway.stream.admission import Admission, Refused
from services.gateway.stream.feed import Feed
from services.gateway.stream.question import HELLO, BadQuestion, Question, read_question
from services.gateway.stream.window import Window

PATH: Final = "/events"
_HEADERS: Final = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]
_JSON: Final = b"application/json; charset=utf-8"


class EventsEndpoint:
    """Serves `/events` until `stop`. Units: a write that takes longer than `stall_s` ends the connection."""

    def __init__(
        self,
        feed: Feed,
        admission: Admission,
        address: Callable[[Scope], str],
        registry: CollectorRegistry,
        *,
        stall_s: float,
    ) -> None:
        self._feed = feed
        self._admission = admission
        self._address = address
        self._stall_s = stall_s
        self._clients = 0
        self._stopping = asyncio.Event()
        self._nobody = asyncio.Event()
        self._nobody.set()
        self._gauge = Gauge("openerrata_gateway_event_clients", "Clients of /events now", registry=registry)
        ended = Counter(
            "openerrata_gateway_event_streams", "Connections to /events that ended", ("why",), registry=registry
        )
        self._ended = {why: ended.labels(why) for why in ("gone", "slow", "stopped", "unavailable", "refused")}

    async def stop(self) -> None:
        """End all connections; clients come back to another process with the id of the last event they saw."""
        self._stopping.set()
        await self._nobody.wait()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["method"] != "GET":
            await respond(send, _refusal(405, "This endpoint answers GET.", (b"allow", b"GET")))
            return
        status, message = 503, "No room for another client now; try again."
        address = self._address(scope)
        try:
            self._admission.ask(address)
            question = read_question(scope["query_string"], header(dict(scope["headers"]), b"last-event-id"))
            with self._admission.client(address):
                async with self._feed.looked_into() as window:
                    await self._check(question, window)
                    if not self._stopping.is_set():
                        await self._follow(window, question, receive, send)
                        return
        except BadQuestion as problem:
            await respond(send, _refusal(400, str(problem)))
            return
        except Refused as refusal:
            if refusal.why != "too many":
                status, message = 429, "Too many clients or connections of this network; try again later."
        except Unavailable:
            pass
        self._ended["refused"].inc()
        await respond(send, _refusal(status, message, (b"retry-after", b"5")))

    async def _check(self, question: Question, window: Window) -> None:
        """Raises: BadQuestion: nothing like this was ever sent. Unavailable."""
        if question.after is None or question.after <= window.newest:
            return
        if question.after > await self._feed.log.newest():  # of another log, or of one that lost its end
            raise BadQuestion("Last-Event-ID is ahead of the log; start again from an event that is there.")

    async def _follow(self, window: Window, question: Question, receive: Receive, send: Send) -> None:
        self._clients += 1
        self._nobody.clear()
        self._gauge.inc()
        try:
            self._ended[await self._serve(window, question, receive, with_common_headers(send))].inc()
        finally:
            self._clients -= 1
            if not self._clients:
                self._nobody.set()
            self._gauge.dec()

    async def _serve(self, window: Window, question: Question, receive: Receive, send: Send) -> str:
        """Send until something ends it; what it was."""
        await send({"type": "http.response.start", "status": 200, "headers": list(_HEADERS)})
        gone = asyncio.create_task(_gone(receive))
        stopped = asyncio.create_task(self._stopping.wait())
        sending = asyncio.create_task(self._send(self._feed.chunks(window, question), send))
        tasks = {gone, stopped, sending}
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            ended = [task for task in (sending, gone, stopped) if task.done()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        why = "gone" if ended[0] is gone else "stopped" if ended[0] is stopped else sending.result()
        if why in ("stopped", "unavailable"):
            with suppress(TimeoutError):
                async with asyncio.timeout(self._stall_s):
                    await send({"type": "http.response.body", "body": b""})
        return why

    async def _send(self, chunks: AsyncGenerator[bytes, None], send: Send) -> str:
        async with aclosing(chunks) as opened:
            try:
                await self._write(HELLO, send)
                async for chunk in opened:
                    await self._write(chunk, send)
            except TimeoutError:
                return "slow"
            except Unavailable:
                return "unavailable"
        raise AssertionError("the feed has no end")

    async def _write(self, chunk: bytes, send: Send) -> None:
        async with asyncio.timeout(self._stall_s):
            await send({"type": "http.response.body", "body": chunk, "more_body": True})


async def _gone(receive: Receive) -> None:
    """Return when the client closes the connection."""
    task = asyncio.current_task()
    while True:
        try:
            message: Any = await receive()
        except asyncio.CancelledError:
            if task is not None and task.cancelling():
                raise
            return
        if message["type"] == "http.disconnect":
            return


def _refusal(status: int, message: str, *headers: tuple[bytes, bytes]) -> Reply:
    return Reply(status, orjson.dumps({"message": message}), ((b"content-type", _JSON), *headers))
