"""Every page: what it reads and what it shows.

A page that is not there is None; who asks for one gets the page that says so.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final
from uuid import UUID

from contracts.v1 import EVENTS
from kit.clock import Clock
from kit.flight import SingleFlight
from services.gateway.domain import parse_id
from services.gateway.graphql.schema import make_schema
from services.gateway.memory import Memory
from services.gateway.search.question import Filters
from services.gateway.site import feeds, findings, hearing, naming
from services.gateway.site.authors import Authors
from services.gateway.site.card import card
from services.gateway.site.cards import cards_of
from services.gateway.site.drawings import drawn
from services.gateway.site.figures import FiguresDesk
from services.gateway.site.listing import Wanted, listed
from services.gateway.site.posts import Posts
from services.gateway.site.provenance import is_listed, standing
from services.gateway.site.quotes import whole
from services.gateway.site.reads import Row, Shelf
from services.gateway.site.reference import reference
from services.gateway.site.subscriptions import Subscriptions
from services.gateway.stream.question import SHOWN

Values = dict[str, Any]
CARDS_BYTES: Final = 8 * 1024 * 1024


@dataclass
class Pages:
    """The pages over a read model."""

    shelf: Shelf
    clock: Clock
    document: Callable[[], dict[str, Any]]
    posts: Posts = field(init=False)
    authors: Authors = field(init=False)
    subscriptions: Subscriptions = field(init=False)
    _figures: FiguresDesk = field(init=False)
    _cards: Memory[tuple[UUID, str], bytes] = field(init=False)
    _drawing: SingleFlight[tuple[UUID, str], bytes] = field(init=False, default_factory=SingleFlight)

    def __post_init__(self) -> None:
        self.posts = Posts(self.shelf, self.clock)
        self.authors = Authors(self.shelf)
        self.subscriptions = Subscriptions(self.shelf)
        self._figures = FiguresDesk(self.shelf, self.clock)
        self._cards = Memory(self.clock, capacity=CARDS_BYTES, weigh=len)

    def forget(self) -> None:
        """Remember nothing of any post."""
        self.posts.forget()
        self._cards.clear()

    async def home(self) -> Values:
        """The newest corrections and the figures."""
        known = await self._figures.figures()
        async with self.shelf.open() as looking:
            hits = await looking.search.newest(None, Filters(min_claims=1), None, 6)
            cards = await cards_of(looking, [hit.investigation_id for hit in hits])
        return {"section": "/", "cards": cards, "figures": known}

    async def corrections(self, wanted: Wanted) -> Values:
        """A page of the list. Raises: nothing: what cannot be asked is told on the page."""
        return await listed(self.shelf, wanted)

    async def investigation(self, base: str, name: str, part: int = 1) -> Values | None:
        """One finished investigation, or a further part of its findings."""
        known = parse_id(name)
        if known is None:
            return None
        async with self.shelf.open() as looking:
            row = await looking.investigation(known)
            if row is None:
                return None
            kept, checks = await looking.sources(known), await looking.record.source_checks(known)
            attempts, candidates = await looking.attempts(known), await looking.candidates(known)
        return findings.page(base, row, kept, checks, attempts, candidates, part)

    async def audit(self, name: str) -> Values | None:
        """How one finished investigation came about."""
        known = parse_id(name)
        if known is None:
            return None
        async with self.shelf.open() as looking:
            row = await looking.investigation(known)
            if row is None:
                return None
            audit, checks = await looking.record.audit(known), await looking.record.source_checks(known)
            whole = audit.whole(await looking.record.exchanges(known))
        return hearing.page(row, whole, checks)

    async def prompt(self, name: str) -> bytes | None:
        """The prompt of one finished investigation, whole."""
        known = parse_id(name)
        if known is None:
            return None
        async with self.shelf.open() as looking:
            if await looking.investigation(known) is None:
                return None
            text: str = (await looking.record.audit(known)).row["text"]
        return text.encode("utf-8", "replace")

    async def text(self, name: str, page: int = 1) -> Values | None:
        """A page of the whole text of one investigation."""
        row = await self.row(name)
        pages = [] if row is None else await asyncio.to_thread(whole, row["content_text"], row["markdown"])
        if row is None or not 1 <= page <= len(pages):
            return None
        path = f"/investigations/{row['id']}"
        shown = {"passage": pages[page - 1], "page": page, "pages": len(pages), "listed": is_listed(row)}
        return {"section": "/corrections", "path": path, **shown}

    async def card(self, name: str) -> bytes | None:
        """The picture of one finished investigation; nothing on it changes but who vouches for the text."""
        row = await self.row(name)
        if row is None:
            return None
        key = (row["id"], standing(row))
        return self._cards.get(key) or await self._drawing.run(key, lambda: self._draw(key, row))

    async def _draw(self, key: tuple[UUID, str], row: Row) -> bytes:
        drawn_ = await asyncio.to_thread(card, row)
        self._cards.put(key, drawn_)
        return drawn_

    async def row(self, name: str) -> Row | None:
        """One finished investigation as its row."""
        known = parse_id(name)
        if known is None:
            return None
        async with self.shelf.open() as looking:
            return await looking.investigation(known)

    async def figures(self) -> Values:
        """The figures with their charts."""
        return {"section": "/figures", **drawn(await self._figures.figures())}

    def how(self) -> Values:
        """How it works."""
        return {"section": "/how-it-works"}

    def docs(self) -> Values:
        """Every route, as the OpenAPI document describes it."""
        return {"section": "/api", **reference(self.document())}

    def api(self, base: str) -> Values:
        """The interfaces for machines."""
        return {
            "section": "/api",
            "base": base,
            "entries": feeds.ENTRIES,
            "platforms": list(naming.PLATFORMS.items()),
            "queries": queries(),
            "events": events(),
        }


@cache
def queries() -> list[tuple[str, str]]:
    """What GraphQL can be asked, in its schema's own words."""
    query = make_schema().query_type
    assert query is not None
    return [(name, (each.description or "").replace("`", "")) for name, each in query.fields.items()]


@cache
def events() -> list[tuple[str, str]]:
    """The subject of every event that anybody may follow, and what it tells."""
    told = {each.SUBJECT: (each.__doc__ or "").strip().partition("\n")[0].replace("`", "") for each in EVENTS}
    return [(subject, told[subject]) for subject in SHOWN]
