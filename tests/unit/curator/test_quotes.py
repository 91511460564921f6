"""Displayed quotes that are compared with their stored pages: what counts as missing."""

from __future__ import annotations

from hashlib import sha256
from typing import Any, cast
from uuid import UUID

import pytest

from contracts.v1 import Event
from contracts.v1.parts import BlobRef
from kit.documents.reading import Reader
from services.curator.quotes import QuoteCheck
from services.curator.record.displays import DisplayedQuote, Displays, StoredPage
from tests.support.factories import NOW
from tests.support.fakes import StillClock

SAID = "Ostriches never bury their heads in the sand."
PAGES = {f"Keepers say so. {SAID} Nor do emus.": True, "Another day, another page about emus.": False}


class Instance:
    """One displayed quote with its stored pages, and everything that the check asks for or does."""

    def __init__(self, *texts: str) -> None:
        self.stored = {sha256(each.encode()).hexdigest(): each.encode() for each in texts}
        self.opened: list[Event] = []
        self.marked: list[Displays] = []

    async def next(self, limit: int) -> Displays:
        pages = tuple(
            StoredPage(blob=BlobRef(sha256=hash_, size_bytes=len(data), media_type="text/plain"), content_type=None)
            for hash_, data in self.stored.items()
        )
        quote = DisplayedQuote(claim_id=UUID(int=1), snippet=SAID, pages=pages)
        return Displays(quotes=(quote,), after=3, through=4)

    async def mark(self, displays: Displays) -> None:
        self.marked.append(displays)

    async def get(self, sha256: str) -> bytes:
        return self.stored[sha256]

    async def breakers(self) -> dict[str, Any]:
        return {}

    async def publish(self, event: Event, correlation: UUID) -> bool:
        self.opened.append(event)
        return True


@pytest.mark.requirement("TR-45")
@pytest.mark.parametrize("texts", [tuple(PAGES), tuple(PAGES)[::-1], tuple(PAGES)[1:]], ids=["first", "second", "none"])
async def test_a_quote_is_missing_where_none_of_its_pages_has_it(texts: tuple[str, ...]) -> None:
    """TR-45: Each trigger opens the breaker of its scope, and only a written cause and a clean trial close it."""
    instance = Instance(*texts)
    given = cast("Any", instance)
    check = QuoteCheck(given, given, given, given, Reader(), StillClock(NOW))
    missing = not any(PAGES[each] for each in texts)
    assert await check.run_once() == missing
    assert (len(instance.opened), len(instance.marked)) == (missing, 1)
