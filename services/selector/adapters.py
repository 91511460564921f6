"""The selector's queries and its access to the log."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from sqlalchemy import Column, Executable, RowMapping, Select, case, func, select, text
from sqlalchemy.sql.elements import Label

from contracts.readmodel.investigations import investigation, investigation_lease
from contracts.readmodel.posts import candidate, post
from contracts.readmodel.versions import content_blob, post_version
from contracts.topology import (
    INVESTIGATOR_INVESTIGATION_REQUESTED,
    INVESTIGATOR_READERS_INVESTIGATION_REQUESTED,
    VALIDATOR_CLAIM_PROPOSED,
    Consumer,
)
from contracts.v1 import InvestigationFailed, InvestigationRequested
from kit.bus import Bus
from kit.database import Database
from kit.history import read_history
from kit.topology import read_ack_floor
from lifecycle.investigation import Investigation
from lifecycle.rescue import Watermarks
from platforms import PLATFORMS
from services.selector.domain import Candidate, Overdue, Reason, Spent

TYPICAL_OF: Final = timedelta(days=2)
ATTEMPT_S: Final = 300
"""An attempt that takes longer may be lost; the broker knows whether a worker still holds it."""

# The predicates of two partial indexes, without parameters: a generic plan could not use the indexes otherwise.
_NEXT: Final = text(
    "candidate.word_ok AND candidate.eligible_at IS NOT NULL "
    "AND (candidate.status IS NULL OR candidate.status = 'FAILED')"
)
_OPEN: Final = text("investigation.status IN ('PENDING', 'PROCESSING')")
_OVERDUE: Final = text(f"""
    CASE investigation.status WHEN 'PENDING' THEN coalesce(investigation.retry_after, investigation.queued_at)
    ELSE investigation_lease.started_at + interval '{ATTEMPT_S} seconds' END < :before""")

# One row for each (requested_by, key_source): runs are counted for the day of their request, money for the day it was
# spent on, so a run may be in one day's runs and in the next one's money; runs open since yesterday will be paid for
# today.
_SPENDING: Final = text("""
    WITH asked AS (
        SELECT r.requested_by, r.key_source, count(*) AS runs
        FROM investigation_round r JOIN investigation i ON i.id = r.investigation_id
        WHERE r.requested_at >= :since AND i.analysis = :analysis
        GROUP BY r.requested_by, r.key_source
    ), unfinished AS (
        SELECT r.requested_by, r.key_source, count(*) AS under_way
        FROM investigation i JOIN investigation_round r ON (r.investigation_id, r.round) = (i.id, i.round)
        WHERE i.status IN ('PENDING', 'PROCESSING') AND i.analysis = :analysis
            AND r.requested_at >= CAST(:since AS timestamptz) - interval '1 day'
        GROUP BY r.requested_by, r.key_source
    ), paid AS (
        SELECT r.requested_by, r.key_source, sum(e.total_tokens) AS tokens, sum(e.cost_micro_usd) AS micro_usd,
            count(*) FILTER (WHERE e.cost_micro_usd IS NULL) AS unpriced
        FROM expense e
        JOIN investigation_round r ON (r.investigation_id, r.round) = (e.investigation_id, e.round)
        JOIN investigation i ON i.id = e.investigation_id
        WHERE e.spent_at >= :since AND i.analysis = :analysis
        GROUP BY r.requested_by, r.key_source
    )
    SELECT requested_by, key_source, coalesce(runs, 0) AS runs, coalesce(under_way, 0) AS under_way,
        coalesce(tokens, 0)::bigint AS tokens, coalesce(micro_usd, 0)::bigint AS micro_usd,
        coalesce(unpriced, 0) AS unpriced
    FROM asked FULL JOIN unfinished USING (requested_by, key_source) FULL JOIN paid USING (requested_by, key_source)
    WHERE requested_by IS NOT NULL ORDER BY requested_by DESC, key_source
""")

_TYPICAL: Final = text("""
    SELECT avg(cost)::bigint FROM (
        SELECT sum(e.cost_micro_usd) AS cost
        FROM expense e JOIN investigation i ON i.id = e.investigation_id
        WHERE e.spent_at >= :since AND i.analysis = :analysis AND i.status IN ('COMPLETE', 'FAILED')
        GROUP BY e.investigation_id, e.round HAVING count(*) = count(e.cost_micro_usd)
    ) runs
""")

_BY_PLATFORM: Final = text("""
    SELECT p.platform, count(*) AS runs
    FROM investigation_round r JOIN investigation i ON i.id = r.investigation_id
    JOIN post_version v ON v.id = i.post_version_id JOIN post p ON p.id = v.post_id
    WHERE r.requested_at >= :since AND r.requested_by = 'SELECTOR' AND i.analysis = :analysis
    GROUP BY p.platform
""")

# Another round follows a failure or, without one, a loss.
_LAST: Final = text("""
    SELECT CASE WHEN r.round > 1 AND before.fault IS NULL THEN 'lost' ELSE 'most viewed' END AS why
    FROM investigation_round r JOIN investigation i ON i.id = r.investigation_id
    LEFT JOIN investigation_round before ON (before.investigation_id, before.round) = (r.investigation_id, r.round - 1)
    WHERE r.requested_at >= :since AND r.requested_by = 'SELECTOR' AND i.analysis = :analysis
    ORDER BY r.requested_at DESC LIMIT 1
""")

# For operators; reads every post.
_SURVEY: Final = text("""
    SELECT reason, count(*) AS posts FROM (SELECT CASE
        WHEN NOT word_ok THEN 'too long'
        WHEN status = 'COMPLETE' THEN 'investigated'
        WHEN status IN ('PENDING', 'PROCESSING') THEN 'under way'
        WHEN status IS NULL AND eligible_at IS NULL THEN 'unconfirmed'
        WHEN eligible_at IS NULL THEN 'failed'
        ELSE 'waiting' END AS reason
    FROM candidate WHERE analysis = :analysis) c GROUP BY reason ORDER BY posts DESC, reason
""")


@dataclass(frozen=True, slots=True)
class Spending:
    """The cost of one kind of request since a time."""

    requested_by: str
    key_source: str
    runs: int
    under_way: int
    tokens: int
    micro_usd: int
    unpriced: int


class SqlReads:
    """Candidates and spending, by index."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def spending(self, since: datetime, analysis: str) -> Sequence[Spending]:
        """The cost of every kind of request since then."""
        found = await self._read_rows(_SPENDING, since=since, analysis=analysis)
        return [Spending(**row) for row in found]

    async def spent(self, since: datetime, analysis: str) -> Spent:
        mine = [each for each in await self.spending(since, analysis) if each.requested_by == "SELECTOR"]
        by_platform = await self._read_rows(_BY_PLATFORM, since=since, analysis=analysis)
        (typical,) = await self._read_rows(_TYPICAL, since=since - TYPICAL_OF, analysis=analysis)
        return Spent(
            runs=sum(each.runs for each in mine),
            under_way=sum(each.under_way for each in mine),
            micro_usd=sum(each.micro_usd for each in mine),
            unpriced=sum(each.unpriced for each in mine),
            typical_micro_usd=typical["avg"],
            by_platform={row["platform"]: row["runs"] for row in by_platform},
        )

    async def last_reason(self, since: datetime, analysis: str) -> Reason | None:
        found = await self._read_rows(_LAST, since=since, analysis=analysis)
        return found[0]["why"] if found else None

    async def candidates(self, analysis: str, limit: int) -> Sequence[Candidate]:
        """The next posts of each platform, at most `limit`, confirmed ones and then most viewed first."""
        found = await asyncio.gather(*(self._read_platform(site.name, analysis, limit) for site in PLATFORMS))
        return [candidate for wanted in found for candidate in wanted]

    async def _read_platform(self, platform: str, analysis: str, limit: int) -> Sequence[Candidate]:
        again = candidate.c.status.is_not(None)
        query = (
            _select_posts(
                candidate.c.post_version_id,
                candidate.c.score,
                candidate.c.confirmed,
                func.coalesce(investigation.c.round + 1, 1).label("round"),
                func.coalesce(investigation.c.requested_sequence, 0).label("follows"),
            )
            .join(
                investigation,
                again
                & (investigation.c.post_version_id == candidate.c.post_version_id)
                & (investigation.c.analysis == candidate.c.analysis)
                & (investigation.c.origin == "ORIGINAL"),
                isouter=True,
            )
            .where(candidate.c.analysis == analysis, candidate.c.platform == platform, _NEXT)
            .order_by(candidate.c.confirmed.desc(), candidate.c.score.desc(), candidate.c.post_id)
            .limit(limit)
        )
        return [Candidate(**row) for row in await self._read_rows(query)]

    async def overdue(self, analysis: str, before: datetime, settled: Watermarks, limit: int) -> Sequence[Overdue]:
        """Open investigations of any version that should have progressed before then, oldest request first."""
        query = (
            _select_posts(
                investigation.c.post_version_id, post.c.unique_view_score, investigation.c.id.label("investigation_id")
            )
            .join(investigation_lease, investigation_lease.c.investigation_id == investigation.c.id, isouter=True)
            .where(
                investigation.c.analysis == analysis,
                _OPEN,
                _OVERDUE.bindparams(before=before),
                investigation.c.requested_sequence
                <= case((investigation.c.key_source == "USER", settled.readers), else_=settled.investigator),
            )
            .order_by(investigation.c.queued_at)
            .limit(limit)
        )
        return [
            Overdue(row["investigation_id"], Candidate(**{k: v for k, v in row.items() if k != "investigation_id"}))
            for row in await self._read_rows(query)
        ]

    async def survey(self, analysis: str) -> Mapping[str, int]:
        """The number of posts by their state."""
        return {row["reason"]: row["posts"] for row in await self._read_rows(_SURVEY, analysis=analysis)}

    async def _read_rows(self, query: Executable, **values: object) -> Sequence[RowMapping]:
        async with self._database.connect() as connection:
            return (await connection.execute(query, values)).mappings().all()


def _select_posts(
    version: Column[object], score: Column[object], *more: Column[object] | Label[object]
) -> Select[tuple[object, ...]]:
    """Posts by one version each, with the columns of a candidate."""
    return (
        select(
            post.c.id.label("post_id"),
            version.label("version_id"),
            score.label("score"),
            post_version.c.correlation,
            post.c.platform,
            post.c.url,
            content_blob.c.word_count.label("words"),
            *more,
        )
        .select_from(version.table)
        .join(post_version, post_version.c.id == version)
        .join(post, post.c.id == post_version.c.post_id)
        .join(content_blob, content_blob.c.content_hash == post_version.c.content_hash)
    )


class BusLog:
    """Reads and publishes events."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def settled(self) -> Watermarks:
        """The positions of investigator and validator."""
        consumers: tuple[Consumer, ...] = (
            INVESTIGATOR_INVESTIGATION_REQUESTED,
            VALIDATOR_CLAIM_PROPOSED,
            INVESTIGATOR_READERS_INVESTIGATION_REQUESTED,
        )
        return Watermarks(*await asyncio.gather(*(read_ack_floor(self._bus, consumer) for consumer in consumers)))

    async def investigation(self, investigation_id: UUID) -> Investigation | None:
        return Investigation.fold(await read_history(self._bus, str(investigation_id)))

    async def publish(self, event: InvestigationRequested | InvestigationFailed, correlation: UUID) -> bool:
        return await self._bus.publish_if_first(event, correlation)
