"""Finished investigations by pieces of time, for the sitemap."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from sqlalchemy import text as sql

from services.gateway.record.connection import Queries

_BUCKETS: Final = sql("SELECT number, starts_at, documents FROM search_bucket ORDER BY number")
_BETWEEN: Final = sql("""
    SELECT d.investigation_id AS id, d.checked_at, p.platform, p.external_id, d.author_id
    FROM (SELECT * FROM search_document
        WHERE checked_at >= :start AND checked_at < coalesce(CAST(:end AS timestamptz), 'infinity')
        ORDER BY checked_at DESC, investigation_id DESC LIMIT 16000) d
    JOIN investigation i ON i.id = d.investigation_id AND lower(i.provider) <> 'demo'
    JOIN post p ON p.id = d.post_id
    ORDER BY d.checked_at DESC, d.investigation_id DESC
""")


@dataclass(frozen=True, slots=True)
class Bucket:
    """A piece of time with about 512 finished investigations."""

    number: int
    starts_at: datetime
    documents: int


@dataclass(frozen=True, slots=True)
class SitemapEntry:
    """A finished investigation in the sitemap."""

    id: UUID
    checked_at: datetime
    platform: str
    external_id: str
    author_id: UUID | None


class Sitemap(Queries):
    """Queries of the sitemap."""

    async def buckets(self) -> list[Bucket]:
        """All pieces of time, oldest first."""
        return await self._all(Bucket, _BUCKETS)

    async def between(self, start: datetime, end: datetime | None) -> list[SitemapEntry]:
        """Finished investigations of a piece of time without those of the demonstration, newest first."""
        return await self._all(SitemapEntry, _BETWEEN, start=start, end=end)
