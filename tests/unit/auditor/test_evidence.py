"""Pages that models quote: only those that were looked up, by any spelling, and none that has no public name."""

from __future__ import annotations

import asyncio
import json

import pytest

from analyses.research import FETCH_URL
from kit.documents.readable import Readable
from kit.sources import Page, PageUnavailable
from services.auditor.evidence import EvidencePages
from tests.support.factories import NOW

PAGE = "https://office.example/tower"
LOCAL = "http://localhost/tower"
STUCK = "https://stuck.example/"


class FewPages:
    """Pages by address; one of them never comes."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def get(self, address: str) -> Page[Readable] | PageUnavailable:
        self.asked.append(address)
        if address == STUCK:
            await asyncio.Event().wait()
        if address.startswith("https://gone.example/"):
            return PageUnavailable("http_404")
        return Page(address, None, NOW, Readable("T", "The tower is 330 metres tall."), "text/html")


@pytest.mark.requirement("FH-143")
async def test_only_pages_that_were_looked_up_are_read() -> None:
    """FH-143: Every quote stands on the page as we read it, else its item is dropped and counted."""
    pages = FewPages()
    found = await EvidencePages(pages).read([PAGE, "https://never.example/", "no address"], [f"{PAGE}#top", LOCAL])
    assert list(found) == [PAGE] == pages.asked
    page = found[PAGE]
    assert page is not None
    assert (page.domain, page.url, page.title) == ("office.example", PAGE, "T")


@pytest.mark.parametrize("address", ["https://gone.example/", LOCAL, "https://[::1]/"])
async def test_what_is_gone_or_has_no_public_name_is_unavailable(address: str) -> None:
    assert await EvidencePages(FewPages()).read([address], [address]) == {address: None}


async def test_a_page_that_does_not_come_holds_up_no_run() -> None:
    found = await EvidencePages(FewPages(), within_s=0.01).read([STUCK, PAGE], [STUCK, PAGE])
    assert found[STUCK] is None
    assert found[PAGE] is not None


async def test_the_page_reader_answers_with_the_same_pages() -> None:
    pages = FewPages()
    read = EvidencePages(pages).tools[FETCH_URL.name]
    answer = json.loads(await read(json.dumps({"url": PAGE})))
    assert (answer["ok"], answer["finalUrl"], answer["contentText"]) == (True, PAGE, "The tower is 330 metres tall.")
    assert "status" not in answer
    gone = json.loads(await read(json.dumps({"url": "https://gone.example/x"})))
    assert (gone["ok"], gone["errorKind"], gone["error"]) == (False, "FETCH_FAILED", "http_404")
    assert json.loads(await read("{}"))["errorKind"] == "INVALID_ARGUMENTS"
