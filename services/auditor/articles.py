"""Articles, read from their addresses."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Protocol

from kit.sources import Page, PageUnavailable
from kit.web.readable import Readable
from services.auditor.domain import (
    ARTICLE_WORDS,
    LOG_IN,
    Article,
    NoArticle,
    count_words,
    explain,
    parse_day,
    parse_language,
    require_length,
)


class Pages(Protocol):
    """Pages by address."""

    async def get(self, address: str) -> Page[Readable] | PageUnavailable: ...


async def fetch_article(pages: Pages, address: str, accepted_at: datetime) -> Article:
    """Read the article at an address. Raises: NoArticle."""
    page = await pages.get(address)
    if isinstance(page, PageUnavailable):
        raise NoArticle(explain(page.reason))
    if not page.text.is_free or LOG_IN.search(page.final_url):
        raise NoArticle("NOT_PUBLIC")
    found = page.text
    published = parse_day(found.published, accepted_at)
    return Article(
        require_length(found.main if found.main and count_words(found.main) >= ARTICLE_WORDS else found.text),
        published or accepted_at.astimezone(UTC).date(),
        found.title,
        page.final_url,
        found.author,
        found.publisher,
        published,
        parse_language(found.language),
    )
