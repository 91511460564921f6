"""The page reader that is offered to models: it returns the page at an address, as JSON.

Failures are answers too, so that a missing page does not end a paid run. Text of third parties stays inside JSON
strings.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import structlog

from kit.clock import Clock
from kit.documents.decoding import Unreadable
from kit.documents.readable import Readable
from kit.documents.reading import Reader
from kit.sources import PageUnavailable
from kit.web import GuardedHttpClient, Request, WebError

TEXT_BYTES: Final = 20_000
PAGE_BYTES: Final = 5_000_000
PAGE_TIMEOUT_S: Final = 15.0
ACCEPT: Final = (
    "text/html,application/xhtml+xml,application/json;q=0.9,application/pdf;q=0.9,text/plain;q=0.8,*/*;q=0.1"
)

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class FetchedPage:
    """A page as it was read. Shapes: `status` is None for a page read earlier, whose exact status was not kept."""

    final_url: str
    status: int | None
    content_type: str | None
    text: Readable
    fetched_at: datetime


class WebPages:
    """Pages from the web, whatever their status."""

    def __init__(self, http: GuardedHttpClient, reader: Reader, clock: Clock) -> None:
        self._http = http
        self._reader = reader
        self._clock = clock

    async def get(self, url: str) -> FetchedPage:
        """Fetch and read a page. Raises: WebError, Unreadable."""
        answer = await self._http.fetch(
            Request(url, headers={"Accept": ACCEPT}, timeout_s=PAGE_TIMEOUT_S, max_bytes=PAGE_BYTES)
        )
        fetched_at = self._clock.now()
        content_type = answer.headers.get("content-type")
        page = await self._reader.read(answer.body, content_type)
        return FetchedPage(answer.final_url, answer.status, content_type, page, fetched_at)


class PageLookup:
    """Answers calls of the page reader; never raises.

    Shapes: `parse` reads a call's arguments as an address, or raises ValueError with the answer; `get` may raise
    WebError or Unreadable.
    """

    def __init__(
        self, parse: Callable[[str], str], get: Callable[[str], Awaitable[FetchedPage | PageUnavailable]]
    ) -> None:
        self._parse = parse
        self._get = get

    async def __call__(self, arguments: str) -> str:
        """The text of one page, or an error."""
        try:
            url = self._parse(arguments)
        except ValueError as error:
            return make_error("INVALID_ARGUMENTS", str(error), requestedUrl=None)
        try:
            page = await self._get(url)
        except WebError as error:
            return make_error("FETCH_FAILED", f"{error.kind}: {error.detail}", requestedUrl=url)
        except Unreadable as error:
            return make_error("UNREADABLE", str(error), requestedUrl=url)
        except Exception as error:
            log.exception("a page could not be looked up", error=type(error).__name__)
            return make_error("FETCH_FAILED", "the page could not be read", requestedUrl=url)
        if isinstance(page, PageUnavailable):
            return make_error("FETCH_FAILED", page.reason, requestedUrl=url)
        return _describe(url, page)


def make_error(kind: str, error: str, **more: object) -> str:
    """The answer to a call that failed."""
    return encode(ok=False, errorKind=kind, **more, error=error)


def encode(**fields: object) -> str:
    """The answer to a call."""
    return json.dumps(fields, ensure_ascii=False)


def truncate(text: str, most_bytes: int) -> str:
    """The longest beginning of a text with at most `most_bytes` bytes of UTF-8."""
    data = text.encode()
    return text if len(data) <= most_bytes else data[:most_bytes].decode("utf-8", "ignore")


def _describe(url: str, page: FetchedPage) -> str:
    text = truncate(page.text.text, TEXT_BYTES)
    return encode(
        ok=True,
        requestedUrl=url,
        finalUrl=page.final_url,
        **({} if page.status is None else {"status": page.status}),
        contentType=page.content_type,
        title=page.text.title,
        contentText=text,
        truncated=len(text) < len(page.text.text),
        retrievedAt=page.fetched_at.isoformat(),
    )
