"""Checks whether the cited pages contain the quoted words."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from prometheus_client import CollectorRegistry, Counter

from analyses.evidence import CitedText, Evidence
from analyses.snippets import find, is_too_short, page_text
from contracts.v1.parts import CheckedSource, Source
from kit.documents.reading import Reader
from kit.sources import Page, Pages, PageUnavailable
from kit.web import WebError, parse_url
from services.validator.domain import MAX_PAGES

_SATIRE: Final = b"SatiricalArticle"
"""The type of schema.org that a page has in its linked data."""


class PageSources:
    """Compares sources with the pages they cite."""

    def __init__(self, pages: Pages[CitedText], registry: CollectorRegistry) -> None:
        self._pages = pages
        self._checked = Counter(
            "openerrata_sources_total", "Sources of claims looked up", ("status",), registry=registry
        )

    async def check(self, sources: Sequence[Source]) -> tuple[Evidence, ...]:
        urls = tuple(dict.fromkeys(source.url for source in sources))[:MAX_PAGES]
        pages = dict(zip(urls, await asyncio.gather(*map(self._pages.get, urls)), strict=True))
        # In a thread, since pages may be long.
        evidence = await asyncio.to_thread(
            lambda: tuple(compare_with_page(each, pages.get(each.url)) for each in sources)
        )
        for each in evidence:
            self._checked.labels(each.source.status).inc()
        return evidence


class UncheckedSources:
    """For the demo, which fetches no pages."""

    async def check(self, sources: Sequence[Source]) -> tuple[Evidence, ...]:
        """Mark all as unchecked."""
        return tuple(Evidence(CheckedSource(url=source.url, status="unchecked", reason="demo")) for source in sources)


async def read_words(
    reader: Reader, data: bytes, content_type: str | None, *, own_hosts: Sequence[str] = ()
) -> CitedText:
    """The words of a fetched page, and what it says of itself. Raises: Unreadable."""
    read = await reader.read(data, content_type)
    words = await asyncio.to_thread(page_text, read.title or "", read.text)
    is_satire = _SATIRE in data
    return CitedText(words, read.canonical, read.published, is_satire, any(each.encode() in data for each in own_hosts))


def compare_with_page(source: Source, page: Page[CitedText] | PageUnavailable | None) -> Evidence:
    """The evidence of a source; `page` is None beyond the limit of pages."""
    if page is None:
        return Evidence(CheckedSource(url=source.url, status="unchecked", reason="too_many"))
    if isinstance(page, PageUnavailable):
        return Evidence(CheckedSource(url=source.url, status="unavailable", reason=page.reason))
    read_words = find(source.snippet, page.text.words)
    lacking = "too_short" if is_too_short(source.snippet) else "not_on_page"
    redirected = _is_elsewhere(source.url, page.final_url)
    checked = CheckedSource(
        url=page.final_url if redirected else source.url,
        cited_url=source.url if redirected else None,
        status="missing" if read_words is None else "found",
        reason=lacking if read_words is None else None,
        final_url=page.final_url,
        page=page.blob,
        fetched_at=page.fetched_at,
        content_type=page.content_type,
    )
    return Evidence(checked, read_words, page.text)


def _is_elsewhere(cited: str, final_url: str) -> bool:
    """Whether the final address differs from the cited one, apart from the fragment."""
    try:
        return str(parse_url(cited)) != final_url
    except WebError:
        return True
