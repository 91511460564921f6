"""Cited pages: fetched once for concurrent callers, optionally archived, and read.

Bytes are archived before anything is concluded from them, so that a disputed verdict can be checked against them.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Final, Generic, Protocol, TypeVar

from contracts.v1.parts import BlobRef
from kit.cache import Cache
from kit.clock import Clock
from kit.documents.decoding import Interrupted, Unreadable
from kit.web import Fetched, GuardedHttpClient, Request, WebError, parse_url

MAX_CONCURRENCY: Final = 8
CACHE_CHARACTERS: Final = 16_000_000
MIN_WEIGHT: Final = CACHE_CHARACTERS // 64
"""Minimum weight of a page, so that the number of small ones is bounded."""
MAX_URL_CHARACTERS: Final = 2_048
"""A page is published with its address, which readers must be able to use."""
INTERRUPTED: Final = "interrupted"
"""The reason if the reading process was killed; another try may well succeed."""
_CONTENT_TYPE_CHARACTERS: Final = 200
_TRANSIENT: Final = frozenset({408, 425, 429, 500, 502, 503, 504})
_TRANSIENT_KINDS: Final = frozenset({"connection_failed", "bad_response", "bad_encoding"})
_MEDIA_TYPE: Final = re.compile(r"[a-z0-9.+-]{1,100}/[a-z0-9.+-]{1,100}")
_ACCEPT: Final = "text/html,application/xhtml+xml,application/pdf,text/plain,application/json;q=0.9,*/*;q=0.5"


class PageText(Protocol):
    """The result of reading a page. Units: `size` in characters."""

    @property
    def size(self) -> int: ...


W = TypeVar("W", bound=PageText)
W_co = TypeVar("W_co", bound=PageText, covariant=True)


@dataclass(frozen=True, slots=True)
class Page(Generic[W]):
    """A fetched page: its text, and where its bytes are archived, if they are."""

    final_url: str
    blob: BlobRef | None
    fetched_at: datetime
    text: W
    content_type: str | None = None


@dataclass(frozen=True, slots=True)
class PageUnavailable:
    """Why there is no page, as a short code."""

    reason: str


@dataclass(frozen=True, slots=True)
class FetchTimings:
    """Delays and lifetimes. Units: `retry_after_s` before the only retry; outcomes are cached for `*_ttl_s`."""

    retry_after_s: float = 0.5
    page_ttl_s: float = 300.0
    failure_ttl_s: float = 5.0


class Archive(Protocol):
    """A content-addressed store."""

    async def put(self, data: bytes, media_type: str = ...) -> BlobRef: ...


class Read(Protocol[W_co]):
    """Reads bytes as text. Raises: Unreadable."""

    async def __call__(self, data: bytes, content_type: str | None) -> W_co: ...


class Pages(Generic[W]):
    """Pages by address, each fetched once for concurrent callers. Without an `archive`, bytes are not stored."""

    def __init__(
        self,
        http: GuardedHttpClient,
        read: Read[W],
        clock: Clock,
        patience: FetchTimings | None = None,
        *,
        archive: Archive | None,
    ) -> None:
        self._http = http
        self._read = read
        self._clock = clock
        self._archive = archive
        self._patience = patience or FetchTimings()
        self._slots = asyncio.Semaphore(MAX_CONCURRENCY)
        self._pages: Cache[str, Page[W] | PageUnavailable] = Cache(
            clock, capacity=CACHE_CHARACTERS, ttl_s=self._lifetime_s, weigh=_weight
        )

    async def get(self, address: str) -> Page[W] | PageUnavailable:
        """The page at an address without its fragment; failures are results too."""
        try:
            url = str(parse_url(address))
        except WebError as error:
            return PageUnavailable(error.kind)
        return await self._pages.get_or_make(url, partial(self._look_up, url))

    async def close(self) -> None:
        """Cancel look-ups in progress."""
        await self._pages.close()

    async def _look_up(self, url: str) -> Page[W] | PageUnavailable:
        async with self._slots:
            return await self._fetch_and_read(url)

    async def _fetch_and_read(self, url: str) -> Page[W] | PageUnavailable:
        fetched = await self._fetch(url)
        if isinstance(fetched, PageUnavailable):
            return fetched
        if len(fetched.final_url) > MAX_URL_CHARACTERS:
            return PageUnavailable("malformed_url")
        fetched_at = self._clock.now()
        content_type = _limit_type(fetched.headers.get("content-type"))
        try:
            text = await self._read_twice(fetched.body, content_type)
        except Interrupted:
            return PageUnavailable(INTERRUPTED)
        except Unreadable:
            return PageUnavailable("unreadable")
        blob = await self._archive.put(fetched.body, _media_type(content_type)) if self._archive else None
        return Page(fetched.final_url, blob, fetched_at, text, content_type)

    async def _read_twice(self, data: bytes, content_type: str | None) -> W:
        """Read; once more if it was ended from outside, as by a signal to all processes, which spares the next one."""
        try:
            return await self._read(data, content_type)
        except Interrupted:
            return await self._read(data, content_type)

    async def _fetch(self, url: str) -> Fetched | PageUnavailable:
        outcome, retry = await self._fetch_once(url)
        if retry:
            await asyncio.sleep(self._patience.retry_after_s)
            outcome, _ = await self._fetch_once(url)
        return outcome

    async def _fetch_once(self, url: str) -> tuple[Fetched | PageUnavailable, bool]:
        try:
            fetched = await self._http.fetch(Request(url, headers={"accept": _ACCEPT}))
        except WebError as error:
            return PageUnavailable(error.kind), is_transient(kind=error.kind)
        if 200 <= fetched.status < 300:
            return fetched, False
        return PageUnavailable(f"http_{fetched.status}"), is_transient(fetched.status)

    def _lifetime_s(self, _: str, outcome: Page[W] | PageUnavailable) -> float:
        return self._patience.page_ttl_s if isinstance(outcome, Page) else self._patience.failure_ttl_s


def _weight(outcome: Page[W] | PageUnavailable) -> int:
    return max(MIN_WEIGHT, outcome.text.size) if isinstance(outcome, Page) else MIN_WEIGHT


def is_transient(status: int | None = None, kind: str | None = None) -> bool:
    """Whether an immediate retry could help, judged by the HTTP status or the kind of error."""
    return status in _TRANSIENT or kind in _TRANSIENT_KINDS


def _limit_type(content_type: str | None) -> str | None:
    """The header, cut to the length that facts allow."""
    return content_type if content_type is None else content_type.replace("\0", "")[:_CONTENT_TYPE_CHARACTERS]


def _media_type(content_type: str | None) -> str:
    name = (content_type or "").partition(";")[0].strip().lower()
    return name if _MEDIA_TYPE.fullmatch(name) else "application/octet-stream"
