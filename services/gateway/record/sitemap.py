"""Finished investigations by days, for the sitemap."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from sqlalchemy import text as sql

from services.gateway.record.connection import Queries
from services.gateway.record.rows import BY_HIDDEN

_LISTED: Final = f"""
    JOIN investigation i ON i.id = d.investigation_id AND lower(i.provider) <> 'demo'
    JOIN post p ON p.id = d.post_id AND NOT {BY_HIDDEN}
"""
_DAYS: Final = sql(f"""
    WITH RECURSIVE day(starts_at) AS (
        SELECT date_trunc('day', min(checked_at), 'UTC') FROM search_document
        UNION ALL
        SELECT date_trunc('day', (SELECT min(checked_at) FROM search_document
            WHERE checked_at >= d.starts_at + interval '24 hours'), 'UTC')
        FROM day d WHERE d.starts_at IS NOT NULL
    )
    SELECT starts_at FROM day CROSS JOIN LATERAL (
        SELECT FROM search_document d {_LISTED}
        WHERE d.checked_at >= starts_at AND d.checked_at < starts_at + interval '24 hours' LIMIT 1) listed
    WHERE starts_at IS NOT NULL
    ORDER BY starts_at
""")  # noqa: S608 (our words)
_ON: Final = sql(f"""
    SELECT d.investigation_id AS id, d.checked_at, p.platform, p.external_id, d.author_id
    FROM (SELECT * FROM search_document
        WHERE checked_at >= :day AND checked_at < CAST(:day AS timestamptz) + interval '24 hours'
        ORDER BY checked_at DESC, investigation_id DESC LIMIT 16000) d
    {_LISTED}
    ORDER BY d.checked_at DESC, d.investigation_id DESC
""")  # noqa: S608 (our words)
"""At most 50,000 addresses, as the format allows: an investigation has up to three."""


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

    async def days(self) -> list[datetime]:
        """All UTC days on which `on` finds something, oldest first."""
        return [*await self._scalars(_DAYS)]

    async def on(self, day: datetime) -> list[SitemapEntry]:
        """Finished investigations of a UTC day, newest first, without the demonstration's and hidden authors'."""
        return await self._all(SitemapEntry, _ON, day=day)
