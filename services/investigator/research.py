"""What a model looks up while it investigates: pages on the web, and the author's other posts.

Every answer is JSON, and every trouble is an answer: a model can go on without a page, and a run that ended over one
would have been paid for nothing. What is answered comes from strangers and stays inside JSON strings.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Final, Protocol
from uuid import UUID

import structlog

from analyses.kinds import InvalidSubmission
from analyses.research import AUTHOR_HISTORY, FETCH_URL, parse_author_history, parse_fetch_url
from kit.clock import Clock
from kit.web import Door, Request, WebError
from kit.web.readable import Unreadable
from kit.web.reading import Reader
from services.investigator.domain import AuthorPost

TEXT_BYTES: Final = 20_000
PAGE_BYTES: Final = 5_000_000
PAGE_TIMEOUT_S: Final = 15.0
HISTORY_TIMEOUT_S: Final = 10.0
FINDINGS_SHOWN: Final = 3
QUOTE_CHARACTERS: Final = 300
ACCEPT: Final = (
    "text/html,application/xhtml+xml,application/json;q=0.9,application/pdf;q=0.9,text/plain;q=0.8,*/*;q=0.1"
)

log = structlog.get_logger(__name__)


class Posts(Protocol):
    """What is known of an author."""

    async def by_same_author(self, post_id: UUID, analysis: str, most: int) -> Sequence[AuthorPost]:
        """Other posts by the author of this one, newest first."""
        ...


class Lookups:
    """Answers a model's research calls. Source: CONTRACT 5.10, specification 2.4."""

    def __init__(self, door: Door, reader: Reader, posts: Posts, clock: Clock) -> None:
        self._door = door
        self._reader = reader
        self._posts = posts
        self._clock = clock

    def calls(self, post_id: UUID, analysis: str) -> Mapping[str, Callable[[str], Awaitable[str]]]:
        """The answer to each tool's arguments, by the tool's name; answering never raises."""
        return {
            FETCH_URL.name: self.fetch_url,
            AUTHOR_HISTORY.name: partial(self.author_history, post_id, analysis),
        }

    async def fetch_url(self, arguments: str) -> str:
        """The words of one page, or why there are none."""
        try:
            url = parse_fetch_url(arguments)
        except InvalidSubmission as error:
            return _failed("INVALID_ARGUMENTS", str(error), requestedUrl=None)
        try:
            return await self._page(url)
        except WebError as error:
            return _failed("FETCH_FAILED", f"{error.kind}: {error.detail}", requestedUrl=url)
        except Unreadable as error:
            return _failed("UNREADABLE", str(error), requestedUrl=url)
        except Exception as error:
            log.exception("a page could not be looked up", error=type(error).__name__)
            return _failed("FETCH_FAILED", "the page could not be read", requestedUrl=url)

    async def _page(self, url: str) -> str:
        answer = await self._door.fetch(
            Request(url, headers={"Accept": ACCEPT}, timeout_s=PAGE_TIMEOUT_S, max_bytes=PAGE_BYTES)
        )
        retrieved_at = self._clock.now()
        content_type = answer.headers.get("content-type")
        page = await self._reader.read(answer.body, content_type)
        text = cut(page.text, TEXT_BYTES)
        return _json(
            ok=True,
            requestedUrl=url,
            finalUrl=answer.final_url,
            status=answer.status,
            contentType=content_type,
            title=page.title,
            contentText=text,
            truncated=len(text) < len(page.text),
            retrievedAt=retrieved_at.isoformat(),
        )

    async def author_history(self, post_id: UUID, analysis: str, arguments: str) -> str:
        """The author's other posts and what was found in them, or why they cannot be told."""
        try:
            most = parse_author_history(arguments)
        except InvalidSubmission as error:
            return _failed("INVALID_ARGUMENTS", str(error))
        try:
            async with asyncio.timeout(HISTORY_TIMEOUT_S):
                posts = await self._posts.by_same_author(post_id, analysis, most)
        except Exception as error:
            log.warning("the author's posts could not be looked up", error=f"{type(error).__name__}: {error}")
            return _failed("UNAVAILABLE", "the author's posts cannot be looked up now")
        return _json(ok=True, author=posts[0].author if posts else None, posts=[_told(post) for post in posts])


def cut(text: str, most_bytes: int) -> str:
    """The longest beginning of a text that has at most so many UTF-8 bytes."""
    data = text.encode()
    return text if len(data) <= most_bytes else data[:most_bytes].decode("utf-8", "ignore")


def _told(post: AuthorPost) -> Mapping[str, object]:
    findings = post.claims
    return {
        "url": post.url,
        "firstSeenAt": post.first_seen_at.isoformat(),
        "textVerified": post.verified,
        "beginning": post.beginning,
        "investigated": findings is not None,
        "findingsInAll": len(findings or ()),
        "findings": [
            {
                "text": claim.payload.text[:QUOTE_CHARACTERS],
                "summary": claim.payload.summary[:QUOTE_CHARACTERS],
            }
            for claim in (findings or ())[:FINDINGS_SHOWN]
        ],
    }


def _failed(kind: str, error: str, **more: object) -> str:
    return _json(ok=False, errorKind=kind, **more, error=error)


def _json(**said: object) -> str:
    return json.dumps(said, ensure_ascii=False)
