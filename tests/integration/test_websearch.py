"""Our own web search through the real http, over loopback pages written as the engines write theirs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
from pydantic import SecretStr

from kit.models.websearch.engines import Brave, DuckDuckGo, Tavily
from kit.models.websearch.tool import MAX_RESULTS, WEB_SEARCH, Engine, WebSearch
from kit.web import GuardedHttpClient, Policy

KEY = SecretStr("search-key-0123456789")
DUCK = """<html><body><div id="links">
<div class="result results_links web-result"><h2><a class="result__a"
 href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fexample.org%2Fbats%3Fa%3D1&amp;rut=f">Bats &amp; <b>sight</b></a></h2>
 <a class="result__snippet" href="x">Bats   can <b>see</b>.</a></div>
<div class="result result--ad"><a class="result__a" href="https://duckduckgo.com/y.js?ad_domain=x">Buy bats</a></div>
<div class="result"><a class="result__a" href="https://example.net/">Plain</a></div>
<div class="result"><a class="result__a" href="javascript:alert(1)">Script</a></div>
<div class="result"><a class="result__a" href="https://[bats/">Invalid</a></div>
<div class="result"><a class="result__a" href="https://notduckduckgo.com/">Another site</a></div>
</div></body></html>"""
BRAVE = {
    "web": {
        "results": [
            {"title": "Bats", "url": "https://example.org/bats", "description": "They <strong>see</strong>."},
            {"title": "No address"},
            {"title": "Odd", "url": "ftp://example.org", "description": "x"},
        ]
    }
}
TAVILY = {"results": [{"title": "Bats", "url": "https://example.org/bats", "content": "They see.", "score": 0.9}]}


@dataclass
class Site:
    """Answers every request alike and keeps what was asked."""

    body: bytes
    status: int = 200
    asked: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        self.asked.append((head[0], headers, body))
        writer.write(f"HTTP/1.1 {self.status} X\r\ncontent-length: {len(self.body)}\r\n\r\n".encode() + self.body)
        await writer.drain()
        writer.close()


@asynccontextmanager
async def standing(site: Site) -> AsyncIterator[tuple[GuardedHttpClient, str]]:
    server = await asyncio.start_server(site.serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        async with GuardedHttpClient(Policy(exempt_origins=frozenset({url}))) as http:
            yield http, f"{url}/search"
    finally:
        server.close()
        await server.wait_closed()


def made(name: str, http: GuardedHttpClient, url: str) -> Engine:
    match name:
        case "duckduckgo":
            return DuckDuckGo(http, url)
        case "brave":
            return Brave(http, KEY, url)
        case _:
            return Tavily(http, KEY, url)


GOOD = {"duckduckgo": DUCK.encode(), "brave": json.dumps(BRAVE).encode(), "tavily": json.dumps(TAVILY).encode()}


@pytest.mark.parametrize("name", GOOD)
async def test_an_engines_answer_becomes_titles_addresses_and_extracts(name: str) -> None:
    site = Site(GOOD[name])
    async with standing(site) as (http, url):
        answer = json.loads(await WebSearch(made(name, http, url))('{"query": " do bats see? "}'))
    assert answer["ok"] is True
    assert answer["query"] == "do bats see?"
    first, *others = answer["results"]
    assert first["url"].startswith("https://example.org/bats")
    assert "see." in first["snippet"]
    assert "<" not in first["title"] + first["snippet"]
    assert [each["url"] for each in others] == (
        ["https://example.net/", "https://notduckduckgo.com/"] if name == "duckduckgo" else []
    )


async def test_a_key_travels_in_a_header_and_nowhere_else() -> None:
    for name, header in (("brave", "x-subscription-token"), ("tavily", "authorization")):
        site = Site(GOOD[name])
        async with standing(site) as (http, url):
            await WebSearch(made(name, http, url))('{"query": "bats"}')
        ((line, headers, body),) = site.asked
        assert KEY.get_secret_value() in headers[header]
        assert KEY.get_secret_value() not in line
        assert KEY.get_secret_value().encode() not in body


@pytest.mark.parametrize("name", GOOD)
@pytest.mark.parametrize(
    ("body", "status"),
    [(b"", 200), (b"<p>Are you human?</p>", 200), (b"[]", 200), (b'{"results": 1}', 200), (b"", 429)],
)
async def test_an_answer_that_cannot_be_read_does_not_look_like_no_results(name: str, body: bytes, status: int) -> None:
    if status == 429:
        body = GOOD[name]
    if name == "brave" and body == b'{"results": 1}':
        body = b'{"web": {"results": 1}}'
    async with standing(Site(body, status)) as (http, url):
        answer = json.loads(await WebSearch(made(name, http, url))('{"query": "bats"}'))
    assert answer["ok"] is False
    assert answer["error"]


async def test_results_in_a_form_that_is_not_known_do_not_look_like_no_results() -> None:
    body = DUCK.replace('class="result__a"', 'class="title"').encode()
    async with standing(Site(body)) as (http, url):
        answer = json.loads(await WebSearch(made("duckduckgo", http, url))('{"query": "bats"}'))
    assert answer["ok"] is False


async def test_no_results_are_an_answer() -> None:
    for name, body in (
        ("duckduckgo", b"<div id=links></div>"),
        ("duckduckgo", b'<div class=results><div class="result result--no-result"><p class=no-results></div></div>'),
        ("duckduckgo", b'<div class=result><a class=result__a href="https://duckduckgo.com/y.js">Ad</a></div>'),
        ("brave", b"{}"),
        ("tavily", b'{"results": []}'),
    ):
        async with standing(Site(body)) as (http, url):
            answer = json.loads(await WebSearch(made(name, http, url))('{"query": "bats"}'))
        assert (answer["ok"], answer["results"]) == (True, [])


async def test_what_comes_back_can_be_sent_to_a_model() -> None:
    found = {"title": "Bats", "url": "https://e.org/\ud83d", "content": "x"}
    async with standing(Site(json.dumps({"results": [found]}).encode())) as (http, url):
        answer = await WebSearch(made("tavily", http, url))('{"query": "bats"}')
    assert json.loads(answer.encode())["results"][0]["url"] == "https://e.org/\ufffd"


async def test_what_comes_back_is_bounded() -> None:
    many = [{"title": "t" * 999, "url": f"https://e.org/{n}", "content": "c" * 9999} for n in range(50)]
    async with standing(Site(json.dumps({"results": many}).encode())) as (http, url):
        answer = await WebSearch(made("tavily", http, url))('{"query": "bats"}')
    assert len(json.loads(answer)["results"]) == MAX_RESULTS
    assert len(answer) < 10_000


@pytest.mark.parametrize("arguments", ["", "{", "[]", "{}", '{"query": ""}', '{"query": 1}', '{"query": "a", "n": 1}'])
async def test_bad_arguments_are_answered_and_nothing_is_asked(arguments: str) -> None:
    site = Site(DUCK.encode())
    async with standing(site) as (http, url):
        answer = json.loads(await WebSearch(made("duckduckgo", http, url))(arguments))
    assert answer["ok"] is False
    assert site.asked == []


async def test_an_engine_that_is_not_there_is_answered() -> None:
    async with standing(Site(b"")) as (_, url):
        pass
    async with GuardedHttpClient(Policy(exempt_origins=frozenset({url.removesuffix("/search")}))) as http:
        answer = json.loads(await WebSearch(made("duckduckgo", http, url))('{"query": "bats"}'))
    assert answer["ok"] is False


def test_the_tool_has_a_strict_schema() -> None:
    assert WEB_SEARCH.parameters["additionalProperties"] is False
    assert WEB_SEARCH.parameters["required"] == ["query"]
