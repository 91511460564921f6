"""Counts: of posts by filter, and of the last half year for the figures page."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from sqlalchemy import text as sql

from services.gateway.record.connection import Queries

SAMPLE: Final = 1_000
A_WEEK: Final = 60

_METRICS: Final = """
    SELECT count(*) AS total_investigated_posts, count(*) FILTER (WHERE flagged) AS investigated_posts_with_flags
    FROM (SELECT bool_or(claim_count > 0) AS flagged FROM search_document WHERE {where} GROUP BY post_id) post
"""

_END: Final = "date_trunc('milliseconds', CAST(:end AS timestamptz)) + interval '1 millisecond'"
"""Answers say times in whole milliseconds, so a window that ends with such a time includes all of that millisecond."""

_IS_SHOWN: Final = "NOT EXISTS (SELECT FROM author WHERE id = :author AND hidden_at IS NOT NULL)"
"""Counts of all posts include those of hidden authors; the counts of a hidden author alone are 0."""

_RESULTS: Final = sql("SELECT count(*) FROM search_document")

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


@dataclass(frozen=True, slots=True, kw_only=True)
class PostCounts:
    """The number of investigated posts, and of those with findings."""

    total_investigated_posts: int = 0
    investigated_posts_with_flags: int = 0

    @property
    def fact_check_incidence(self) -> float:
        """The share of investigated posts with findings; 0 if there are none."""
        total = self.total_investigated_posts
        return self.investigated_posts_with_flags / total if total else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """Counts of a week (platform is None), of a platform (week is None), or of all (both are)."""

    week: datetime | None
    platform: str | None
    investigations: int
    posts: int
    flagged: int
    claims: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WeekSample:
    """The outcome of one investigation of a week. Units: millionths of a US dollar."""

    week: datetime
    approved: int
    rejected: int
    cost_micro_usd: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Duration, cost and outcome of one of the newest investigations. Units: millionths of a US dollar."""

    checked_at: datetime
    queued_at: datetime
    provider: str
    approved: int
    rejected: int
    failed: int
    tokens: int | None
    cost_micro_usd: int | None


class Tallies(Queries):
    """Counts over listed investigations."""

    async def posts(
        self, platform: str | None, author: UUID | None, start: datetime | None, end: datetime | None
    ) -> PostCounts:
        """Counts of posts with a result that meets all conditions; a post counts once."""
        conditions: dict[str, tuple[str, object]] = {
            "platform": ("platform = :platform", platform),
            "author": (f"author_id = :author AND {_IS_SHOWN}", author),
            "start": ("checked_at >= :start", start),
            "end": (f"checked_at < {_END}", end),
        }
        used = {name: each for name, each in conditions.items() if each[1] is not None}
        where = " AND ".join(condition for condition, _ in used.values()) or "true"
        values = {name: value for name, (_, value) in used.items()}
        return await self._one(PostCounts, sql(_METRICS.format(where=where)), **values) or PostCounts()

    async def count_results(self) -> int:
        """The number of listed results, over all time."""
        return int((await self._scalars(_RESULTS)).one())

    async def periods(self, since: datetime) -> list[Period]:
        """Counts by week, by platform, and in all."""
        return await self._all(Period, _PERIODS, since=since)

    async def weekly(self, since: datetime, now: datetime) -> list[WeekSample]:
        """Outcomes of the newest investigations of each week, at most A_WEEK each."""
        return await self._all(WeekSample, _WEEKLY, since=since, now=now, limit=A_WEEK)

    async def newest(self) -> list[Sample]:
        """Durations, costs and outcomes of the newest investigations, at most SAMPLE."""
        return await self._all(Sample, _NEWEST, limit=SAMPLE)
