"""Cited pages are fetched again, over real sockets: what each kind of page comes to when a hold is over."""

from __future__ import annotations

from functools import partial
from typing import Final

import pytest

from contracts.v1.parts import Source
from kit.documents.reading import Reader
from kit.sources import FetchTimings, Pages
from kit.web import GuardedHttpClient, Policy
from lifecycle.display import Fresh
from services.curator.second_look import SecondLook, read_words
from tests.support.fakes import StillClock
from tests.support.public_record import MOON
from tests.support.sites import Answer, Sites

SAID: Final = "The summit was first reached on 29 May 1953."


@pytest.mark.requirement("TR-32")
@pytest.mark.parametrize(
    ("second", "fresh"),
    [
        (Answer(200, {"content-type": "text/html"}, f"<p>It is known: {SAID}</p>".encode()), "CONFIRMED"),
        (Answer(200, {"content-type": "text/html"}, b"<p>The summit was first reached in 1954.</p>"), "CHANGED"),
        (Answer(404, {"content-type": "text/html"}, SAID.encode()), "UNAVAILABLE"),
    ],
)
async def test_a_page_confirms_only_what_it_says_now(second: Answer, fresh: Fresh) -> None:
    """TR-32: A finding is held by its post's views, looked at twice where many read it, and not switched on and off"""
    async with Sites() as sites:
        sites.pages["/first"] = Answer(200, {"content-type": "text/plain"}, SAID.encode())
        sites.pages["/second"] = second
        urls = [f"{sites.url}/{name}" for name in ("first", "second")]
        assert await look(sites, *urls) == fresh


async def look(sites: Sites, *urls: str) -> Fresh:
    """The second look at a claim that cites these."""
    approval = MOON.approved(0)
    sources = tuple(Source(url=url, title="A page", snippet=SAID) for url in urls)
    payload = approval.payload.model_copy(update={"sources": sources})
    async with GuardedHttpClient(Policy(exempt_origins=frozenset({sites.url}))) as http:
        timings = FetchTimings(retry_after_s=0.01)
        pages = Pages(http, partial(read_words, Reader(within_s=60)), StillClock(), timings, archive=None)
        try:
            return await SecondLook(pages).look(approval.model_copy(update={"payload": payload}))
        finally:
            await pages.close()
