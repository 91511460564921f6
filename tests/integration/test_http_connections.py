"""Connections that say nothing, or say it slowly, keep nobody else out."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest
from starlette.types import ASGIApp

from kit import http
from kit.http import SPARE_FILES, HttpServer, bind, ensure_files_for, files_for
from services.gateway.http import Receive, Reply, Scope, Send, respond

WITHIN_S = 30.0
CONNECTIONS = 4
ASK = b"GET / HTTP/1.1\r\nhost: a\r\n"
Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def answer(scope: Scope, receive: Receive, send: Send) -> None:
    await respond(send, Reply(200, b"ok"))


@asynccontextmanager
async def serving(app: ASGIApp = answer, **limits: Any) -> AsyncIterator[Callable[[], Any]]:
    """A server, and what connects to it."""
    server = HttpServer(app, bind("127.0.0.1", 0), **limits)
    await server.start()
    async with AsyncExitStack() as connections:

        async def connect() -> Connection:
            reader, writer = await asyncio.open_connection(*server.address)
            connections.callback(writer.close)
            return reader, writer

        yield connect
    await server.stop()


async def test_many_idle_connections_silence_nobody() -> None:
    ensure_files_for(8_192)  # both ends are here
    async with serving(connections=8_192, header_timeout_s=60) as connect:
        for _ in range(1_100):
            await connect()
        reader, writer = await connect()
        writer.write(ASK + b"connection: close\r\n\r\n")
        async with asyncio.timeout(WITHIN_S):
            assert (await reader.read()).startswith(b"HTTP/1.1 200 ")


async def test_clients_that_leave_do_not_fill_the_memory() -> None:
    """A request goes on when its client has left, and the next client has its connection."""
    may_end, all_wait = asyncio.Event(), asyncio.Event()
    under_way = most = 0

    async def wait(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        if under_way == CONNECTIONS:
            all_wait.set()
        await may_end.wait()
        under_way -= 1
        await respond(send, Reply(200, b"ok"))

    async with serving(wait, connections=CONNECTIONS) as connect:

        async def ask() -> bytes:
            reader, writer = await connect()
            writer.write(ASK + b"connection: close\r\n\r\n")
            async with asyncio.timeout(WITHIN_S):
                return bytes(await reader.read())

        leaving = [(await connect())[1] for _ in range(CONNECTIONS)]
        for writer in leaving:
            writer.write(ASK + b"\r\n")
        async with asyncio.timeout(WITHIN_S):
            await all_wait.wait()
        for writer in leaving:
            writer.close()
        refused = [await ask() for _ in range(2 * CONNECTIONS)]
        assert {each.partition(b"\r\n")[0] for each in refused} == {b"HTTP/1.1 503 Service Unavailable"}
        assert all(b"retry-after: 3\r\n" in each for each in refused)
        assert most == CONNECTIONS
        may_end.set()
        assert (await ask()).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize("sent", [b"", b"GET / HT", ASK, ASK + b"\r\n"], ids=["nothing", "a word", "slowly", "idle"])
async def test_a_connection_that_sends_no_headers_is_closed(sent: bytes) -> None:
    async with serving(header_timeout_s=0.4) as connect:
        reader, writer = await connect()
        writer.write(sent)

        async def drip() -> None:
            while True:
                await asyncio.sleep(0.1)
                writer.write(b"x: y\r\n")

        dripping = asyncio.create_task(drip()) if sent == ASK else None
        async with asyncio.timeout(WITHIN_S):
            await reader.read()
        if dripping is not None:
            dripping.cancel()


@pytest.mark.parametrize(
    ("soft", "hard", "expected"),
    [
        (1_024, 1_048_576, (8_192 + SPARE_FILES, 8_192)),
        (1_048_576, 1_048_576, (1_048_576, 8_192)),
        (1_024, resource.RLIM_INFINITY, (8_192 + SPARE_FILES, 8_192)),
        (resource.RLIM_INFINITY, resource.RLIM_INFINITY, (resource.RLIM_INFINITY, 8_192)),
        (1_024, 4_096, (4_096, 4_096 - SPARE_FILES)),
        (256, 256, (256, 128)),
    ],
)
def test_connections_fit_the_limit_of_open_files(soft: int, hard: int, expected: tuple[int, int]) -> None:
    assert files_for(8_192, soft, hard) == expected


async def test_a_stop_refuses_what_it_cannot_await(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request that takes too long is answered; one whose client does not read is left, and is no error either."""
    monkeypatch.setattr(http, "STOP_TIMEOUT_S", 0.3)
    monkeypatch.setattr(http, "REFUSE_TIMEOUT_S", 0.3)
    all_begun = asyncio.Barrier(3)

    async def answer_late(scope: Scope, receive: Receive, send: Send) -> None:
        await all_begun.wait()
        if scope["path"] == "/large":
            await respond(send, Reply(200, bytes(64 * 1024 * 1024)))
        await asyncio.Event().wait()

    server = HttpServer(answer_late, bind("127.0.0.1", 0))
    await server.start()
    reader, waiting = await asyncio.open_connection(*server.address)
    waiting.write(ASK + b"\r\n")
    _, deaf = await asyncio.open_connection(*server.address)
    deaf.transport.pause_reading()  # type: ignore[attr-defined]  # its type is of the half that writes
    deaf.write(ASK.replace(b"/", b"/large", 1) + b"\r\n")
    async with asyncio.timeout(WITHIN_S):
        await all_begun.wait()
        await server.stop()
        head = await reader.readuntil(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 503 ")
    assert b"\r\nretry-after: 3\r\n" in head
    waiting.close()
    deaf.close()
