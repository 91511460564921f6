"""`GET /events` as an ASGI application.

A client that does not read is disconnected: it occupies one chunk and the socket's buffers, and can reconnect with the
id of the last event it received. A process serves a limited number of clients, per network and in all.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Final

import orjson
from prometheus_client import CollectorRegistry, Counter, Gauge

from services.gateway.callers import header
from services.gateway.http import Receive, Reply, Scope, Send, respond, with_common_headers
from services.gateway.ports import Unavailable
from services.gateway.public.stream.admission import Admission, Refused
from services.gateway.public.stream.feed import Feed
from services.gateway.public.stream.question import HELLO, BadQuestion, Question, read_question
from services.gateway.public.stream.window import Window
from services.gateway.streaming import serve_events

PATH: Final = "/events"
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
        self._idle = asyncio.Event()
        self._idle.set()
        self._gauge = Gauge("openerrata_gateway_event_clients", "Clients of /events now", registry=registry)
        ended = Counter(
            "openerrata_gateway_event_streams", "Connections to /events that ended", ("why",), registry=registry
        )
        self._ended = {why: ended.labels(why) for why in ("gone", "slow", "stopped", "unavailable", "refused")}

    async def stop(self) -> None:
        """End all connections; clients reconnect to another process with the id of their last event."""
        self._stopping.set()
        await self._idle.wait()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["method"] != "GET":
            await respond(send, _refusal(405, "This endpoint answers GET.", (b"allow", b"GET")))
            return
        status, message = 503, "No room for another client now; try again."
        address = self._address(scope)
        try:
            self._admission.check_rate(address)
            question = read_question(scope["query_string"], header(dict(scope["headers"]), b"last-event-id"))
            with self._admission.reserve(address):
                async with self._feed.open_window() as window:
                    await self._check(question, window)
                    if not self._stopping.is_set():
                        await self._follow(window, question, receive, send)
                        return
        except BadQuestion as problem:
            await respond(send, _refusal(400, str(problem)))
            return
        except Refused as refusal:
            if refusal.why != "too many":
                status, message = 429, "Too many clients or connections from this network; try again later."
        except Unavailable:
            pass
        self._ended["refused"].inc()
        await respond(send, _refusal(status, message, (b"retry-after", b"5")))

    async def _check(self, question: Question, window: Window) -> None:
        """Raises: BadQuestion: the id is ahead of the log. Unavailable."""
        if question.after is None or question.after <= window.newest:
            return
        if question.after > await self._feed.log.newest():  # of another log, or of one that was truncated
            raise BadQuestion("Last-Event-ID is ahead of the log; start again from an event that exists.")

    async def _follow(self, window: Window, question: Question, receive: Receive, send: Send) -> None:
        self._clients += 1
        self._idle.clear()
        self._gauge.inc()
        try:
            chunks = self._chunks(window, question)
            why = await serve_events(chunks, receive, with_common_headers(send), self._stopping, stall_s=self._stall_s)
            self._ended[why].inc()
        finally:
            self._clients -= 1
            if not self._clients:
                self._idle.set()
            self._gauge.dec()

    async def _chunks(self, window: Window, question: Question) -> AsyncGenerator[bytes, None]:
        yield HELLO
        async with aclosing(self._feed.chunks(window, question)) as opened:
            async for chunk in opened:
                yield chunk


def _refusal(status: int, message: str, *headers: tuple[bytes, bytes]) -> Reply:
    return Reply(status, orjson.dumps({"message": message}), ((b"content-type", _JSON), *headers))
