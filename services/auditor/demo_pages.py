"""The sources of the demonstration: the catalogue's own descriptions of pages, since it needs no internet."""

from __future__ import annotations

from kit.clock import Clock
from kit.documents.readable import Readable
from kit.models.demo_catalogue import Catalogue
from kit.sources import Page, PageUnavailable


class DemoPages:
    """Pages by address; there are no others."""

    def __init__(self, known: Catalogue, clock: Clock) -> None:
        self._sources = {source.url: source for entry in known.entries for source in entry.sources}
        self._clock = clock

    async def get(self, address: str) -> Page[Readable] | PageUnavailable:
        """The page of a source."""
        source = self._sources.get(address)
        if source is None:
            return PageUnavailable("not_in_the_demonstration")
        return Page(address, None, self._clock.now(), Readable(source.title, source.snippet), "text/plain")
