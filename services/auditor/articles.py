"""Articles, read from their addresses."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final, Protocol

from contracts.jobs.words import ArticleWords
from kit.documents.article import ReadArticle
from kit.documents.walls import MIN_LETTERS, count_letters, find_redirect
from kit.errors import Retry
from kit.sources import INTERRUPTED, Page, PageUnavailable
from services.auditor.domain import (
    Article,
    NoArticle,
    explain,
    parse_day,
    parse_language,
    require_length,
)

AGAIN_S: Final = 10.0


class Pages(Protocol):
    """Pages by address."""

    async def get(self, address: str) -> Page[ReadArticle] | PageUnavailable: ...


async def fetch_article(pages: Pages, address: str, accepted_at: datetime) -> Article:
    """Read the article at an address. Raises: NoArticle. Retry: its reading was ended from outside."""
    page = await pages.get(address)
    if isinstance(page, PageUnavailable):
        if page.reason == INTERRUPTED:
            raise Retry(AGAIN_S, "the reading of the article was ended from outside")
        raise NoArticle(explain(page.reason))
    found = page.text
    if wall := found.wall or find_redirect(address, page.final_url):
        raise NoArticle("FETCH_FAILED" if wall == "missing" else "NOT_PUBLIC")
    if count_letters(found.text) < MIN_LETTERS:
        raise NoArticle("UNSUPPORTED_CONTENT")
    published = parse_day(found.published, accepted_at)
    words = ArticleWords(
        text=require_length(found.text),
        title=found.title,
        address=page.final_url,
        author=found.author,
        publisher=found.publisher,
        published=published,
    )
    return Article(words, published or accepted_at.astimezone(UTC).date(), parse_language(found.language))
