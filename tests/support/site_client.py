"""The small public record as pages, and what tests of them need; a pytest plugin."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from datetime import timedelta

import httpx
import pytest
from starlette.routing import Router

from tests.support.public_record import (
    CLEAN,
    EDITED,
    ESSAY,
    HOSTILE,
    MOON,
    OLD,
    TWEET,
    Article,
    public_record,
)
from tests.support.site_server import pages_of, tell
from tests.unit.gateway.fakes import KeptCopies

LD = re.compile(r'<script type="application/ld\+json">(.*?)</script>', re.DOTALL)
TAG = re.compile(r"<[^>]+>")
BASE = "https://errata.example"
HTML = {"accept": "text/html"}
UNCITED = b"Nobody cites this."
COPY = "<html><script>alert(7)</script>d\u00e9j\u00e0</html>".encode()
PAPER = b"%PDF-1.7 \xff\xfe"


@pytest.fixture
async def http(database_url: str) -> AsyncIterator[httpx.AsyncClient]:
    errata, views = public_record()
    await tell(database_url, errata, views)
    later = errata.now + timedelta(hours=1)
    copies = KeptCopies(COPY, PAPER, UNCITED)
    async with pages_of(database_url, later, copies=copies, public_url=BASE) as router, client_of(router) as client:
        yield client


def client_of(router: Router) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=router), base_url="http://site", headers=HTML)


def page_of(article: Article) -> str:
    return f"/investigations/{article.investigation_id}"


async def author_of(http: httpx.AsyncClient, name: str) -> str:
    page = (await http.get("/authors", params={"q": name})).text
    (found,) = set(re.findall(r'href="(/authors/[0-9a-f-]{36})"', page))
    return str(found)


async def every_page(http: httpx.AsyncClient) -> list[str]:
    return [
        "/",
        "/corrections",
        "/corrections?q=moon",
        "/corrections?q=§",
        "/corrections?platform=wikipedia",
        "/corrections?q=the&platform=x",
        *(page_of(each) for each in (MOON, TWEET, ESSAY, CLEAN, OLD, EDITED, HOSTILE)),
        f"{page_of(HOSTILE)}/text",
        f"{page_of(MOON)}/audit",
        f"{page_of(HOSTILE)}/audit",
        f"{page_of(MOON)}/prompt.txt",
        f"{page_of(MOON)}/card.png",
        "/posts/wikipedia/en:555",
        "/posts/x/666",
        "/authors",
        "/authors?q=wonders",
        "/authors?q=d",
        await author_of(http, "Wikipedia contributors"),
        "/figures",
        "/how-it-works",
        "/api",
        "/docs",
        "/feeds/all.atom",
        "/feeds/all.json",
        "/feeds/wikipedia.atom",
        f"/feeds{await author_of(http, 'Emmy Reader')}.json",
        "/sitemap.xml",
        "/sitemaps/pages.xml",
        "/sitemaps/2026-01-05.xml",
        "/robots.txt",
        "/static/icon.svg",
        "/nowhere",
    ]
