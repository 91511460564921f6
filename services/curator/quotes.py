"""Displayed quotes are compared with the pages that were stored for them; one that is not there opens the breaker.

Every display is checked once, in the order of the log, a few at a time. The mark moves past a display only once its
breaker is open, so a kill repeats a few comparisons and loses none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

import structlog

from analyses.snippets import find
from kit.blob_settings import BlobMissing
from kit.clock import Clock
from kit.documents.decoding import Unreadable
from kit.documents.reading import Reader
from services.curator.breaking import Observed, find_openings
from services.curator.ports import Log
from services.curator.record.displays import DisplayedQuote, LoggedDisplays
from services.curator.record.watched import SqlWatchRecord
from services.curator.second_look import read_words

BATCH: Final = 10
"""Displays that are checked between two pauses."""

log = structlog.get_logger(__name__)


class StoredBytes(Protocol):
    """The blob store. Raises: BlobsUnavailable."""

    async def get(self, sha256: str) -> bytes:
        """Raises: BlobMissing."""


@dataclass(frozen=True, slots=True)
class QuoteCheck:
    """Compares quotes with pages, and opens the breaker of all findings."""

    displays: LoggedDisplays
    breakers: SqlWatchRecord
    log: Log
    stored: StoredBytes
    reader: Reader
    clock: Clock

    async def run_once(self) -> int:
        """Check the next few displays; return how many of their quotes are not in their page."""
        displays = await self.displays.next(BATCH)
        missing = [each.claim_id for each in displays.quotes if await self._is_missing(each)]
        if missing:
            log.error("displayed quotes are not in their stored pages", claims=sorted({str(each) for each in missing}))
            if not await self._open(len(missing)):
                return len(missing)
        if displays.through > displays.after:
            await self.displays.mark(displays)
        return len(missing)

    async def _is_missing(self, quote: DisplayedQuote) -> bool:
        """Whether a quote is in none of its stored pages; False if one of them is lost or cannot be read."""
        is_known = False
        for page in quote.pages:
            try:
                data = await self.stored.get(page.blob.sha256)
                words = await read_words(self.reader, data, page.content_type)
            except (BlobMissing, Unreadable) as error:
                log.warning("a stored page cannot be compared", page=page.blob.sha256, error=str(error))
                return False
            if find(quote.snippet, words) is not None:
                return False
            is_known = True
        return is_known

    async def _open(self, missing: int) -> bool:
        """Open the breaker, unless it is open for this already; return False if another event of it came first."""
        observed = Observed(released={}, quotes_not_in_page=missing)
        for event in find_openings(observed, await self.breakers.breakers(), self.clock.now()):
            if not await self.log.publish(event, self.clock.new_id()):
                return False
            log.error("a breaker opened", scope=event.scope, trigger=event.trigger, numbers=event.numbers)
        return True
