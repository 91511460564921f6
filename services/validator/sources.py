"""Whether a claim's sources say what they are quoted for: their pages decide, and nothing that is said of them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from prometheus_client import CollectorRegistry, Counter

from analyses.evidence import Evidence
from analyses.snippets import find, too_short
from contracts.v1.parts import CheckedSource, Source
from kit.web import WebError, parse_url
from services.validator.domain import MAX_PAGES
from services.validator.pages import NoPage, Page, Pages


class PageSources:
    """Sources held against the pages they name."""

    def __init__(self, pages: Pages, registry: CollectorRegistry) -> None:
        self._pages = pages
        self._checked = Counter(
            "openerrata_sources_total", "Sources of claims looked up", ("status",), registry=registry
        )

    async def check(self, sources: Sequence[Source]) -> tuple[Evidence, ...]:
        """Look every source up, those of one claim at the same time."""
        urls = tuple(dict.fromkeys(source.url for source in sources))[:MAX_PAGES]
        pages = dict(zip(urls, await asyncio.gather(*map(self._pages.get, urls)), strict=True))
        evidence = tuple(held_against(source, pages.get(source.url)) for source in sources)
        for each in evidence:
            self._checked.labels(each.source.status).inc()
        return evidence


class UnaskedSources:
    """For a demonstration, which goes nowhere and says so."""

    async def check(self, sources: Sequence[Source]) -> tuple[Evidence, ...]:
        """Nobody looks."""
        return tuple(Evidence(CheckedSource(url=source.url, status="unchecked", reason="demo")) for source in sources)


def held_against(source: Source, page: Page | NoPage | None) -> Evidence:
    """What a page says about a source; without one, it was one source too many."""
    if page is None:
        return Evidence(CheckedSource(url=source.url, status="unchecked", reason="too_many"))
    if isinstance(page, NoPage):
        return Evidence(CheckedSource(url=source.url, status="unavailable", reason=page.reason))
    words = find(source.snippet, page.text)
    lacking = "too_short" if too_short(source.snippet) else "not_on_page"
    redirected = _is_elsewhere(source.url, page.final_url)
    checked = CheckedSource(
        url=page.final_url if redirected else source.url,
        cited_url=source.url if redirected else None,
        status="missing" if words is None else "found",
        reason=lacking if words is None else None,
        final_url=page.final_url,
        page=page.blob,
        fetched_at=page.fetched_at,
        content_type=page.content_type,
    )
    return Evidence(checked, words)


def _is_elsewhere(cited: str, final_url: str) -> bool:
    """Whether a page is not the one whose address was cited; its fragment names a place in the same page."""
    try:
        return str(parse_url(cited)) != final_url
    except WebError:
        return True
