"""The tables as the watch reads them: counts and states, and no words."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from sqlalchemy import text

from contracts.topology import ERRATA
from services.curator.breaking import Approvals, KnownBreaker, RanControl, Retracted, WrongReview
from services.curator.record.reading import LoggedTables, read_rows
from services.curator.taking_back import Standing

BATCH: Final = 500
"""Findings that are taken back between two looks at the tables."""

_BREAKERS: Final = text(
    "SELECT scope, state, triggers, opened_at, since, since_sequence, sequence FROM breaker ORDER BY scope"
)
# Controls are some five a day, and whether one was flagged is read by key.
_CONTROLS: Final = text("""
    SELECT i.variant, i.checked_at AS at, EXISTS (
        SELECT FROM claim_candidate k WHERE k.investigation_id = i.id AND k.state = 'APPROVED'
    ) AS is_flagged
    FROM control_run r JOIN investigation i ON i.id = r.investigation_id
    WHERE i.status = 'COMPLETE' AND i.variant IS NOT NULL ORDER BY i.checked_at, i.id
""")
# Only a post with more than that many views in all can have them in a day.
_WRONG: Final = text("""
    SELECT i.variant, r.sequence, p.unique_view_score > :views AND EXISTS (
        SELECT FROM post_view_credit c WHERE c.post_id = p.id GROUP BY c.bucket_day HAVING count(*) > :views
    ) AS is_high
    FROM review r JOIN claim c ON c.id = r.claim_id JOIN investigation i ON i.id = c.investigation_id
        JOIN post_version v ON v.id = i.post_version_id JOIN post p ON p.id = v.post_id
    WHERE r.verdict = 'WRONG' AND i.variant IS NOT NULL
""")
_RETRACTED: Final = text("""
    SELECT i.variant, f.changed_at AS at FROM finding_state f JOIN investigation i ON i.id = f.investigation_id
    WHERE f.changed_at > :since AND f.state = 'RETRACTED' AND f.cause <> 'SOURCE_CHANGED' AND i.variant IS NOT NULL
""")
_RELEASED: Final = text("""
    SELECT i.variant, count(*) AS number FROM investigation i JOIN claim c ON c.investigation_id = i.id
    WHERE i.variant = ANY (:variants) AND i.checked_at > :since GROUP BY i.variant
""")
_APPROVALS: Final = text("""
    SELECT i.variant, CAST(:begins AS timestamptz) AS begins,
        count(*) FILTER (WHERE k.state = 'APPROVED' AND i.checked_at >= :begins) AS approved,
        count(*) FILTER (WHERE i.checked_at >= :begins) AS judged,
        count(*) FILTER (WHERE k.state = 'APPROVED' AND i.checked_at < :begins) AS approved_before,
        count(*) FILTER (WHERE i.checked_at < :begins) AS judged_before
    FROM investigation i JOIN claim_candidate k ON k.investigation_id = i.id
    WHERE i.variant = ANY (:variants) AND i.checked_at >= :first AND i.checked_at < :ends
        AND k.attempt IS NOT NULL AND k.state IN ('APPROVED', 'REJECTED')
    GROUP BY i.variant
""")
# Each step is one look into the index, however many runs a variant has.
SEEN: Final = """
    WITH RECURSIVE seen AS (
        (SELECT variant FROM investigation WHERE variant IS NOT NULL ORDER BY variant LIMIT 1)
        UNION ALL
        SELECT (SELECT i.variant FROM investigation i WHERE i.variant > s.variant ORDER BY i.variant LIMIT 1)
        FROM seen s WHERE s.variant IS NOT NULL
    )
"""
_VARIANTS: Final = text(f"{SEEN} SELECT variant FROM seen WHERE variant IS NOT NULL")  # noqa: S608 (our words)
STANDS: Final = "d.claim_count > 0 AND (f.state IS NULL OR f.state = 'RELEASED')"
_OF_SCOPE: Final = text(f"""
    SELECT c.id AS claim_id, c.investigation_id, coalesce(f.sequence, 0) AS sequence
    FROM investigation_doc d JOIN claim c USING (investigation_id) LEFT JOIN finding_state f ON f.claim_id = c.id
    WHERE {STANDS} AND (CAST(:variant AS text) IS NULL OR d.variant = :variant) AND d.checked_at >= :since
    LIMIT :limit
""")  # noqa: S608 (our words)
_WRONG_FINDINGS: Final = text("""
    SELECT c.id AS claim_id, c.investigation_id, coalesce(max(f.sequence), 0) AS sequence
    FROM review r JOIN claim c ON c.id = r.claim_id LEFT JOIN finding_state f ON f.claim_id = c.id
    WHERE r.verdict = 'WRONG' AND (f.state IS NULL OR (f.state = 'RELEASED' AND f.sequence < r.sequence))
    GROUP BY c.id LIMIT :limit
""")


_VARIANT_OF: Final = text("SELECT variant FROM investigation WHERE id = :id")


class SqlWatchRecord(LoggedTables):
    """The public record as the watch needs it. Raises: Outage: it could not be read now."""

    STREAM = ERRATA

    async def breakers(self) -> Mapping[str, KnownBreaker]:
        """Every breaker that was ever open, by scope."""
        return {each.scope: each for each in await read_rows(self._database, KnownBreaker, _BREAKERS)}

    async def controls(self) -> Sequence[RanControl]:
        """Controls that have run, in their order."""
        return await read_rows(self._database, RanControl, _CONTROLS)

    async def wrong(self, views: int) -> Sequence[WrongReview]:
        """Reviews with the verdict WRONG; `is_high` if the post had more than `views` unique views on some day."""
        return await read_rows(self._database, WrongReview, _WRONG, views=views)

    async def retracted(self, since: datetime) -> Sequence[Retracted]:
        """Findings retracted since then for a fault of ours."""
        return await read_rows(self._database, Retracted, _RETRACTED, since=since)

    async def released(self, variants: Collection[str], since: datetime) -> Mapping[str, int]:
        """How many findings of these variants were published since then, by variant."""
        if not variants:
            return {}
        async with self._database.connect() as connection:
            rows = await connection.execute(_RELEASED, {"variants": list(variants), "since": since})
            return {row.variant: row.number for row in rows}

    async def approvals(self, first: datetime, begins: datetime, ends: datetime) -> Sequence[Approvals]:
        """Judged claims of each variant from `begins` to `ends`, and from `first` to `begins`."""
        variants = await self.variants()
        return await read_rows(
            self._database, Approvals, _APPROVALS, variants=list(variants), first=first, begins=begins, ends=ends
        )

    async def variants(self) -> Sequence[str]:
        """Every variant that has run."""
        async with self._database.connect() as connection:
            return list((await connection.execute(_VARIANTS)).scalars())

    async def variant_of(self, investigation_id: UUID) -> str | None:
        """The variant of a run; None if the tables do not hold the run yet, or it is older than variants."""
        async with self._database.connect() as connection:
            variant: str | None = (await connection.execute(_VARIANT_OF, {"id": investigation_id})).scalar()
        return variant

    async def standing(self, variant: str | None, since: datetime) -> Sequence[Standing]:
        """Findings that stand, of one variant or of all, published since then; no more than BATCH."""
        return await read_rows(self._database, Standing, _OF_SCOPE, variant=variant, since=since, limit=BATCH)

    async def wrong_findings(self) -> Sequence[Standing]:
        """Findings that stand though somebody found them WRONG since their last release; no more than BATCH."""
        return await read_rows(self._database, Standing, _WRONG_FINDINGS, limit=BATCH)
