"""Articles as the auditor fetches them, over real sockets: what is read, and the code of what is not."""

from __future__ import annotations

import gzip
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kit.documents.reading import Reader
from kit.sources import Pages
from kit.web import GuardedHttpClient, Policy
from services.auditor.adapters import WebArticles
from services.auditor.domain import MAX_WORDS, Article, NoArticle, Refusal
from tests.support.fakes import StillClock
from tests.support.pdf_files import columns
from tests.support.sites import Answer, Seen, Sites

CASES = Path(__file__).parents[1] / "cases" / "articles"
NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
HTML = {"content-type": "text/html; charset=utf-8"}
LINES = tuple(f"Line {number} of a report about bridges." for number in range(8))

Fetch = Callable[[str, Answer | Callable[[Seen], Answer]], Awaitable[Article | Refusal]]


@pytest.fixture
async def sites() -> AsyncIterator[Sites]:
    async with Sites() as running:
        yield running


@pytest.fixture
async def fetch(sites: Sites) -> AsyncIterator[Fetch]:
    async with GuardedHttpClient(
        Policy("https://contact.example/", timeout_s=60, exempt_origins=frozenset({sites.url}))
    ) as http:
        pages = Pages(http, Reader(within_s=120).read_article, StillClock(NOW), archive=None)

        async def go(path: str, answer: Answer | Callable[[Seen], Answer]) -> Article | Refusal:
            sites.pages[path] = answer
            try:
                return await WebArticles(pages).fetch(f"{sites.url}{path}", NOW)
            except NoArticle as refused:
                return refused.code

        yield go
        await pages.close()


def case(name: str) -> Answer:
    return Answer(200, HTML, (CASES / name).read_bytes())


@pytest.mark.parametrize(
    "name", ["news.html", "japanese.html", "paywall_part_twin.html", "consent_twin.html", "consent_topic.html"]
)
async def test_articles_that_everybody_may_read_are_read(name: str, fetch: Fetch) -> None:
    found = await fetch("/article", case(name))
    assert isinstance(found, Article)
    assert found.words.published == found.reference_day != NOW.date()


@pytest.mark.parametrize(
    "name", ["paywall.html", "paywall_words.html", "consent.html", "consent_german.html", "login.html"]
)
async def test_what_is_behind_a_wall_is_not_public(name: str, fetch: Fetch) -> None:
    assert await fetch("/article", case(name)) == "NOT_PUBLIC"


@pytest.mark.parametrize("gate", ["/login", "/consent-wall"])
async def test_a_gate_that_shows_much_text_is_none_the_less_one(gate: str, fetch: Fetch, sites: Sites) -> None:
    sites.pages[gate] = case("news.html")
    assert await fetch("/article", Answer(302, {"location": f"{gate}?next=/article"})) == "NOT_PUBLIC"


async def test_a_page_that_sets_a_cookie_and_redirects_to_itself_is_read(fetch: Fetch, sites: Sites) -> None:
    def page(seen: Seen) -> Answer:
        if seen.headers.get("cookie") == "visited=1":
            return case("news.html")
        return Answer(307, {"location": f"{sites.url}/article", "set-cookie": "visited=1; Path=/; HttpOnly"})

    assert isinstance(await fetch("/article", page), Article)


async def test_a_pdf_and_a_plain_text_are_articles(fetch: Fetch) -> None:
    data = columns(LINES, (), title="Bridges", author="Ada Byron", created="D:20260131120000")
    found = await fetch("/report", Answer(200, {"content-type": "application/pdf"}, data))
    assert isinstance(found, Article)
    assert (found.words.text, found.words.title, found.words.author) == ("\n".join(LINES), "Bridges", "Ada Byron")
    text = "\n".join(LINES)
    plain = await fetch("/plain", Answer(200, {"content-type": "text/plain"}, text.encode()))
    assert isinstance(plain, Article)
    assert (plain.words.text, plain.words.title, plain.reference_day) == (text, None, NOW.date())


@pytest.mark.requirement("FH-173")
@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (Answer(200, HTML, b"<html><body><h1>Soon here</h1></body></html>"), "UNSUPPORTED_CONTENT"),
        (Answer(200, {"content-type": "text/plain"}, b"Soon here."), "UNSUPPORTED_CONTENT"),
        (Answer(200, {"content-type": "application/pdf"}, columns((), ())), "UNSUPPORTED_CONTENT"),
        (Answer(200, {"content-type": "application/json"}, b'{"a": "%s"}' % (b"x " * 200)), "UNSUPPORTED_CONTENT"),
        (Answer(200, HTML, b"<p>" + b"words " * 2_000_000), "UNSUPPORTED_CONTENT"),
        (Answer(200, HTML | {"content-encoding": "gzip"}, gzip.compress(b"<p>x" * 20_000_000)), "UNSUPPORTED_CONTENT"),
        (Answer(200, {"content-type": "text/plain"}, b"words " * (MAX_WORDS + 1)), "INPUT_TOO_LONG"),
        (Answer(403, HTML, b"no"), "NOT_PUBLIC"),
        (Answer(404, HTML, b"no"), "FETCH_FAILED"),
    ],
    ids=["html", "text", "pdf", "json", "12 MB", "80 MB packed", "10,001 words", "403", "404"],
)
async def test_what_is_no_article_has_a_code(answer: Answer, code: Refusal, fetch: Fetch) -> None:
    """FH-173: An article has at most 10,000 words."""
    assert await fetch("/article", answer) == code
