"""The second look: whether the cited pages, fetched anew, still say what is quoted from them."""

from __future__ import annotations

import asyncio
from typing import Final

from analyses.snippets import PageText, find, page_text
from contracts.v1 import ClaimApproved
from kit.documents.reading import Reader
from kit.sources import Page, Pages
from lifecycle.display import Fresh

PAGE_S: Final = 20.0
"""Longest wait for one page."""
PAGE_BYTES: Final = 5_000_000


async def read_words(reader: Reader, data: bytes, content_type: str | None) -> PageText:
    """The words of a page, as the validator compares them. Raises: Unreadable."""
    read = await reader.read(data, content_type)
    return await asyncio.to_thread(page_text, read.title or "", read.text)


class SecondLook:
    """Fetches pages with a client that reaches no private address."""

    def __init__(self, pages: Pages[PageText]) -> None:
        self._pages = pages

    async def look(self, approval: ClaimApproved) -> Fresh:
        """Whether the cited pages still say what a claim quotes. A page that fails is a result, not an error."""
        sources = approval.payload.sources
        pages = await asyncio.gather(*(self._pages.get(each.url) for each in sources))
        read = [(source, page) for source, page in zip(sources, pages, strict=True) if isinstance(page, Page)]
        if any(find(source.snippet, page.text) is None for source, page in read):
            return "CHANGED"
        return "CONFIRMED" if len(read) == len(sources) else "UNAVAILABLE"
