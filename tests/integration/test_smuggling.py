"""Requests whose framing can be read in two ways: what a proxy might take for a body is never a request here."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import NamedTuple

import pytest
import pytest_asyncio

from kit.http import HttpServer, bind
from services.gateway.http import Receive, Reply, Scope, Send, respond

IDLE_S = 0.5
"""The server closes a connection on which nothing more comes, so a test need not wait for nothing."""
WITHIN_S = 60.0
HIDDEN = "GET /hidden HTTP/1.1\r\nhost: a\r\n\r\n"
LENGTH = len(HIDDEN)
CHUNKED = f"0\r\n\r\n{HIDDEN}"


def _post(headers: str, body: str) -> bytes:
    return f"POST /outer HTTP/1.1\r\nhost: a\r\n{headers}\r\n\r\n{body}".encode("latin-1")


AMBIGUOUS: dict[str, bytes] = {
    "length and chunked": _post(f"content-length: {len(CHUNKED)}\r\ntransfer-encoding: chunked", CHUNKED),
    "chunked and length": _post(f"transfer-encoding: chunked\r\ncontent-length: {len(CHUNKED)}", CHUNKED),
    "length and CHUNKED": _post(f"content-length: {len(CHUNKED)}\r\ntransfer-encoding: CHUNKED", CHUNKED),
    "chunked behind a tab": _post(f"content-length: {len(CHUNKED)}\r\ntransfer-encoding:\tchunked", CHUNKED),
    "a space before the colon": _post(f"content-length: {len(CHUNKED)}\r\ntransfer-encoding : chunked", CHUNKED),
    "chunked in quotes": _post(f'content-length: {len(CHUNKED)}\r\ntransfer-encoding: "chunked"', CHUNKED),
    "a folded header": _post(f"content-length: {len(CHUNKED)}\r\ntransfer-encoding:\r\n chunked", CHUNKED),
    "a vertical tab": _post(f"content-length: {len(CHUNKED)}\r\ntransfer-encoding: \x0bchunked", CHUNKED),
    "xchunked": _post(f"content-length: {len(CHUNKED)}\r\ntransfer-encoding: xchunked", CHUNKED),
    "identity": _post(f"content-length: {len(CHUNKED)}\r\ntransfer-encoding: identity", CHUNKED),
    "chunked, identity": _post(f"content-length: {len(CHUNKED)}\r\ntransfer-encoding: chunked, identity", CHUNKED),
    "identity, chunked": _post(f"content-length: {len(CHUNKED)}\r\ntransfer-encoding: identity, chunked", CHUNKED),
    "chunked twice": _post(f"content-length: {len(CHUNKED)}\r\ntransfer-encoding: chunked, chunked", CHUNKED),
    "two codings": _post(
        f"content-length: {len(CHUNKED)}\r\ntransfer-encoding: chunked\r\ntransfer-encoding: x", CHUNKED
    ),
    "an underscore": _post(f"content-length: {LENGTH}\r\ntransfer_encoding: chunked", HIDDEN),
    "two lengths": _post(f"content-length: 0\r\ncontent-length: {LENGTH}", HIDDEN),
    "two lengths, the other way": _post(f"content-length: {LENGTH}\r\ncontent-length: 0", HIDDEN),
    "a list of lengths": _post(f"content-length: {LENGTH}, 0", HIDDEN),
    "a signed length": _post(f"content-length: +{LENGTH}", HIDDEN),
    "a negative length": _post("content-length: -1", HIDDEN),
    "a hexadecimal length": _post(f"content-length: {LENGTH:#x}", HIDDEN),
    "a length with a blank": _post(f"content-length: {LENGTH // 10} {LENGTH % 10}", HIDDEN),
    "a length beyond 64 bits": _post(f"content-length: {2**64 + LENGTH}", HIDDEN),
    "a bare line feed": f"POST /outer HTTP/1.1\r\nhost: a\r\nx: y\ncontent-length: {LENGTH}\r\n\r\n{HIDDEN}".encode(),
    "a header behind NUL": _post(f"x: y\0\r\ncontent-length: {LENGTH}", HIDDEN),
    "a chunk size that overflows": _post("transfer-encoding: chunked", f"10000000000000000\r\n{HIDDEN}"),
    "a signed chunk size": _post("transfer-encoding: chunked", f"+{LENGTH:x}\r\n{HIDDEN}\r\n0\r\n\r\n"),
    "a chunk that ends elsewhere": _post("transfer-encoding: chunked", f"3\r\nabcXX{HIDDEN}"),
}


class Server(NamedTuple):
    """Where it listens, and the paths it was asked for."""

    address: tuple[str, int]
    paths: list[str]


@pytest_asyncio.fixture
async def server() -> AsyncIterator[Server]:
    """The server of the gateway, with an application that reads its body and answers."""
    paths: list[str] = []

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        paths.append(scope["path"])
        while (message := await receive()).get("more_body"):
            pass
        if message["type"] == "http.request":
            await respond(send, Reply(200, b"ok"))

    running = HttpServer(application, bind("127.0.0.1", 0), header_timeout_s=IDLE_S)
    await running.start()
    host, port = running.address
    yield Server((host, port), paths)
    await running.stop()


@pytest.mark.parametrize("name", AMBIGUOUS)
async def test_hidden_bytes_are_no_request(server: Server, name: str) -> None:
    """Either the request is refused, or the hidden bytes are its body; the connection ends where that is unclear."""
    reader, writer = await asyncio.open_connection(*server.address)
    writer.write(AMBIGUOUS[name])
    with suppress(ConnectionError):
        async with asyncio.timeout(WITHIN_S):
            await reader.read()
    writer.close()
    assert "/hidden" not in server.paths, name


UNREADABLE: dict[str, bytes] = {
    "no HTTP": b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
    "a header without a colon": b"GET /outer HTTP/1.1\r\nbad header\r\n\r\n",
    "two hundred headers": b"GET /outer HTTP/1.1\r\n" + b"a: b\r\n" * 200 + b"\r\n",
    "an endless address": b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n",
}


@pytest.mark.parametrize("name", UNREADABLE)
async def test_what_the_server_refuses_by_itself_has_no_body(server: Server, name: str) -> None:
    """It adds no header of ours there, so there must be nothing that a browser could take for something else."""
    reader, writer = await asyncio.open_connection(*server.address)
    writer.write(UNREADABLE[name])
    async with asyncio.timeout(WITHIN_S):
        answer = await reader.read()
    writer.close()
    status, _, rest = answer.partition(b"\r\n")
    headers, _, body = rest.partition(b"\r\n\r\n")
    assert status.split()[1] in (b"400", b"414", b"431")
    assert (b"content-length: 0" in headers.lower(), body) == (True, b"")
    assert server.paths == []


async def test_two_clear_requests_on_one_connection_are_two(server: Server) -> None:
    """What the test above rests on: a request that follows a clear one is seen."""
    reader, writer = await asyncio.open_connection(*server.address)
    writer.write(_post("content-length: 2", "ab") + HIDDEN.encode())
    async with asyncio.timeout(WITHIN_S):
        await reader.read()
    writer.close()
    assert server.paths == ["/outer", "/hidden"]
