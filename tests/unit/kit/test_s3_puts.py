"""Puts of small objects, by a server that answers as it is told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256

import pytest

from kit.blob_settings import BlobSettings
from kit.s3_puts import LARGEST_BYTES, SmallPuts

TIMEOUT_S = 5.0
KEPT = 'HTTP/1.1 200 OK\r\netag: "1"\r\ncontent-length: 0\r\n\r\n'
REFUSED = "HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n"
BROKEN = "HTTP/1.1 500 Internal Server Error\r\ncontent-length: 0\r\n\r\n"


def removal(outcome: str) -> str:
    body = f"<DeleteResult>{outcome}</DeleteResult>"
    return f"HTTP/1.1 200 OK\r\ncontent-length: {len(body)}\r\n\r\n{body}"


class Store:
    """What was asked of it, by how many connections."""

    def __init__(self) -> None:
        self.answer = KEPT
        self.requests: list[str] = []
        self.bodies: list[bytes] = []
        self.connections = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                length = int(head.partition("content-length: ")[2].partition("\r\n")[0])
                self.bodies.append(await reader.readexactly(length))
                self.requests.append(head)
                writer.write(self.answer.encode())
        except asyncio.IncompleteReadError:
            writer.close()


@asynccontextmanager
async def serving() -> AsyncIterator[tuple[Store, SmallPuts]]:
    store = Store()
    server = await asyncio.start_server(store.serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    settings = BlobSettings(f"127.0.0.1:{port}", "the-key", "the-secret", "bucket")
    try:
        yield store, SmallPuts(settings, connect_s=TIMEOUT_S, whole_s=TIMEOUT_S)
    finally:
        server.close()


async def test_an_object_is_put_signed_by_our_keys_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a proxy of the environment sees it, nor does a token of the environment spoil the signature."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "of-another")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    async with serving() as (store, puts):
        assert await puts.put("until/now/name", b"words", "text/plain")
    (head,) = store.requests
    assert head.startswith("put /bucket/until/now/name http/1.1\r\n")
    assert "credential=the-key/" in head
    assert "content-type: text/plain\r\n" in head
    assert f"x-amz-content-sha256: {sha256(b'words').hexdigest()}" in head
    assert "of-another" not in head
    assert store.bodies == [b"words"]


@pytest.mark.parametrize("answer", [REFUSED, BROKEN])
async def test_what_is_refused_is_tried_once_and_is_not_stored(answer: str) -> None:
    async with serving() as (store, puts):
        store.answer = answer
        assert not await puts.put("name", b"words", "text/plain")
        assert len(store.requests) == 1
        store.answer = KEPT
        assert await puts.put("name", b"words", "text/plain")


async def test_no_connection_is_used_again_after_they_were_dropped() -> None:
    async with serving() as (store, puts):
        assert await puts.put("name", b"words", "text/plain")
        assert await puts.put("name", b"words", "text/plain")
        assert store.connections == 1
        puts.drop_connections()
        assert await puts.put("name", b"words", "text/plain")
        assert store.connections == 2


async def test_a_large_object_is_left_to_the_other_client() -> None:
    async with serving() as (store, puts):
        assert not await puts.put("name", bytes(LARGEST_BYTES + 1), "text/plain")
    assert store.requests == []


async def test_where_nobody_listens_nothing_is_stored() -> None:
    async with serving() as (_, puts):
        pass
    assert not await puts.put("name", b"words", "text/plain")


async def test_an_object_is_removed_in_one_request() -> None:
    async with serving() as (store, puts):
        store.answer = removal("<Deleted><Key>until/now/name</Key></Deleted>")
        assert await puts.remove("until/now/name")
        (head,) = store.requests
        assert head.startswith("post /bucket?delete")
        assert b"<Key>until/now/name</Key>" in store.bodies[0]


@pytest.mark.parametrize(
    "answer", [REFUSED, BROKEN, "<Error><Key>name</Key><Code>AccessDenied</Code><Message>no</Message></Error>"]
)
async def test_what_may_not_be_removed_is_tried_once(answer: str) -> None:
    async with serving() as (store, puts):
        store.answer = removal(answer) if answer.startswith("<") else answer
        assert not await puts.remove("name")
        assert len(store.requests) == 1
