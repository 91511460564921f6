"""What pages show that nothing else asks for: by key, or by an index in its order, and never more than a page needs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from sqlalchemy import text as sql
from sqlalchemy.ext.asyncio import AsyncConnection

from contracts.v1.ids import post_id
from contracts.v1.parts import PostRef
from kit.database import Database
from services.gateway.graphql.reads import Record
from services.gateway.search.reads import Search, reading

Row = dict[str, Any]

VERSIONS: Final = 50
SAMPLE: Final = 1_000
A_WEEK: Final = 60

_CORROBORATED: Final = "(SELECT count(*) FROM corroboration_credit c WHERE c.investigation_id = i.id)"

_AUTHOR: Final = (
    "coalesce(h.confirmed, false) AS author_confirmed, CASE WHEN h.confirmed THEN h.author_id END AS author_id"
)
"""An author has a page only where the site itself names one."""

_INVESTIGATION: Final = sql(
    f"""
    SELECT i.id, i.analysis, i.provider, i.model, i.model_version, i.queued_at, i.checked_at, i.requested_by,
        i.parent_investigation_id, r.version AS prompt_version, r.hash AS prompt_hash, n.provenance, n.content_hash,
        n.markdown_source, n.markdown_renderer_version, n.markdown, v.id AS version_id, v.version_hash,
        v.first_seen_at, v.server_verified_at, v.corroborated_at, v.seen_count, b.content_text, b.word_count,
        p.id AS post_id, p.platform, p.external_id, p.url, h.title, h.author_name, {_AUTHOR}, d.claims,
        {_CORROBORATED} AS corroboration_count,
        (SELECT o.id FROM post_version o WHERE o.post_id = p.id ORDER BY o.last_seen_at DESC, o.id DESC LIMIT 1)
            AS newest_version_id,
        (SELECT f.reason FROM verification_failure f WHERE f.post_version_id = v.id ORDER BY f.failed_at DESC LIMIT 1)
            AS unverified_because
    FROM investigation i
    JOIN investigation_doc d ON d.investigation_id = i.id
    JOIN investigation_input n ON n.investigation_id = i.id
    JOIN prompt r ON r.hash = i.prompt_hash
    JOIN post_version v ON v.id = i.post_version_id
    JOIN content_blob b ON b.content_hash = v.content_hash
    JOIN post p ON p.id = v.post_id
    LEFT JOIN version_heading h ON h.post_version_id = v.id
    WHERE i.id = :id AND i.status = 'COMPLETE'
"""  # noqa: S608 (our words)
)

_SOURCES: Final = sql("""
    SELECT s.claim_id, s.ordinal, s.snapshot_hash, s.retrieved_at
    FROM claim c JOIN source s ON s.claim_id = c.id WHERE c.investigation_id = :id ORDER BY c.ordinal, s.ordinal
""")

_ATTEMPTS: Final = sql("""
    SELECT a.attempt_number AS number, a.outcome, a.request_model, a.response_model_version, a.transcript_hash,
        a.started_at, a.completed_at, u.input_tokens, u.output_tokens, u.total_tokens,
        CAST(to_jsonb(u)->>'cost_micro_usd' AS bigint) AS cost_micro_usd, e.error_name,
        (SELECT count(*) FROM investigation_attempt_tool_call t WHERE t.attempt_id = a.id) AS tool_calls
    FROM investigation_attempt a
    LEFT JOIN investigation_attempt_usage u ON u.attempt_id = a.id
    LEFT JOIN investigation_attempt_error e ON e.attempt_id = a.id
    WHERE a.investigation_id = :id ORDER BY a.attempt_number
""")

_CANDIDATES: Final = sql("""
    SELECT state, gate, retained_from IS NOT NULL AS retained, proposed_at, decided_at FROM claim_candidate
    WHERE investigation_id = :id ORDER BY proposed_at, ordinal
""")

_CARDS: Final = sql(
    f"""
    SELECT i.id, i.provider, d.checked_at, d.claim_count, d.claims, n.provenance, v.server_verified_at,
        v.corroborated_at, p.platform, p.external_id, p.url, h.title, h.author_name, {_AUTHOR},
        {_CORROBORATED} AS corroboration_count
    FROM unnest(CAST(:ids AS uuid[])) WITH ORDINALITY wanted(id, place)
    JOIN investigation i ON i.id = wanted.id
    JOIN investigation_doc d ON d.investigation_id = i.id
    JOIN investigation_input n ON n.investigation_id = i.id
    JOIN post_version v ON v.id = i.post_version_id
    JOIN post p ON p.id = v.post_id
    LEFT JOIN version_heading h ON h.post_version_id = v.id
    ORDER BY wanted.place
"""  # noqa: S608 (our words)
)

_POST: Final = sql("""
    SELECT p.id, p.platform, p.external_id, p.url, a.display_name AS author_name, p.confirmed AS author_confirmed,
        CASE WHEN p.confirmed THEN p.author_id END AS author_id
    FROM post p LEFT JOIN author a ON a.id = p.author_id WHERE p.id = :id
""")
_VERSIONS: Final = sql("""
    SELECT v.id, v.version_hash, v.content_hash, v.first_seen_at, v.last_seen_at, v.seen_count, v.server_verified_at,
        v.corroborated_at, b.word_count, h.title, d.investigation_id, d.claim_count, d.checked_at, i.status, i.provider
    FROM post_version v
    JOIN content_blob b ON b.content_hash = v.content_hash
    LEFT JOIN version_heading h ON h.post_version_id = v.id
    LEFT JOIN investigation i ON i.post_version_id = v.id
    LEFT JOIN investigation_doc d ON d.investigation_id = i.id
    WHERE v.post_id = :id ORDER BY v.last_seen_at DESC, v.id DESC LIMIT :limit
""")
_TEXTS: Final = sql("""
    SELECT content_hash, content_text FROM content_blob WHERE content_hash = ANY (CAST(:hashes AS text[]))
""")

_FLAGGED_OF_AUTHOR: Final = sql("""
    SELECT investigation_id FROM search_document WHERE author_id = :id AND claim_count > 0
    ORDER BY checked_at DESC, investigation_id DESC LIMIT :limit
""")

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

_PERIODS: Final = sql("""
    SELECT week, platform, count(*) AS investigations, count(DISTINCT post_id) AS posts,
        count(DISTINCT post_id) FILTER (WHERE claim_count > 0) AS flagged, coalesce(sum(claim_count), 0) AS claims
    FROM (SELECT date_trunc('week', checked_at, 'UTC') AS week, platform, post_id, claim_count
        FROM search_document WHERE checked_at >= :since) d
    GROUP BY GROUPING SETS ((week), (platform), ())
""")
_TOOK: Final = """
    JOIN investigation i ON i.id = n.investigation_id
    LEFT JOIN LATERAL (
        SELECT count(*) FILTER (WHERE state = 'APPROVED') AS approved,
            count(*) FILTER (WHERE state = 'REJECTED') AS rejected, count(*) FILTER (WHERE state = 'FAILED') AS failed
        FROM claim_candidate WHERE investigation_id = n.investigation_id AND attempt IS NOT NULL
    ) c ON true
    LEFT JOIN LATERAL (
        SELECT sum(u.total_tokens) AS tokens, CAST(sum(CAST(to_jsonb(u)->>'cost_micro_usd' AS bigint)) AS bigint)
            AS cost_micro_usd
        FROM investigation_attempt a JOIN investigation_attempt_usage u ON u.attempt_id = a.id
        WHERE a.investigation_id = n.investigation_id
    ) u ON true
"""
_NEWEST: Final = sql(
    f"""
    WITH newest AS MATERIALIZED (
        SELECT investigation_id, checked_at FROM search_document ORDER BY checked_at DESC, investigation_id DESC
        LIMIT :limit
    )
    SELECT n.checked_at, i.queued_at, i.provider, c.approved, c.rejected, c.failed, u.tokens, u.cost_micro_usd
    FROM newest n {_TOOK}
"""  # noqa: S608 (our words)
)
_WEEKLY: Final = sql(
    f"""
    SELECT w.week, c.approved, c.rejected, u.cost_micro_usd
    FROM generate_series(CAST(:since AS timestamptz), CAST(:now AS timestamptz), interval '7 days') w(week)
    CROSS JOIN LATERAL (
        SELECT investigation_id FROM search_document
        WHERE checked_at >= w.week AND checked_at < w.week + interval '7 days'
        ORDER BY checked_at DESC, investigation_id DESC LIMIT :limit
    ) n {_TOOK}
"""  # noqa: S608 (our words)
)


class Shelf:
    """The read model as pages take from it. Raises: Unavailable."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Looking]:
        """Everything a page needs, over one connection."""
        async with reading(self._database) as connection:
            yield Looking(connection)


class Looking:
    """Reads over one connection; `record` and `search` are those that GraphQL has."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection
        self.record = Record(connection)
        self.search = Search(connection)

    async def _all(self, query: Any, values: Mapping[str, Any]) -> list[Row]:
        return [dict(row) for row in (await self._connection.execute(query, values)).mappings()]

    async def _one(self, query: Any, values: Mapping[str, Any]) -> Row | None:
        found = await self._all(query, values)
        return found[0] if found else None

    async def investigation(self, investigation_id: UUID) -> Row | None:
        """One finished investigation, its post and its text."""
        return await self._one(_INVESTIGATION, {"id": investigation_id})

    async def sources(self, investigation_id: UUID) -> list[Row]:
        """What was kept of each source when it was published."""
        return await self._all(_SOURCES, {"id": investigation_id})

    async def attempts(self, investigation_id: UUID) -> list[Row]:
        """Every attempt, without the texts that only the audit may show: some are kept back."""
        return await self._all(_ATTEMPTS, {"id": investigation_id})

    async def candidates(self, investigation_id: UUID) -> list[Row]:
        """What became of each candidate, and nothing of what it said."""
        return await self._all(_CANDIDATES, {"id": investigation_id})

    async def cards(self, ids: Sequence[UUID]) -> list[Row]:
        """Finished investigations as lists show them, in the order of their ids."""
        return await self._all(_CARDS, {"ids": list(ids)}) if ids else []

    async def post(self, platform: str, external_id: str) -> Row | None:
        """A post."""
        return await self._one(_POST, {"id": post_id(PostRef(platform=platform, external_id=external_id))})

    async def versions(self, post: UUID) -> list[Row]:
        """The versions of a post that were seen last, at most VERSIONS."""
        return await self._all(_VERSIONS, {"id": post, "limit": VERSIONS})

    async def texts(self, hashes: Sequence[str]) -> dict[str, str]:
        """Texts by their hashes."""
        found = await self._all(_TEXTS, {"hashes": list(hashes)}) if hashes else []
        return {row["content_hash"]: row["content_text"] for row in found}

    async def flagged_of_author(self, author_id: UUID, limit: int) -> list[UUID]:
        """An author's newest investigations that found something."""
        found = await self._all(_FLAGGED_OF_AUTHOR, {"id": author_id, "limit": limit})
        return [row["investigation_id"] for row in found]

    async def buckets(self) -> list[Row]:
        """How many finished investigations there are, by pieces of time: one row for about 512."""
        return await self._all(_BUCKETS, {})

    async def between(self, start: datetime, end: datetime | None) -> list[Row]:
        """Finished investigations of a piece of time, newest first, but none of the demonstration."""
        return await self._all(_BETWEEN, {"start": start, "end": end})

    async def periods(self, since: datetime) -> list[Row]:
        """Counts by week (platform is None), by platform (week is None), and in all (both are)."""
        return await self._all(_PERIODS, {"since": since})

    async def weekly(self, since: datetime, now: datetime) -> list[Row]:
        """What the newest of each week took, at most A_WEEK of each."""
        return await self._all(_WEEKLY, {"since": since, "now": now, "limit": A_WEEK})

    async def newest(self) -> list[Row]:
        """What the newest finished investigations took, at most SAMPLE."""
        return await self._all(_NEWEST, {"limit": SAMPLE})
