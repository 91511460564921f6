"""Pages that models look up and quote: fetched once for both, shared by the claims of this process, never stored."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Mapping
from typing import Final, Protocol

from analyses.claims.analysis import ReadPage
from analyses.claims.families import SourcePage, find_domain
from analyses.research import FETCH_URL, parse_fetch_url
from analyses.snippets import page_text
from kit.clock import Clock
from kit.documents.readable import Readable
from kit.models.demo_catalogue import Catalogue
from kit.research import FetchedPage, PageLookup
from kit.sources import Page, PageUnavailable
from kit.web import WebError, parse_url
from services.auditor.domain import QuotedPage, Tools

READ_S: Final = 60.0
"""A model may quote a hundred pages, while other jobs wait for its run."""
_PUBLIC_NAME: Final = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)+")


class Pages(Protocol):
    """Pages by address."""

    async def get(self, address: str) -> Page[Readable] | PageUnavailable: ...


class EvidencePages:
    """The models' tool for reading pages, and the reading of the pages that they quote.

    Units: quoted pages that cannot be read within `within_s` together are unavailable.
    """

    def __init__(self, pages: Pages, within_s: float = READ_S) -> None:
        self._pages = pages
        self._within_s = within_s
        self.tools: Tools = {FETCH_URL.name: PageLookup(parse_fetch_url, self._look_up)}

    async def read(self, cited: Collection[str], looked_up: Collection[str]) -> Mapping[str, QuotedPage | None]:
        known = {_unify(each) for each in looked_up}
        wanted = [each for each in cited if _unify(each) in known]
        until = asyncio.get_running_loop().time() + self._within_s
        return dict(zip(wanted, await asyncio.gather(*(self._read(each, until) for each in wanted)), strict=True))

    async def _look_up(self, address: str) -> FetchedPage | PageUnavailable:
        page = await self._pages.get(address)
        if isinstance(page, PageUnavailable):
            return page
        return FetchedPage(page.final_url, None, page.content_type, page.text, page.fetched_at)

    async def _read(self, address: str, until: float) -> QuotedPage | None:
        try:
            async with asyncio.timeout_at(until):
                page = await self._pages.get(address)
        except TimeoutError:
            return None
        if isinstance(page, PageUnavailable):
            return None
        domain = find_domain(page.final_url)
        if domain is None or not _PUBLIC_NAME.fullmatch(domain):
            return None
        text = page.text
        words = await asyncio.to_thread(page_text, text.title or "", text.text)
        source = SourcePage(page.final_url, text.canonical, text.text)
        return QuotedPage(ReadPage(words, source), domain, text.title, text.published)


def _unify(address: str) -> str:
    """The normalised spelling of an address, without its fragment."""
    try:
        return str(parse_url(address))
    except WebError:
        return address


class DemoPages:
    """The sources of the demonstration, which needs no internet: the catalogue's own descriptions of pages."""

    def __init__(self, known: Catalogue, clock: Clock) -> None:
        self._sources = {source.url: source for entry in known.entries for source in entry.sources}
        self._clock = clock

    async def get(self, address: str) -> Page[Readable] | PageUnavailable:
        """The page of a source."""
        source = self._sources.get(address)
        if source is None:
            return PageUnavailable("not_in_the_demonstration")
        return Page(address, None, self._clock.now(), Readable(source.title, source.snippet), "text/plain")
