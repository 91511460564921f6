"""Jobs by address whose address leads inside, or to something that is no article: they fail with a code, and free."""

from __future__ import annotations

import signal
import sys
from datetime import datetime

import pytest

from contracts.v1 import JobEnded
from kit.clock import SystemClock
from kit.documents.reading import Reader
from kit.errors import Retry
from kit.sources import Pages
from kit.web import GuardedHttpClient, Policy
from services.auditor.adapters import WebArticles
from services.auditor.domain import Article
from tests.support.auditing import World
from tests.support.diverted import Diverted, resolver
from tests.support.sites import Answer, Sites

PUBLIC = "93.184.215.14"
ADDRESS = "http://news.example/story"
HTML = {"content-type": "text/html; charset=utf-8"}
LIES = (("127.0.0.1",), ("169.254.169.254",), (PUBLIC, "10.0.0.1"), ("::1",), (PUBLIC, "::ffff:127.0.0.1"))
INSIDE = (
    "http://127.0.0.1/admin",
    "http://[::1]/",
    "http://169.254.169.254/latest/meta-data/",
    "http://2130706433/",
    "http://db.internal/",
    "http://localhost:8787/v1/health",
)


class Online(World):
    """One job whose article is fetched for real."""

    def __init__(self, network: Diverted, addresses: tuple[str, ...], reader: Reader | None = None) -> None:
        super().__init__(url=ADDRESS)
        resolve, self.asked = resolver(addresses)
        http = GuardedHttpClient(Policy(contact_url="https://errata.example"), resolve=resolve, network=network)
        self.pages = Pages(http, (reader or Reader()).read_article, SystemClock(), archive=None)
        self.http = http

    async def fetch(self, address: str, accepted_at: datetime) -> Article:
        return await WebArticles(self.pages).fetch(address, accepted_at)

    async def end(self) -> JobEnded:
        """What became of the job."""
        try:
            *_, last = await self.whole()
        finally:
            await self.pages.close()
            await self.http.close()
        assert isinstance(last, JobEnded), last
        return last


async def expect(ended: JobEnded, world: Online, code: str) -> None:
    assert (ended.outcome, ended.code, ended.charged_micro_usd) == ("FAILED", code, 0)
    assert world.bought == 0, "no model was asked"


@pytest.mark.requirement("FH-156", "2.13-05")
@pytest.mark.parametrize("addresses", LIES, ids=repr)
async def test_a_name_that_leads_inside_is_not_connected_to(addresses: tuple[str, ...]) -> None:
    """FH-156: A claim that fails says why and costs nothing.
    2.13-05: SSRF-safe image fetch.
    """
    async with Sites() as sites:
        network = Diverted(sites.port)
        world = Online(network, addresses)
        await expect(await world.end(), world, "NOT_PUBLIC")
    assert (network.connected, sites.requests) == ([], [])


@pytest.mark.parametrize("inside", INSIDE)
async def test_a_redirect_inside_is_not_followed(inside: str) -> None:
    async with Sites() as sites:
        sites.pages["/story"] = Answer(302, {"location": inside})
        network = Diverted(sites.port)
        world = Online(network, (PUBLIC,))
        ended = await world.end()
    assert ended.code in ("NOT_PUBLIC", "FETCH_FAILED")
    await expect(ended, world, ended.code)
    assert {host for host, _ in network.connected} == {PUBLIC}
    assert [each.path for each in sites.requests] == ["/story"]


async def test_an_article_whose_reader_is_killed_is_read_again_and_costs_nothing() -> None:
    """The system kills a process when its memory is short, whatever the document is."""
    killed = Reader(command=(sys.executable, "-c", f"import os; os.kill(os.getpid(), {signal.SIGKILL})"))
    async with Sites() as sites:
        sites.pages["/story"] = Answer(200, HTML, b"<p>" + b"A very long walk. " * 99)
        world = Online(Diverted(sites.port), (PUBLIC,), killed)
        with pytest.raises(Retry):
            await world.end()
    assert world.bought == 0


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (Answer(200, HTML, b"<p>" + b"A very long walk. " * 2_912_711), "UNSUPPORTED_CONTENT"),
        (Answer(200, {"content-type": "image/png"}, b"\x89PNG\r\n\x1a\n" + bytes(999)), "UNSUPPORTED_CONTENT"),
        (Answer(200, HTML, b""), "UNSUPPORTED_CONTENT"),
        (Answer(200, HTML, b"<p>" + b"word " * 10_001), "INPUT_TOO_LONG"),
        (Answer(200, HTML, b"<div>" * 200_000), "UNSUPPORTED_CONTENT"),
        (Answer(401, HTML, b"<p>Log in.</p>"), "NOT_PUBLIC"),
        (Answer(500, HTML, b"<p>Sorry.</p>"), "FETCH_FAILED"),
        (Answer(302, {"location": "/story"}), "FETCH_FAILED"),
        (Answer(200, HTML, b"<title>Page not found</title><p>" + b"It was moved or deleted. " * 9), "FETCH_FAILED"),
        (Answer(200, HTML, b"<title>Just a moment...</title><p>" + b"We check your connection. " * 9), "NOT_PUBLIC"),
    ],
    ids=["50 MB", "picture", "empty", "long", "deep", "closed", "broken", "loop", "soft 404", "challenge"],
)
async def test_what_is_no_article_has_a_code_and_costs_nothing(answer: Answer, code: str) -> None:
    async with Sites() as sites:
        sites.pages["/story"] = answer
        world = Online(Diverted(sites.port), (PUBLIC,))
        ended = await world.end()
    await expect(ended, world, code)
