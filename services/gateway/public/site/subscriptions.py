"""Feeds of corrections and appeals, and the sitemap: a part for each day."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from services.gateway.domain import parse_id
from services.gateway.public.site import feeds, links, naming
from services.gateway.record.investigations import Card
from services.gateway.record.question import Filters
from services.gateway.record.repository import PublicRecord, RecordSession

STATIC_PAGES: Final = ("/", "/corrections", "/retractions", "/authors", "/figures", "/how-it-works", "/api")
_NEVER: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Feed:
    """The content of one feed."""

    title: str
    home: str
    entries: tuple[feeds.Entry, ...]

    @property
    def updated(self) -> datetime:
        """When an entry last changed."""
        return max((each.updated for each in self.entries), default=_NEVER)


@dataclass
class Subscriptions:
    """Feeds and sitemaps."""

    record: PublicRecord

    async def feed(self, base: str, name: str) -> Feed | None:
        """The feed `all`, of a site, `retractions` or `appeals`, newest change first; None if there is no such feed."""
        if name == "retractions":
            return await self._retractions(base)
        if name == "appeals":
            return await self._appeals(base)
        platform = name.upper()
        if name != "all" and platform not in naming.SITES:
            return None
        filters = Filters(None if name == "all" else platform, 1)
        async with self.record.open() as session:
            hits = await session.search.newest(None, filters, None, feeds.ENTRIES)
            cards = await _load_cards(session, [hit.investigation_id for hit in hits], platform=filters.platform)
        where = "" if name == "all" else f" on {naming.platform_name(platform)}"
        home = f"{base}/corrections" + ("" if name == "all" else f"?platform={name}")
        return Feed(f"OpenErrata: corrections{where}", home, _entries(base, cards))

    async def _retractions(self, base: str) -> Feed:
        async with self.record.open() as session:
            rows = await session.retractions.newest(None, feeds.ENTRIES)
            cards = await session.investigations.cards(list(dict.fromkeys(row.investigation_id for row in rows)))
        return Feed("OpenErrata: retractions", f"{base}/retractions", _entries(base, _by_change(cards)))

    async def _appeals(self, base: str) -> Feed:
        async with self.record.open() as session:
            rows = await session.appeals.newest(feeds.ENTRIES)
        entries = tuple(feeds.make_appeal_entry(base, row) for row in rows)
        return Feed("OpenErrata: appeals", f"{base}/accuracy#appeals", entries)

    async def author_feed(self, base: str, name: str) -> Feed | None:
        """The newest corrections of one author."""
        parsed_id = parse_id(name)
        if parsed_id is None:
            return None
        async with self.record.open() as session:
            author = (await session.authors.by_id([parsed_id])).get(parsed_id)
            if author is None:
                return None
            flagged = await session.authors.flagged(parsed_id, feeds.ENTRIES)
            cards = await _load_cards(session, flagged, author=parsed_id)
        title = f"OpenErrata: corrections of {author.display_name}"
        return Feed(title, f"{base}/authors/{parsed_id}", _entries(base, cards))

    async def maps(self) -> list[str]:
        """The paths of all parts of the sitemap."""
        async with self.record.open() as session:
            days = await session.sitemap.days()
        return ["/sitemaps/pages.xml"] + [f"/sitemaps/{day:%Y-%m-%d}.xml" for day in days]

    async def map(self, name: str) -> list[tuple[str, datetime | None]] | None:
        """One part of the sitemap: paths with the time of their last change."""
        if name == "pages":
            return [(path, None) for path in STATIC_PAGES]
        try:
            day = datetime.strptime(name, "%Y-%m-%d").replace(tzinfo=UTC)
        except ValueError:
            return None
        async with self.record.open() as session:
            rows = await session.sitemap.on(day)
        if not rows:
            return None
        pages: dict[str, datetime | None] = {}
        for row in rows:  # newest first, so a page's time is that of the newest result on it
            pages[f"/investigations/{row.id}"] = row.checked_at
            pages.setdefault(links.post_path(row.platform, row.external_id), row.checked_at)
            if row.author_id is not None:
                pages.setdefault(f"/authors/{row.author_id}", row.checked_at)
        return list(pages.items())


async def _load_cards(
    session: RecordSession, flagged: Sequence[UUID], *, platform: str | None = None, author: UUID | None = None
) -> list[Card]:
    """The cards of flagged investigations, and of those whose findings changed, newest change first."""
    changed = await session.retractions.changed(platform, author, feeds.ENTRIES)
    cards = await session.investigations.cards(list(dict.fromkeys((*flagged, *changed))))
    return _by_change(cards)[: feeds.ENTRIES]


def _by_change(cards: Sequence[Card]) -> list[Card]:
    return sorted(cards, key=lambda card: (card.updated_at, card.id), reverse=True)


def _entries(base: str, cards: Sequence[Card]) -> tuple[feeds.Entry, ...]:
    return tuple(feeds.make_entry(base, card) for card in cards)
