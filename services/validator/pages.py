"""Pages that claims cite: fetched once for all who ask at the same time, kept as they came, and read.

The bytes are stored before anything is concluded from them, so whoever doubts a verdict can look at what we saw.
"""

from __future__ import annotations

import asyncio
import re
from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Final, Protocol

from analyses.snippets import PageText, page_text
from contracts.v1.parts import BlobRef
from kit.clock import Clock
from kit.flight import SingleFlight
from kit.web import Door, Fetched, Request, WebError, parse_url
from kit.web.readable import Readable, Unreadable
from services.validator.domain import may_pass

AT_ONCE: Final = 8
REMEMBERED: Final = 64
REMEMBERED_CHARACTERS: Final = 16_000_000
LONGEST_URL: Final = 2_048
"""Units: characters. A page is published under its address, and readers must be able to use it."""
_CONTENT_TYPE_CHARACTERS: Final = 200
_MEDIA_TYPE: Final = re.compile(r"[a-z0-9.+-]{1,100}/[a-z0-9.+-]{1,100}")
_ACCEPT: Final = "text/html,application/xhtml+xml,application/pdf,text/plain,application/json;q=0.9,*/*;q=0.5"


@dataclass(frozen=True, slots=True)
class Page:
    """A page that was had: its bytes as they came, and its words."""

    final_url: str
    blob: BlobRef
    fetched_at: datetime
    text: PageText
    content_type: str | None = None


@dataclass(frozen=True, slots=True)
class NoPage:
    """Why there is none, as a short code."""

    reason: str


@dataclass(frozen=True, slots=True)
class Patience:
    """Units: `retry_after_s` is the pause before the one more try; outcomes are believed for `*_ttl_s`."""

    retry_after_s: float = 0.5
    page_ttl_s: float = 300.0
    failure_ttl_s: float = 5.0


class Store(Protocol):
    """Where bytes are kept under their hash."""

    async def put(self, data: bytes, media_type: str = ...) -> BlobRef: ...


class Reader(Protocol):
    """What turns bytes into words. Raises: Unreadable."""

    async def read(self, data: bytes, content_type: str | None) -> Readable: ...


class Pages:
    """Pages by address, each looked up once for all who ask meanwhile."""

    def __init__(
        self, door: Door, store: Store, reader: Reader, clock: Clock, patience: Patience | None = None
    ) -> None:
        self._door = door
        self._store = store
        self._reader = reader
        self._clock = clock
        self._patience = patience or Patience()
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._flights: SingleFlight[str, Page | NoPage] = SingleFlight()
        self._kept: OrderedDict[str, tuple[float, Page | NoPage]] = OrderedDict()

    async def get(self, address: str) -> Page | NoPage:
        """The page at an address, its fragment left out; trouble with it is an answer."""
        try:
            url = str(parse_url(address))
        except WebError as error:
            return NoPage(error.kind)
        kept = self._kept.get(url)
        if kept is not None and asyncio.get_running_loop().time() < kept[0]:
            return kept[1]
        return await self._flights.run(url, partial(self._look_up, url))

    async def close(self) -> None:
        """End what is under way."""
        await self._flights.close()

    async def _look_up(self, url: str) -> Page | NoPage:
        async with self._turns:
            outcome = await self._had(url)
        self._remember(url, outcome)
        return outcome

    async def _had(self, url: str) -> Page | NoPage:
        fetched = await self._fetched(url)
        if isinstance(fetched, NoPage):
            return fetched
        if len(fetched.final_url) > LONGEST_URL:
            return NoPage("malformed_url")
        fetched_at = self._clock.now()
        content_type = _kept_type(fetched.headers.get("content-type"))
        try:
            text = await words(self._reader, fetched.body, content_type)
        except Unreadable:
            return NoPage("unreadable")
        blob = await self._store.put(fetched.body, _media_type(content_type))
        return Page(fetched.final_url, blob, fetched_at, text, content_type)

    async def _fetched(self, url: str) -> Fetched | NoPage:
        outcome, again = await self._once(url)
        if again:
            await asyncio.sleep(self._patience.retry_after_s)
            outcome, _ = await self._once(url)
        return outcome

    async def _once(self, url: str) -> tuple[Fetched | NoPage, bool]:
        try:
            fetched = await self._door.fetch(Request(url, headers={"accept": _ACCEPT}))
        except WebError as error:
            return NoPage(error.kind), may_pass(kind=error.kind)
        if 200 <= fetched.status < 300:
            return fetched, False
        return NoPage(f"http_{fetched.status}"), may_pass(fetched.status)

    def _remember(self, url: str, outcome: Page | NoPage) -> None:
        lifetime_s = self._patience.page_ttl_s if isinstance(outcome, Page) else self._patience.failure_ttl_s
        self._kept[url] = asyncio.get_running_loop().time() + lifetime_s, outcome
        self._kept.move_to_end(url)
        while len(self._kept) > REMEMBERED or self._characters() > REMEMBERED_CHARACTERS:
            self._kept.popitem(last=False)

    def _characters(self) -> int:
        return sum(outcome.text.size for _, outcome in self._kept.values() if isinstance(outcome, Page))


async def words(reader: Reader, data: bytes, content_type: str | None) -> PageText:
    """The words of a page that was fetched, today or long ago. Raises: Unreadable."""
    read = await reader.read(data, content_type)
    return await asyncio.to_thread(page_text, read.title or "", read.text)


def _kept_type(content_type: str | None) -> str | None:
    """The header as far as a fact can hold it."""
    return content_type if content_type is None else content_type.replace("\0", "")[:_CONTENT_TYPE_CHARACTERS]


def _media_type(content_type: str | None) -> str:
    said = (content_type or "").partition(";")[0].strip().lower()
    return said if _MEDIA_TYPE.fullmatch(said) else "application/octet-stream"
