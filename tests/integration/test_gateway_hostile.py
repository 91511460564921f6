"""Nothing that a client can write into a request is an error of ours: every route, malformed in every part."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Iterator
from time import monotonic
from typing import Any
from urllib.parse import quote

import pytest

from tests.support.gateway import REGISTER, Running, migrated, serving
from tests.support.servers import Prepare

pytest_plugins = ["tests.support.servers"]

TEXTS = ("", "\0", "a\0b", "\ud800", "%", "'", "é", "-1", "1e9", "9" * 30, "١", "../..", "\r\n", "\x01", "😀", "NaN")
KEYS: tuple[list[Any], ...] = (
    ["a\0b", "0" * 32],
    ["\ud800", "0" * 32],
    ["a", "zz"],
    ["a\0", "0" * 32, "k"],
    ["2026-01-01T00:00:00+00:00", "0" * 32, "k\0"],
    ["2026-01-01T00:00:00+00:00", "0" * 32, "\ud800"],
    ["0001-01-01T00:00:00+23:59", "0" * 32, "k"],
    ["NaT", "0" * 32, "k"],
    [1, None],
)
PLACES = ("0.", "-99999999999999999.", "253402300799999999.", "-62135596800000000.", "rank.1", "rank.99999", "٣.")
PAGES = (
    "/",
    "/corrections",
    "/corrections/{}",
    "/investigations/{}",
    "/investigations/{}/text",
    "/investigations/{}/audit",
    "/investigations/{}/prompt.txt",
    "/investigations/{}/proof.cbor",
    "/investigations/{}/card.png",
    "/investigations/{}.json",
    "/posts/{}/{}",
    "/posts/X/{}",
    "/sources/{}",
    "/authors",
    "/authors/{}",
    "/figures",
    "/accuracy",
    "/accuracy.json",
    "/api",
    "/docs",
    "/feeds/{}.atom",
    "/feeds/all.{}",
    "/feeds/authors/{}.json",
    "/sitemap.xml",
    "/sitemaps/{}.xml",
    "/robots.txt",
    "/health",
    "/openapi.json",
    "/trpc/{}",
    "/{}",
)
PARAMETERS = ("q", "page", "part", "after", "platform", "order")
QUERIES = (
    "query($a: String) { search(after: $a) { edges { cursor } } }",
    'query($a: String) { search(query: "x", after: $a) { edges { cursor } } }',
    "query($a: String) { search(query: $a, order: NEWEST) { edges { cursor } } }",
    "query($a: String) { authors(after: $a) { edges { cursor } } }",
    "query($a: String) { authors(query: $a) { edges { cursor } } }",
    "query($a: String) { integrityAnomalies(after: $a) { edges { cursor } } }",
    "query($a: String) { integrityAnomalies(platform: X, externalId: $a) { edges { cursor } } }",
    "query($a: ID!) { author(id: $a) { id investigations(first: null) { edges { cursor } } } }",
    "query($a: String!) { postInvestigations(platform: X, externalId: $a) { post { url } } }",
    "query($a: String) { publicMetrics(authorId: $a) { totalInvestigatedPosts } }",
)
FIRSTS = tuple(
    f"{{ {field}(first: {first}) {{ edges {{ cursor }} }} }}"
    for field in ("search", "authors", "integrityAnomalies")
    for first in ("null", "0", "-1", "101")
)
HEADERS = (
    "x-api-key",
    "x-openai-api-key",
    "user-agent",
    "x-openerrata-extension-version",
    "x-openerrata-signature",
    "content-type",
    "accept",
    "if-none-match",
    "if-modified-since",
    "host",
    "origin",
)
VALUES = (b"", b"\xff\xfe", b"\xc3\xa9", b"-1", b"9" * 30, b"," * 100, b"Mon, 01 Jan 99999 00:00:00 GMT", b"x" * 8_000)


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return migrated


@pytest.fixture
async def running(nats_url: str, database_url: str) -> AsyncIterator[Running]:
    async with serving(nats_url, database_url, body_silence_s=0.3) as gateway_and_client:
        yield gateway_and_client


def quoted(text: str) -> str:
    return quote(text.encode("utf-8", "surrogatepass"), safe="")


def encoded(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode("utf-8", "surrogatepass")).decode().rstrip("=")


def cursors() -> Iterator[str]:
    """What a client may put where a cursor belongs."""
    yield from TEXTS
    yield from map(encoded, TEXTS)
    yield from (encoded(json.dumps(key)) for key in KEYS)
    yield from (encoded(f"{place}{'0' * 32}") for place in PLACES)


def addresses() -> Iterator[str]:
    """Every page with malformed parts and parameters."""
    yield from dict.fromkeys(page.replace("{}", quoted(text)) for page in PAGES for text in TEXTS)
    for text in TEXTS:
        for parameter in PARAMETERS:
            yield from (f"{page}?{parameter}={quoted(text)}" for page in ("/corrections", "/authors", "/events"))
    for cursor in cursors():
        for page in ("/corrections", "/corrections?q=x&order=newest", "/authors"):
            yield f"{page}{'&' if '?' in page else '?'}after={quoted(cursor)}"


async def sent(running: Running, request: bytes) -> bytes:
    """The first bytes that answer a request written by hand."""
    address = running.http.base_url
    reader, writer = await asyncio.open_connection(address.host, address.port)
    try:
        writer.write(request)
        async with asyncio.timeout(30):  # a stalled machine is no error of ours
            return await reader.read(4_096)
    finally:
        writer.close()


def posting(path: str, rest: str) -> bytes:
    head = f"POST {path} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n"
    return f"{head}x-openerrata-extension-version: 0.3.3\r\n{rest}".encode()


@pytest.mark.parametrize("path", [f"/trpc/{REGISTER}", "/graphql"])
async def test_a_broken_chunk_is_a_bad_request(running: Running, path: str) -> None:
    for chunks in ("ZZ\r\nabc\r\n", "3\r\nabcd\r\n"):
        answer = await sent(running, posting(path, f"transfer-encoding: chunked\r\n\r\n{chunks}"))
        assert answer.startswith(b"HTTP/1.1 400 "), answer


@pytest.mark.parametrize("path", [f"/trpc/{REGISTER}", "/graphql"])
async def test_missing_bytes_are_not_waited_for(running: Running, path: str) -> None:
    began = monotonic()
    answer = await sent(running, posting(path, "content-length: 100\r\n\r\nabc"))
    assert answer.startswith(b"HTTP/1.1 408 "), answer
    assert monotonic() - began < 3


async def test_no_address_is_an_error_of_ours(running: Running) -> None:
    broken = []
    for address in addresses():
        async with running.http.stream("GET", address) as response:
            if response.status_code >= 500:
                broken.append((response.status_code, address))
    assert broken == []


async def test_no_graphql_query_is_an_error_of_ours(running: Running) -> None:
    broken = []
    asked = [(query, text) for query in QUERIES for text in cursors()] + [(query, "") for query in FIRSTS]
    for query, text in asked:
        body = json.dumps({"query": query, "variables": {"a": text}}).encode()
        response = await running.http.post("/graphql", content=body, headers={"content-type": "application/json"})
        if response.status_code >= 500 or "INTERNAL_SERVER_ERROR" in response.text:
            broken.append((query, text, response.text))
    assert broken == []


async def test_no_header_is_an_error_of_ours(running: Running) -> None:
    usual = {"host": b"a", "content-type": b"application/json", "x-openerrata-extension-version": b"0.3.3"}
    broken = []
    for path in ("/trpc/post.validateSettings", "/", "/feeds/all.atom", "/robots.txt", "/graphql?query={__typename}"):
        for name in HEADERS:
            for value in VALUES:
                headers = b"".join(b"%b: %b\r\n" % (n.encode(), v) for n, v in {**usual, name: value}.items())
                answer = await sent(
                    running, b"GET %b HTTP/1.1\r\n%bconnection: close\r\n\r\n" % (path.encode(), headers)
                )
                if answer[9:10] not in (b"2", b"3", b"4"):
                    broken.append((path, name, value, answer))
    assert broken == []
