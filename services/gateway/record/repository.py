"""The public record: families of typed queries over one connection."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from kit.cache import Cache
from kit.database import Database
from services.gateway.record.appeals import Appeals
from services.gateway.record.audit import Audits
from services.gateway.record.authors import Authors
from services.gateway.record.catalogue import CatalogueQueries
from services.gateway.record.connection import open_connection, open_transaction
from services.gateway.record.counts import PostCounts, Tallies
from services.gateway.record.decision_log import DecisionLog
from services.gateway.record.desk import DeskQueries
from services.gateway.record.investigations import Investigations, Summary
from services.gateway.record.labels import Labels
from services.gateway.record.posts import Posts
from services.gateway.record.publishers import Publishers
from services.gateway.record.question import Filters
from services.gateway.record.retractions import Retractions
from services.gateway.record.reviews import Reviews
from services.gateway.record.search import Search
from services.gateway.record.sitemap import Sitemap
from services.gateway.record.watched import WatchedQueries

COUNTS_S: Final = 30
Window = tuple[str | None, UUID | None, datetime | None, datetime | None]


class RecordSession:
    """All queries of the record. Raises: Unavailable. BadQuestion: the query would take too long."""

    def __init__(self, connection: AsyncConnection) -> None:
        self.appeals = Appeals(connection)
        self.audits = Audits(connection)
        self.authors = Authors(connection)
        self.catalogue = CatalogueQueries(connection)
        self.counts = Tallies(connection)
        self.decision_log = DecisionLog(connection)
        self.desk = DeskQueries(connection)
        self.investigations = Investigations(connection)
        self.labels = Labels(connection)
        self.posts = Posts(connection)
        self.publishers = Publishers(connection)
        self.retractions = Retractions(connection)
        self.reviews = Reviews(connection)
        self.watched = WatchedQueries(connection)
        self.search = Search(connection)
        self.sitemap = Sitemap(connection)

    async def list_page(
        self, text: str | None, filters: Filters, offset: int, limit: int
    ) -> tuple[list[Summary], bool]:
        """The newest results after the first `offset`, and whether there are more."""
        hits = await self.search.with_offset(text, filters, offset, limit + 1)
        rows = await self.investigations.summaries([hit.investigation_id for hit in hits[:limit]])
        return rows, len(hits) > limit


@dataclass(frozen=True)
class PublicRecord:
    """Opens sessions of the record in one database."""

    database: Database
    _post_counts: Cache[Window, PostCounts] = field(default_factory=lambda: Cache(capacity=1_000, ttl_s=COUNTS_S))

    @asynccontextmanager
    async def open(self) -> AsyncIterator[RecordSession]:
        """Open a session: one connection and transaction. All its searches share the time limit of one statement."""
        async with open_transaction(self.database) as connection:
            yield RecordSession(connection)

    @asynccontextmanager
    async def open_by_key(self) -> AsyncIterator[RecordSession]:
        """Open a session for a few statements by key, without a time limit or settings for the planner."""
        async with open_connection(self.database) as connection:
            yield RecordSession(connection)

    async def count_posts(
        self, platform: str | None, author: UUID | None, start: datetime | None, end: datetime | None
    ) -> PostCounts:
        """Counts of posts, cached for COUNTS_S seconds: counting reads all index entries that match the filters."""

        async def count() -> PostCounts:
            async with self.open() as session:
                return await session.counts.posts(platform, author, start, end)

        return await self._post_counts.get_or_make((platform, author, start, end), count)

    async def find_controls(self, investigations: Collection[UUID]) -> Collection[UUID]:
        """The controls among these investigations, of which nothing is published."""
        async with self.open_by_key() as session:
            return await session.watched.find_controls(investigations)
