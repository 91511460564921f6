"""The research tools of the model: web pages, and the author's other posts.

Results are JSON, failures included, so that a missing page does not end a paid run. Text of third parties stays inside
JSON strings.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Final, Protocol
from uuid import UUID

import structlog

from analyses.kinds import InvalidSubmission
from analyses.research import AUTHOR_HISTORY, FETCH_URL, parse_author_history, parse_fetch_url
from kit.clock import Clock
from kit.documents.reading import Reader
from kit.research import PageLookup, WebPages, encode, make_error
from kit.web import GuardedHttpClient
from services.investigator.domain import AuthorPost

HISTORY_TIMEOUT_S: Final = 10.0
FINDINGS_SHOWN: Final = 3
QUOTE_CHARACTERS: Final = 300

log = structlog.get_logger(__name__)


class Posts(Protocol):
    """Posts by author."""

    async def by_same_author(self, post_id: UUID, analysis: str, limit: int) -> Sequence[AuthorPost]:
        """Other posts by the author of this one, newest first."""


class Lookups:
    """Carries out research calls. Source: requirements 2.4.4."""

    def __init__(self, http: GuardedHttpClient, reader: Reader, posts: Posts, clock: Clock) -> None:
        self.fetch_url = PageLookup(parse_fetch_url, WebPages(http, reader, clock).get)
        self._posts = posts

    def calls(self, post_id: UUID, analysis: str) -> Mapping[str, Callable[[str], Awaitable[str]]]:
        return {
            FETCH_URL.name: self.fetch_url,
            AUTHOR_HISTORY.name: partial(self.author_history, post_id, analysis),
        }

    async def author_history(self, post_id: UUID, analysis: str, arguments: str) -> str:
        """The author's other posts with their findings, or an error."""
        try:
            limit = parse_author_history(arguments)
        except InvalidSubmission as error:
            return make_error("INVALID_ARGUMENTS", str(error))
        try:
            async with asyncio.timeout(HISTORY_TIMEOUT_S):
                posts = await self._posts.by_same_author(post_id, analysis, limit)
        except Exception as error:
            log.warning("the author's posts could not be looked up", error=f"{type(error).__name__}: {error}")
            return make_error("UNAVAILABLE", "the author's posts cannot be looked up now")
        return encode(
            ok=True, author=posts[0].author if posts else None, posts=[_describe_post(post) for post in posts]
        )


def _describe_post(post: AuthorPost) -> Mapping[str, object]:
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
