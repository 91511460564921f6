"""Published findings that were taken back, of listed investigations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from sqlalchemy import text as sql

from contracts.v1.finding import FindingCause
from services.gateway.record.connection import Queries
from services.gateway.record.rows import BY_HIDDEN

_RETRACTIONS: Final = """
    SELECT f.claim_id, f.investigation_id, f.cause, f.note, f.changed_at, c.text, c.summary, i.checked_at, i.provider,
        s.platform, h.title, CASE WHEN h.confirmed THEN h.author_name END AS author_name
    FROM finding_state f
    JOIN claim c ON c.id = f.claim_id
    JOIN search_document s ON s.investigation_id = f.investigation_id
    JOIN investigation i ON i.id = f.investigation_id
    JOIN post p ON p.id = s.post_id AND NOT {by_hidden}
    LEFT JOIN version_heading h ON h.post_version_id = i.post_version_id
    WHERE f.state = 'RETRACTED' {beyond}
    ORDER BY f.changed_at DESC, f.claim_id DESC LIMIT :limit
"""
_CHANGED: Final = sql("""
    SELECT f.investigation_id FROM finding_state f
    CROSS JOIN LATERAL (
        SELECT platform, author_id FROM search_document WHERE investigation_id = f.investigation_id OFFSET 0
    ) s
    WHERE (CAST(:platform AS text) IS NULL OR s.platform = :platform)
        AND (CAST(:author AS uuid) IS NULL OR s.author_id = :author)
    ORDER BY f.changed_at DESC, f.claim_id DESC LIMIT :limit
""")


@dataclass(frozen=True, slots=True, kw_only=True)
class Retraction:
    """A retracted finding. `author_name`: only if the site confirmed the author."""

    claim_id: UUID
    investigation_id: UUID
    cause: FindingCause
    note: str
    changed_at: datetime
    text: str
    summary: str
    checked_at: datetime
    provider: str
    platform: str
    title: str | None
    author_name: str | None


class Retractions(Queries):
    """Queries of findings that were retracted, suspended or released."""

    async def newest(self, after: tuple[datetime, UUID] | None, limit: int) -> list[Retraction]:
        """Retracted findings, newest retraction first. `after`: moment and claim of the last one on the page before."""
        beyond = "AND (f.changed_at, f.claim_id) < (:at, :claim)" if after else ""
        place = {"at": after[0], "claim": after[1]} if after else {}
        query = _RETRACTIONS.format(by_hidden=BY_HIDDEN, beyond=beyond)
        return await self._all(Retraction, sql(query), limit=limit, **place)

    async def changed(self, platform: str | None, author: UUID | None, limit: int) -> Sequence[UUID]:
        """The investigations of the newest `limit` findings that were suspended, released or retracted."""
        return [*dict.fromkeys(await self._scalars(_CHANGED, platform=platform, author=author, limit=limit))]
