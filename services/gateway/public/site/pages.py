"""Pages that take several queries or are cached: each method returns the values of a template.

None: there is no such page.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache, partial
from typing import Final
from uuid import UUID

from contracts.v1 import EVENTS
from kit.cache import Cache
from kit.clock import Clock
from services.gateway.public.audit import redact_run
from services.gateway.public.documents import decision_out
from services.gateway.public.graphql.schema import make_schema
from services.gateway.public.site import audit_page, feeds, findings, naming
from services.gateway.public.site.accuracy import FRESH_S, Accuracy, describe_accuracy, read_accuracy, show_accuracy
from services.gateway.public.site.card import draw_card
from services.gateway.public.site.cards import CardView
from services.gateway.public.site.drawings import draw_figures
from services.gateway.public.site.figures import FiguresCache
from services.gateway.public.site.posts import PostPages
from services.gateway.public.site.quotes import paginate_text
from services.gateway.public.site.reference import Document, describe_api
from services.gateway.public.site.rendering import Values
from services.gateway.public.stream.question import SHOWN
from services.gateway.record.investigations import Report
from services.gateway.record.question import Filters
from services.gateway.record.repository import PublicRecord

CARDS_BYTES: Final = 8 * 1024 * 1024


@dataclass
class Pages:
    """The pages of a record."""

    record: PublicRecord
    clock: Clock
    document: Callable[[], Document]
    posts: PostPages = field(init=False)
    _figures: FiguresCache = field(init=False)
    _cards: Cache[tuple[UUID, str, datetime], bytes] = field(init=False)
    _accuracy: Cache[str, Accuracy] = field(init=False)

    def __post_init__(self) -> None:
        self.posts = PostPages(self.record, self.clock)
        self._figures = FiguresCache(self.record, self.clock)
        self._accuracy = Cache(self.clock, capacity=1, ttl_s=FRESH_S)
        self._cards = Cache(self.clock, capacity=CARDS_BYTES, weigh=len)

    def clear_caches(self) -> None:
        """Clear all caches."""
        self.posts.clear_caches()
        self._cards.clear()
        self._figures.clear()
        self._accuracy.clear()

    async def home(self) -> Values:
        """The newest corrections and the figures."""
        known = await self._figures.figures()
        async with self.record.open() as session:
            hits = await session.search.newest(None, Filters(min_claims=1), None, 6)
            cards = await session.investigations.cards([hit.investigation_id for hit in hits])
        return {"section": "/", "cards": [CardView(card) for card in cards], "figures": known}

    async def investigation(self, base: str, known: UUID, part: int = 1, finding: int | None = None) -> Values | None:
        """One finished investigation, or a further part of its findings, by the part's or a finding's number."""
        async with self.record.open() as session:
            report = await session.investigations.report(known)
            if report is None:
                return None
            details = findings.Details(
                report,
                await session.investigations.snapshots(known),
                await session.investigations.source_checks(known),
                await session.audits.attempt_summaries(known),
                await session.audits.candidate_summaries(known),
                [decision_out(known, each) for each in await session.decision_log.of_investigation(known)],
                await session.appeals.looked_into(known),
                await session.appeals.statements(known),
            )
        return findings.show_investigation(base, details, part, finding)

    async def audit(self, known: UUID) -> Values | None:
        """The audit of one finished investigation."""
        async with self.record.open() as session:
            report = await session.investigations.report(known)
            run = None if report is None else await session.audits.run(known)
            if report is None or run is None:
                return None
            checks = await session.investigations.source_checks(known)
            exchanges = await session.audits.exchanges(known)
        public = await asyncio.to_thread(redact_run, run)
        return audit_page.show_audit(report, public.with_exchanges(exchanges), checks)

    async def prompt(self, known: UUID) -> bytes | None:
        """The whole prompt of one finished investigation."""
        async with self.record.open() as session:
            if await session.investigations.one(known) is None:
                return None
            run = await session.audits.run(known)
        return None if run is None else run.prompt.text.encode("utf-8", "replace")

    async def text(self, known: UUID, page: int = 1) -> Values | None:
        """A page of the whole text of one investigation."""
        report = await self.report(known)
        if report is None:
            return None
        pages = await asyncio.to_thread(paginate_text, report.content_text, report.markdown)
        if not 1 <= page <= len(pages):
            return None
        path = f"/investigations/{report.id}"
        shown = {"passage": pages[page - 1], "page": page, "pages": len(pages), "listed": report.is_listed}
        return {"section": "/corrections", "path": path, **shown}

    async def card(self, known: UUID) -> bytes | None:
        """The preview picture, cached for each backing of the text and each change of its findings."""
        report = await self.report(known)
        if report is None:
            return None
        key = (report.id, naming.backing(report), report.updated_at)
        return await self._cards.get_or_make(key, partial(asyncio.to_thread, draw_card, report))

    async def report(self, known: UUID) -> Report | None:
        """One finished investigation with its text."""
        async with self.record.open() as session:
            return await session.investigations.report(known)

    async def figures(self) -> Values:
        """The figures with their charts."""
        return {"section": "/figures", **draw_figures(await self._figures.figures())}

    async def accuracy(self) -> Values:
        """How often a shown correction is wrong."""
        return show_accuracy(await self._read_accuracy())

    async def accuracy_for_machines(self) -> Values:
        """The figures of the page about accuracy, as a JSON object."""
        return describe_accuracy(await self._read_accuracy())

    async def _read_accuracy(self) -> Accuracy:
        return await self._accuracy.get_or_make("", lambda: read_accuracy(self.record, self.clock.now()))

    def how(self) -> Values:
        """How it works."""
        return {"section": "/how-it-works", "sites": list(naming.SITES.values())}

    def docs(self) -> Values:
        """Every route, as the OpenAPI document describes it."""
        return {"section": "/api", **describe_api(self.document())}

    def api(self, base: str) -> Values:
        """The interfaces for machines."""
        return {
            "section": "/api",
            "base": base,
            "entries": feeds.ENTRIES,
            "platforms": list(naming.SITES.items()),
            "queries": list_queries(),
            "events": list_events(),
        }


@cache
def list_queries() -> list[tuple[str, str]]:
    """The fields of GraphQL's `Query` with their descriptions."""
    query = make_schema().query_type
    assert query is not None
    return [(name, (each.description or "").replace("`", "")) for name, each in query.fields.items()]


@cache
def list_events() -> list[tuple[str, str]]:
    """The subject of every public event, with the first line of its docstring."""
    meanings = {each.SUBJECT: (each.__doc__ or "").strip().partition("\n")[0].replace("`", "") for each in EVENTS}
    return [(subject, meanings[subject]) for subject in SHOWN]
