"""What GraphQL shows that is not search: one statement for each question, by key or by an index in its order."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from sqlalchemy import text as sql
from sqlalchemy.ext.asyncio import AsyncConnection

from contracts.v1.ids import post_id
from contracts.v1.parts import PostRef
from services.gateway.audit.public import Audit, Found, audit
from services.gateway.audit.reads import ATTEMPTS, AUDITED, CANDIDATES, EXCHANGES
from services.gateway.search.question import Place

Row = dict[str, Any]

_SUMMARY: Final = """
    SELECT d.investigation_id AS id, n.content_hash, n.provenance, v.server_verified_at, v.corroborated_at,
        d.checked_at, p.platform, p.external_id, p.url, d.claim_count,
        (SELECT count(*) FROM corroboration_credit c WHERE c.investigation_id = d.investigation_id)
            AS corroboration_count,
        (SELECT coalesce(jsonb_agg(jsonb_build_object('id', c->>'id', 'summary', c->>'summary')
            ORDER BY c->>'id'), '[]')
            FROM jsonb_array_elements(d.claims) c) AS claim_summaries
"""
_SUMMARIES: Final = sql(f"""{_SUMMARY}, h.title, h.author_name, coalesce(h.confirmed, false) AS author_confirmed
    FROM unnest(CAST(:ids AS uuid[])) WITH ORDINALITY wanted(id, place)
    JOIN investigation_doc d ON d.investigation_id = wanted.id
    JOIN investigation_input n ON n.investigation_id = d.investigation_id
    JOIN post_version v ON v.id = d.post_version_id JOIN post p ON p.id = v.post_id
    LEFT JOIN version_heading h ON h.post_version_id = v.id
    ORDER BY wanted.place
""")

_OF_POST: Final = sql(f"""{_SUMMARY}
    FROM post p JOIN post_version v ON v.post_id = p.id
    JOIN investigation_doc d ON d.post_version_id = v.id
    JOIN investigation_input n ON n.investigation_id = d.investigation_id
    WHERE p.id = :id ORDER BY d.checked_at DESC, d.investigation_id DESC
""")

_POST: Final = sql("""
    SELECT platform, external_id, url, CASE WHEN confirmed THEN author_id END AS author_id FROM post WHERE id = :id
""")

_PUBLIC: Final = sql("""
    SELECT i.id, i.checked_at, i.provider, i.model, r.version AS prompt_version, n.provenance, n.content_hash,
        v.server_verified_at, v.corroborated_at, p.platform, p.external_id, p.url,
        CASE WHEN p.confirmed THEN p.author_id END AS author_id, d.claims,
        (SELECT count(*) FROM corroboration_credit c WHERE c.investigation_id = i.id) AS corroboration_count
    FROM investigation i
    JOIN investigation_doc d ON d.investigation_id = i.id
    JOIN investigation_input n ON n.investigation_id = i.id
    JOIN prompt r ON r.hash = i.prompt_hash
    JOIN post_version v ON v.id = i.post_version_id
    JOIN post p ON p.id = v.post_id
    WHERE i.id = :id AND i.status = 'COMPLETE'
""")

_PASSAGES: Final = sql("""
    SELECT d.investigation_id AS id, h.title, h.author_name, h.url, d.claims, b.begin > 1 AS begins_before,
        substr(b.content_text, b.begin, length(:found) + 240) AS text,
        b.begin + length(:found) + 240 <= length(b.content_text) AS goes_on
    FROM unnest(CAST(:ids AS uuid[])) wanted(id)
    JOIN investigation_doc d ON d.investigation_id = wanted.id
    JOIN post_version v ON v.id = d.post_version_id
    LEFT JOIN version_heading h ON h.post_version_id = v.id
    CROSS JOIN LATERAL (
        SELECT content_text, greatest(1, position(lower(:found) IN lower(content_text)) - 120) AS begin
        FROM content_blob WHERE content_hash = v.content_hash
    ) b
""")

_CHECKS: Final = sql("""
    SELECT DISTINCT ON (k.claim_id, k.url) k.claim_id, k.url, k.status, k.reason, k.final_url, k.page_hash,
        k.size_bytes, k.media_type, k.fetched_at, '/sources/' || k.page_hash AS archived_copy
    FROM claim c JOIN source_check k ON k.claim_id = c.id WHERE c.investigation_id = :id
    ORDER BY k.claim_id, k.url, k.round DESC
""")
_COPY: Final = sql("""
    SELECT k.media_type FROM source_check k JOIN claim c ON c.id = k.claim_id WHERE k.page_hash = :hash LIMIT 1
""")

_AUTHOR: Final = sql("""
    SELECT id, platform, platform_user_id, display_name FROM author
    WHERE id = ANY (CAST(:ids AS uuid[])) AND confirmed
""")
_AUTHOR_METRICS: Final = sql("""
    SELECT a.id AS author_id, t.posts AS investigated_posts, t.flagged_posts, t.claims AS claim_count
    FROM unnest(CAST(:ids AS uuid[])) a(id) JOIN tally t ON t.scope = 'author:' || a.id
""")
_TALLY: Final = sql("""
    SELECT posts AS total_investigated_posts, flagged_posts AS investigated_posts_with_flags
    FROM tally WHERE scope = :scope
""")
_OF_AUTHOR: Final = """
    SELECT investigation_id, checked_at FROM search_document WHERE author_id = :id {beyond}
    ORDER BY checked_at DESC, investigation_id DESC LIMIT :limit
"""

_WINDOW: Final = """
    WITH asked AS (
        SELECT coalesce(CAST(:start AS timestamptz), '-infinity') AS starts,
            coalesce(CAST(:end AS timestamptz), 'infinity') AS ends
    ), days AS (
        SELECT starts, ends, first, greatest(first, date_trunc('day', ends, 'UTC')) AS beyond
        FROM asked CROSS JOIN LATERAL (SELECT date_trunc('day', starts, 'UTC')) begun(day)
        CROSS JOIN LATERAL (SELECT CASE WHEN day < starts THEN day + interval '24 hours' ELSE starts END) whole(first)
    ), counted AS (
        SELECT d.flagged, d.posts AS n FROM days w JOIN tally_day d
            ON d.day >= (w.first AT TIME ZONE 'UTC')::date AND d.day < (w.beyond AT TIME ZONE 'UTC')::date
            AND (d.previous = '-infinity' OR d.previous < (w.first AT TIME ZONE 'UTC')::date)
        {platform}
        UNION ALL
        SELECT m.flagged, (m.previous_at IS NULL OR m.previous_at < w.starts)::integer
            - (m.next_at >= w.first AND m.next_at < w.beyond AND m.next_at IS NOT NULL)::integer
        FROM days w JOIN tally_moment m
            ON m.checked_at >= w.starts AND m.checked_at < w.first AND m.checked_at <= w.ends
        {platform}
        UNION ALL
        SELECT m.flagged, (m.previous_at IS NULL OR m.previous_at < w.starts)::integer
        FROM days w JOIN tally_moment m ON m.checked_at >= w.beyond AND m.checked_at <= w.ends
        {platform}
    )
    SELECT coalesce(sum(n) FILTER (WHERE NOT flagged), 0)::integer AS total_investigated_posts,
        coalesce(sum(n) FILTER (WHERE flagged), 0)::integer AS investigated_posts_with_flags
    FROM counted
"""
"""A post counts where it is first seen in the window: by sums of the whole days of UTC in it, and one by one in what
remains before and after them. Those the days count although the part before them has them already are taken off."""

_METRICS: Final = """
    SELECT count(DISTINCT post_id) AS total_investigated_posts,
        count(DISTINCT post_id) FILTER (WHERE claim_count > 0) AS investigated_posts_with_flags
    FROM search_document {where}
"""


class Record:
    """The public record over one connection, inside `search.reads.reading`."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def _all(self, query: Any, values: Mapping[str, Any]) -> list[Row]:
        return [dict(row) for row in (await self._connection.execute(query, values)).mappings()]

    async def _one(self, query: Any, values: Mapping[str, Any]) -> Row | None:
        found = await self._all(query, values)
        return found[0] if found else None

    async def public(self, investigation_id: UUID) -> Row | None:
        """One finished investigation."""
        return await self._one(_PUBLIC, {"id": investigation_id})

    async def summaries(self, ids: Sequence[UUID]) -> list[Row]:
        """Finished investigations in the order of their ids."""
        return await self._all(_SUMMARIES, {"ids": list(ids)}) if ids else []

    async def passages(self, ids: Sequence[UUID], found: str) -> dict[UUID, Row]:
        """Where to look for what was found: heading, findings, and the piece of text around it."""
        return {row["id"]: row for row in await self._all(_PASSAGES, {"ids": list(ids), "found": found})} if ids else {}

    async def post(self, platform: str, external_id: str) -> tuple[Row, list[Row]] | None:
        """A post and its finished investigations, newest first."""
        key = {"id": post_id(PostRef(platform=platform, external_id=external_id))} if external_id else None
        post = await self._one(_POST, key) if key else None
        return None if post is None or key is None else (post, await self._all(_OF_POST, key))

    async def metrics(
        self, platform: str | None, author: UUID | None, start: datetime | None, end: datetime | None
    ) -> Row:
        """Counts of posts: kept up where no time narrows them, by days where it does, one by one for an author."""
        if start is None and end is None and (platform is None or author is None):
            scope = "all" if platform is None else f"platform:{platform}"
            kept = await self._one(_TALLY, {"scope": scope if author is None else f"author:{author}"})
            return kept or {"total_investigated_posts": 0, "investigated_posts_with_flags": 0}
        if author is None:
            where = "" if platform is None else "WHERE platform = :platform"
            row = await self._one(
                sql(_WINDOW.format(platform=where)),
                {"start": start, "end": end} | ({} if platform is None else {"platform": platform}),
            )
            assert row is not None
            return row
        conditions = {
            "platform = :platform": platform,
            "author_id = :author": author,
            "checked_at >= :start": start,
            "checked_at <= :end": end,
        }
        used = [condition for condition, value in conditions.items() if value is not None]
        where = f"WHERE {' AND '.join(used)}" if used else ""
        values = {"platform": platform, "author": author, "start": start, "end": end}
        row = await self._one(sql(_METRICS.format(where=where)), {k: v for k, v in values.items() if v is not None})
        assert row is not None
        return row

    async def by_id(self, authors: Sequence[UUID]) -> dict[UUID, Row]:
        """Authors by id, but none that only readers name."""
        return {row["id"]: row for row in await self._all(_AUTHOR, {"ids": list(authors)})}

    async def author_metrics(self, authors: Sequence[UUID]) -> dict[UUID, Row]:
        """What was found in the posts of each author of whom anything was investigated."""
        return {row["author_id"]: row for row in await self._all(_AUTHOR_METRICS, {"ids": list(authors)})}

    async def of_author(self, author_id: UUID, after: Place | None, limit: int) -> list[Row]:
        """An author's investigations, newest first."""
        beyond = "AND (checked_at, investigation_id) < (:at, :last)" if after else ""
        values: Row = {"id": author_id, "limit": limit} | (
            {"at": after.checked_at, "last": after.investigation_id} if after else {}
        )
        return await self._all(sql(_OF_AUTHOR.format(beyond=beyond)), values)

    async def authors(
        self, pattern: str | None, short: str | None, platform: str | None, after: tuple[str, UUID] | None, limit: int
    ) -> list[Row]:
        """Authors that a site has named, in the order of their names. `short` is too short for trigrams to find."""
        conditions = ["confirmed"]
        values: Row = {"limit": limit}
        for condition, value in (
            ("display_name ILIKE :pattern", {"pattern": pattern}),
            ("search_grams(lower(display_name)) @> search_grams(lower(:short))", {"short": short}),
            ("platform = :platform", {"platform": platform}),
        ):
            if None not in value.values():
                conditions.append(condition)
                values |= value
        if after is not None:
            conditions.append("(display_name, id) > (:name, :id)")
            values |= {"name": after[0], "id": after[1]}
        query = f"""SELECT id, platform, platform_user_id, display_name FROM author WHERE {" AND ".join(conditions)}
            ORDER BY display_name, id LIMIT :limit"""  # noqa: S608 (our words)
        return await self._all(sql(query), values)

    async def anomalies(
        self, post: tuple[str, str] | None, platform: str | None, after: tuple[datetime, UUID, str] | None, limit: int
    ) -> list[Row]:
        """Contradictions, newest first."""
        conditions: list[str] = []
        values: Row = {"limit": limit}
        if post is not None:
            conditions.append("post_id = :post")
            values["post"] = post_id(PostRef(platform=post[0], external_id=post[1]))
        elif platform is not None:
            conditions.append("platform = :platform")
            values["platform"] = platform
        if after is not None:
            conditions.append("(detected_at, observation_id, kind) < (:at, :id, :kind)")
            values |= {"at": after[0], "id": after[1], "kind": after[2]}
        where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
        query = f"""SELECT observation_id, kind, platform, external_id, observed, canonical, detected_at
            FROM integrity_anomaly {where} ORDER BY detected_at DESC, observation_id DESC, kind DESC LIMIT :limit"""  # noqa: S608 (our words)
        return await self._all(sql(query), values)

    async def source_checks(self, investigation_id: UUID) -> list[Row]:
        """What became of each source of a finding when somebody went to look; nothing where nobody did."""
        return await self._all(_CHECKS, {"id": investigation_id})

    async def copy(self, sha256: str) -> Row | None:
        """What kind of page was archived under this hash for a published finding."""
        return await self._one(_COPY, {"hash": sha256})

    async def audit(self, investigation_id: UUID) -> Audit:
        """How a finished investigation came about."""
        key = {"id": investigation_id}
        given = await self._one(AUDITED, key)
        assert given is not None
        found = Found(given, await self._all(ATTEMPTS, key), await self._all(CANDIDATES, key))
        return await asyncio.to_thread(audit, found)

    async def exchanges(self, investigation_id: UUID) -> list[Row]:
        """What was exchanged with the model in the last attempts, all of it: `Audit` says what may be shown."""
        return await self._all(EXCHANGES, {"id": investigation_id})
