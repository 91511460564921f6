"""The tables as earned volume reads them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from sqlalchemy import text

from accuracy.facts import Verdict
from kit.database import Database
from services.curator.record.reading import read_rows
from services.curator.record.watched import BATCH, SEEN, STANDS
from services.curator.taking_back import Standing
from services.curator.volumes import KnownVariant, ReviewedFinding, Seen, UnknownVariant

_KNOWN: Final = text("""
    SELECT variant, parts, state, quota, step, clean, after_wrong, gate_tier, since, through, changed_at, sequence
    FROM variant ORDER BY variant
""")
# Whatever ran before the first variant was announced is older than the rule: its findings stay.
_UNKNOWN: Final = text(f"""{SEEN}
    SELECT s.variant, greatest(i.created_at, coalesce((SELECT min(announced_at) FROM variant), :now)) AS since,
        jsonb_build_object('prompt', i.prompt_hash, 'prompt_version', q.version, 'provider', i.provider,
            'model', i.model, 'rules', i.rules, 'gates', i.gates) AS parts
    FROM seen s
    CROSS JOIN LATERAL (
        SELECT created_at, prompt_hash, provider, model, rules, gates FROM investigation
        WHERE variant = s.variant ORDER BY checked_at LIMIT 1
    ) i
    JOIN prompt q ON q.hash = i.prompt_hash
    WHERE NOT EXISTS (SELECT FROM variant v WHERE v.variant = s.variant)
""")  # noqa: S608 (our words)
# The first findings of a day are shown, as many as the quota says; a suspended one does not count.
_BEYOND: Final = text(f"""
    SELECT claim_id, investigation_id, sequence FROM (
        SELECT c.id AS claim_id, c.investigation_id, coalesce(f.sequence, 0) AS sequence, row_number() OVER (
            PARTITION BY (d.checked_at AT TIME ZONE 'UTC')::date ORDER BY d.checked_at, d.investigation_id, c.ordinal
        ) AS place
        FROM investigation_doc d JOIN claim c USING (investigation_id) LEFT JOIN finding_state f ON f.claim_id = c.id
        WHERE d.variant = :variant AND d.checked_at >= :since AND {STANDS}
    ) found WHERE place > :quota LIMIT :limit
""")  # noqa: S608 (our words)
_SHOWN: Final = text(f"""
    SELECT count(*) FROM investigation_doc d JOIN claim c USING (investigation_id)
        LEFT JOIN finding_state f ON f.claim_id = c.id
    WHERE d.variant = :variant AND d.checked_at >= greatest(:since, date_trunc('day', :now, 'UTC')) AND {STANDS}
""")  # noqa: S608 (our words)
_RUNS: Final = text("""
    SELECT count(*) FILTER (WHERE i.origin <> 'CONTROL') AS runs,
        count(*) FILTER (WHERE r.investigation_id IS NOT NULL AND NOT k.is_flagged) AS controls,
        count(*) FILTER (WHERE r.investigation_id IS NOT NULL AND k.is_flagged) AS flagged
    FROM investigation i LEFT JOIN control_run r ON r.investigation_id = i.id
    CROSS JOIN LATERAL (SELECT r.investigation_id IS NOT NULL AND EXISTS (
        SELECT FROM claim_candidate c WHERE c.investigation_id = i.id AND c.state = 'APPROVED') AS is_flagged) k
    WHERE i.variant = :variant AND i.checked_at > :since
""")
_REVIEWS: Final = text("""
    SELECT i.variant, r.wrong IS NOT NULL AS is_wrong, coalesce(r.wrong, r.first) AS sequence
    FROM (
        SELECT claim_id, min(sequence) AS first, min(sequence) FILTER (WHERE verdict = 'WRONG') AS wrong FROM review
        WHERE claim_id IN (SELECT claim_id FROM review WHERE sequence > :through) GROUP BY claim_id
    ) r JOIN claim c ON c.id = r.claim_id JOIN investigation i ON i.id = c.investigation_id
    WHERE i.variant = :variant AND coalesce(r.wrong, r.first) > :through ORDER BY 3
""")


class SqlVolumes:
    """The read model. Raises: Outage: it could not be read now."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def known(self) -> Sequence[KnownVariant]:
        """Every variant that has a volume."""
        return await read_rows(self._database, KnownVariant, _KNOWN)

    async def unknown(self, now: datetime) -> Sequence[UnknownVariant]:
        """Variants that have run and have no volume."""
        return await read_rows(self._database, UnknownVariant, _UNKNOWN, now=now)

    async def beyond(self, variant: str, since: datetime, quota: int) -> Sequence[Standing]:
        """Findings that stand beyond the quota of their day in UTC; no more than BATCH."""
        return await read_rows(
            self._database, Standing, _BEYOND, variant=variant, since=since, quota=quota, limit=BATCH
        )

    async def shown_on(self, variant: str, since: datetime, now: datetime) -> int:
        """How many findings that were published on the day of `now` are shown."""
        async with self._database.connect() as connection:
            found = await connection.execute(_SHOWN, {"variant": variant, "since": since, "now": now})
            return int(found.scalar_one())

    async def seen(self, known: KnownVariant) -> Seen:
        """Runs, controls and reviews of a variant since it came into its state."""
        values = {"variant": known.variant, "since": known.since, "through": known.through}
        async with self._database.connect() as connection:
            counts = (await connection.execute(_RUNS, values)).one()
            rows = await connection.execute(_REVIEWS, values)
            reviews = [
                ReviewedFinding(
                    variant=row.variant,
                    sequence=row.sequence,
                    verdict=Verdict.WRONG if row.is_wrong else Verdict.RIGHT,
                )
                for row in rows
            ]
        return Seen(runs=counts.runs, controls=counts.controls, flagged=counts.flagged, reviews=reviews)
