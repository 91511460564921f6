"""Numbers of audits and the catalogue, in the tables of the read model. None of them names an account or an article."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from sqlalchemy import text

from lifecycle.audits.epochs import Epoch
from services.curator.record.reading import LoggedTables, read_rows

_METRICS: Final = text("""
    WITH ended AS (
        SELECT status, extract(epoch FROM ended_at - created_at) AS seconds FROM job
        WHERE ended_at >= :begins AND ended_at < :ends
    ), analysed AS (
        SELECT a.id, a.missing + a.unavailable + a.not_looked_up AS dropped,
            (SELECT count(*) FROM citation c WHERE c.analysis_id = a.id) AS cited,
            (SELECT sum(r.cost_micro_usd) FROM run_attempt r WHERE r.run_id = a.id) AS cost
        FROM analysis a WHERE a.analysed_at >= :begins AND a.analysed_at < :ends
    ), sample (type, value, n) AS (
        SELECT 'JOB_SECONDS', avg(seconds), count(*) FROM ended WHERE status = 'SUCCEEDED'
        UNION ALL
        SELECT 'JOBS_SUCCEEDED', avg(CAST(status = 'SUCCEEDED' AS int)), count(*) FROM ended WHERE status <> 'CANCELED'
        UNION ALL
        SELECT 'CACHE_HITS', avg(CAST(c.outcome IN ('HIT', 'JOINED') AS int)), count(*)
        FROM job_claim c JOIN job j ON j.id = c.job_id
        WHERE c.outcome <> 'UNUSABLE' AND j.ended_at >= :begins AND j.ended_at < :ends
        UNION ALL
        SELECT 'ANALYSIS_USD', avg(cost) / 1000000, count(cost) FROM analysed
        UNION ALL
        SELECT 'EVIDENCE_CONFIRMED', CAST(sum(cited) AS float) / nullif(sum(cited + dropped), 0), sum(cited + dropped)
        FROM analysed
        UNION ALL
        SELECT 'ENTRIES_STALE', avg(CAST(cardinality(stale) > 0 AS int)), count(*) FROM entry WHERE status = 'PUBLISHED'
    )
    SELECT type, CAST(value AS float) AS value, CAST(n AS int) AS n FROM sample WHERE n > 0 ORDER BY type
""")
_SAMPLED: Final = text("SELECT type FROM quality_metric WHERE hour = :hour AND category = :category")
_CASES: Final = text("""
    WITH found (category, cause, cases, claim_id) AS (
        SELECT 'JOB_FAILED', code, 1, CAST(NULL AS uuid) FROM job
        WHERE status = 'FAILED' AND ended_at >= :begins AND ended_at < :ends
        UNION ALL
        SELECT 'RUN_FAILED', reason, 1, NULL FROM run_attempt
        WHERE outcome = 'FAILED' AND completed_at >= :begins AND completed_at < :ends
        UNION ALL
        SELECT 'CLAIM_FLAGGED', f.issue_type, 1, e.assertion_id FROM flag f JOIN entry e ON e.id = f.entity_id
        WHERE f.status = 'ACCEPTED' AND f.issue_type <> 'CLAIM' AND f.resolved_at >= :begins AND f.resolved_at < :ends
        UNION ALL
        SELECT 'EVIDENCE_DROPPED', d.cause, d.cases, a.assertion_id FROM analysis a CROSS JOIN LATERAL (VALUES
            ('missing', a.missing), ('unavailable', a.unavailable), ('not_looked_up', a.not_looked_up)
        ) d (cause, cases) WHERE d.cases > 0 AND a.analysed_at >= :begins AND a.analysed_at < :ends
    ), met AS (
        SELECT category, cause, CAST(sum(cases) AS int) AS frequency,
            CAST(min(CAST(claim_id AS text)) AS uuid) AS claim_id
        FROM found WHERE cause IS NOT NULL GROUP BY category, cause
    )
    SELECT coalesce(m.category, p.category) AS category, coalesce(m.cause, p.root_cause) AS cause,
        coalesce(m.frequency, 0) AS frequency, m.claim_id, coalesce(p.sequence, 0) AS sequence
    FROM met m FULL JOIN error_pattern p ON p.category = m.category AND p.root_cause = m.cause
    WHERE coalesce(p.epoch, 0) < :epoch AND (m.cause IS NOT NULL OR p.status = 'OPEN')
    ORDER BY 1, 2
""")
DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Sample:
    """A metric's value, over `n` cases."""

    type: str
    value: float
    n: int


@dataclass(frozen=True, slots=True)
class Cases:
    """How often a cause was met. Shapes: `sequence` is that of the previous event about it, or 0."""

    category: str
    cause: str
    frequency: int
    claim_id: UUID | None
    sequence: int


class SqlQuality(LoggedTables):
    """Samples and causes of errors. Raises: Outage: they could not be read now."""

    async def metrics(self, hour: datetime) -> Sequence[Sample]:
        """The metrics of the 24 hours before an hour; one without any case is left out."""
        return await read_rows(self._database, Sample, _METRICS, begins=hour - DAY, ends=hour)

    async def sampled(self, hour: datetime, category: str) -> set[str]:
        """Which metrics have a sample of that hour."""
        async with self._database.connect() as connection:
            found = await connection.execute(_SAMPLED, {"hour": hour, "category": category})
            return {type_ for (type_,) in found}

    async def cases(self, epoch: Epoch) -> Sequence[Cases]:
        """The causes met in a week and those open before it, except the ones already recorded for the week."""
        return await read_rows(self._database, Cases, _CASES, begins=epoch.begins, ends=epoch.ends, epoch=epoch.number)
