"""Posts, their versions, and integrity anomalies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from sqlalchemy import text as sql

from contracts.v1.ids import post_id
from contracts.v1.parts import PostRef
from services.gateway.record.connection import Queries
from services.gateway.record.rows import BY_HIDDEN, BackedText

VERSIONS: Final = 50

_POST: Final = sql(f"""
    SELECT p.id, p.platform, p.external_id, p.url, a.display_name AS author_name, p.confirmed AS author_confirmed,
        CASE WHEN p.confirmed THEN p.author_id END AS author_id
    FROM post p LEFT JOIN author a ON a.id = p.author_id WHERE p.id = :id AND NOT {BY_HIDDEN}
""")  # noqa: S608 (our words)
_VERSIONS: Final = sql("""
    SELECT v.id, v.content_hash, v.first_seen_at, v.last_seen_at, v.server_verified_at,
        v.corroborated_at, b.word_count, h.title, d.investigation_id, d.claim_count,
        jsonb_array_length(d.withdrawn) AS withdrawn_count, i.status, i.provider
    FROM (
        SELECT * FROM post_version WHERE post_id = :id
        ORDER BY server_verified_at IS NULL AND corroborated_at IS NULL, last_seen_at DESC, id DESC LIMIT :limit
    ) v
    JOIN content_blob b ON b.content_hash = v.content_hash
    LEFT JOIN version_heading h ON h.post_version_id = v.id
    LEFT JOIN LATERAL (
        SELECT id, status, provider FROM investigation
        WHERE post_version_id = v.id AND (origin = 'ORIGINAL' OR status = 'COMPLETE' AND origin <> 'CONTROL')
        ORDER BY checked_at DESC NULLS LAST, id DESC LIMIT 1
    ) i ON true
    LEFT JOIN investigation_doc d ON d.investigation_id = i.id
""")
_TEXTS: Final = sql("""
    SELECT content_hash, content_text FROM content_blob WHERE content_hash = ANY (CAST(:hashes AS text[]))
""")


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """A post. `author_id`: only if the site confirmed the author."""

    id: UUID
    platform: str
    external_id: str
    url: str
    author_name: str | None
    author_confirmed: bool
    author_id: UUID | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Version(BackedText):
    """A version of a post, with the status of its newest investigation."""

    id: UUID
    content_hash: str
    first_seen_at: datetime
    last_seen_at: datetime
    word_count: int
    title: str | None
    investigation_id: UUID | None
    claim_count: int | None
    withdrawn_count: int | None
    status: str | None
    provider: str | None


@dataclass(frozen=True, slots=True)
class _Text:
    content_hash: str
    content_text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Anomaly:
    """A difference between what a reader sent and what the site says."""

    observation_id: UUID
    kind: str
    platform: str
    external_id: str
    observed: str
    canonical: str
    detected_at: datetime


class Posts(Queries):
    """Queries of posts and their versions."""

    async def one(self, platform: str, external_id: str) -> Post | None:
        """A post with its author, or None."""
        return await self._one(Post, _POST, id=post_id(PostRef(platform=platform, external_id=external_id)))

    async def versions(self, post: UUID) -> list[Version]:
        """The versions observed last, at most VERSIONS; unlisted ones only as far as listed ones leave room."""
        return await self._all(Version, _VERSIONS, id=post, limit=VERSIONS)

    async def texts(self, hashes: Sequence[str]) -> dict[str, str]:
        """Texts by their hashes."""
        found = await self._all(_Text, _TEXTS, hashes=list(hashes)) if hashes else []
        return {row.content_hash: row.content_text for row in found}

    async def anomalies(
        self, post: tuple[str, str] | None, platform: str | None, after: tuple[datetime, UUID, str] | None, limit: int
    ) -> list[Anomaly]:
        """Anomalies of a post, or of a platform, newest first; none of posts of hidden authors."""
        conditions = [f"NOT EXISTS (SELECT FROM post p WHERE p.id = integrity_anomaly.post_id AND {BY_HIDDEN})"]
        values: dict[str, object] = {"limit": limit}
        if post is not None:
            conditions.append("post_id = :post")
            values["post"] = post_id(PostRef(platform=post[0], external_id=post[1]))
        elif platform is not None:
            conditions.append("platform = :platform")
            values["platform"] = platform
        if after is not None:
            conditions.append("(detected_at, observation_id, kind) < (:at, :id, :kind)")
            values |= {"at": after[0], "id": after[1], "kind": after[2]}
        query = f"""SELECT observation_id, kind, platform, external_id, observed, canonical, detected_at
            FROM integrity_anomaly WHERE {" AND ".join(conditions)}
            ORDER BY detected_at DESC, observation_id DESC, kind DESC LIMIT :limit"""  # noqa: S608 (our words)
        return await self._all(Anomaly, sql(query), **values)
