"""Entries of the catalogue that are to be marked, updated or renewed, in the tables of the read model."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from sqlalchemy import text

from contracts.topology import JOBS
from contracts.v1 import AssertionAnalysisRequested, EditMade, EntryPublished, PublisherEpochClosed
from contracts.v1.entry import StaleTrigger
from kit.history import read_latest
from lifecycle.audits.entries import MANY_FLAGS, SCORE_MOVED, STALE_BY, Entry, fold_entry
from lifecycle.audits.epochs import NO_EPOCH
from services.curator.record.reading import LoggedTables, read_rows

# An entry has one cause a round: the next event about it must follow this one. Evidence that has a page of its own
# makes no other page stale: two such pages would have each other analysed again for ever.
_CAUSES: Final = text("""
    WITH cause AS (
        SELECT e.id AS entry_id, 'EVIDENCE' AS trigger, a.id AS cause_id
        FROM entry e JOIN assertion own ON own.id = e.assertion_id
        JOIN assertion same ON same.published_key = own.published_key
        JOIN analysis a ON a.assertion_id = same.id
        WHERE NOT e.stale @> :evidence AND CASE WHEN a.id = e.analysis_id THEN a.invalidated_at IS NOT NULL
            ELSE same.id <> own.id AND a.invalidated_at IS NULL AND a.analysed_at > e.cache_updated_at
                AND NOT EXISTS (SELECT FROM entry o WHERE o.assertion_id = same.id AND o.status = 'PUBLISHED') END
        UNION ALL
        SELECT e.id, 'IMPROVEMENT', e.analysis_id
        FROM entry e JOIN run_attempt r ON r.run_id = e.analysis_id
        WHERE NOT e.stale @> :improvement AND r.outcome = 'SUCCEEDED'
            AND (r.prompt_hash <> ALL (:prompts) OR r.rules <> :rules)
        UNION ALL
        SELECT e.id, 'SOURCES', e.analysis_id
        FROM entry e JOIN citation c ON c.analysis_id = e.analysis_id JOIN publisher p ON p.id = c.publisher_id
        WHERE NOT e.stale @> :sources AND p.epoch <= (SELECT max(epoch) FROM score_epoch)
            AND abs(CAST(p.track_record_score AS numeric) - 100 * CAST(c.score AS numeric)) > :moved
        UNION ALL
        SELECT e.id, 'FLAGS', (array_agg(f.id ORDER BY f.created_at DESC, f.id))[1]
        FROM flag f JOIN entry e ON e.id = f.entity_id
        WHERE NOT e.stale @> :flags AND f.status = 'OPEN' AND f.issue_type <> 'CLAIM'
            AND f.created_at > coalesce(e.cache_updated_at, e.created_at)
        GROUP BY e.id HAVING count(DISTINCT f.account_id) >= :many
    )
    SELECT DISTINCT ON (e.id) e.id AS entry_id, c.trigger, c.cause_id, e.staled_sequence
    FROM cause c JOIN entry e ON e.id = c.entry_id
    ORDER BY e.id, c.trigger, c.cause_id LIMIT :limit
""")
_REANALYSED: Final = text("""
    SELECT DISTINCT ON (e.id) e.id AS entry_id, a.id AS analysis_id
    FROM entry e JOIN analysis a ON a.assertion_id = e.assertion_id AND a.analysed_at > e.created_at
    WHERE e.cache_updated_at > e.created_at
        AND NOT EXISTS (SELECT FROM edit d WHERE d.entry_id = e.id AND d.entity_id = a.id)
    ORDER BY e.id, a.analysed_at, a.id LIMIT :limit
""")
_STALE: Final = text("""
    SELECT e.id AS entry_id, e.assertion_id, e.stale, a.sequence AS requested_sequence
    FROM entry e JOIN assertion a ON a.id = e.assertion_id
    WHERE cardinality(e.stale) > 0 AND NOT e.reworded AND e.status = 'PUBLISHED'
        AND a.requested_at >= :since AND a.requested_at < :until
    ORDER BY 'SUMMARY' = ANY (e.stale) DESC, e.staled_sequence, e.id LIMIT :limit
""")
_REQUESTED: Final = text("""
    SELECT count(*) FROM entry e JOIN assertion a ON a.id = e.assertion_id WHERE a.requested_at >= :since
""")


@dataclass(frozen=True, slots=True)
class Cause:
    """Why parts of an entry are stale. Shapes: `staled_sequence` is that of the newest event that marked it, or 0."""

    entry_id: UUID
    trigger: StaleTrigger
    cause_id: UUID
    staled_sequence: int


@dataclass(frozen=True, slots=True)
class Reanalysed:
    """An analysis that is newer than its entry, and that no edit records yet."""

    entry_id: UUID
    analysis_id: UUID


@dataclass(frozen=True, slots=True)
class Due:
    """A stale entry whose claim was not analysed lately. Shapes: `requested_sequence` is that of the newest request."""

    entry_id: UUID
    assertion_id: UUID
    stale: Sequence[str]
    requested_sequence: int


class SqlEntries(LoggedTables):
    """Entries of the catalogue. Raises: Outage: they could not be read now."""

    async def causes(self, prompts: Collection[str], rules: str, limit: int) -> Sequence[Cause]:
        """Causes that entries are not marked with yet; analyses with other prompts or rules than these are outdated."""
        return await read_rows(
            self._database,
            Cause,
            _CAUSES,
            prompts=list(prompts),
            rules=rules,
            moved=SCORE_MOVED,
            many=MANY_FLAGS,
            limit=limit,
            **{trigger.lower(): list(parts) for trigger, parts in STALE_BY.items() if trigger != "EDIT"},
        )

    async def reanalysed(self, limit: int) -> Sequence[Reanalysed]:
        """For each entry, the first analysis that no edit records."""
        return await read_rows(self._database, Reanalysed, _REANALYSED, limit=limit)

    async def entry(self, id_: UUID) -> Entry | None:
        """An entry as the log has it."""
        subjects = (f"{kind.SUBJECT}.{id_}" for kind in (EntryPublished, EditMade))
        facts = await read_latest(self._bus, *subjects, stream=JOBS)
        return fold_entry((fact.sequence, fact.event) for fact in facts)

    async def stale(self, since: datetime, until: datetime, limit: int) -> Sequence[Due]:
        """Published stale entries whose claim was last requested in this time; those with a stale summary first."""
        return await read_rows(self._database, Due, _STALE, since=since, until=until, limit=limit)

    async def requested(self, since: datetime) -> int:
        """How many claims of entries had an analysis requested since then, by a job or a curator."""
        async with self._database.connect() as connection:
            found: int = (await connection.execute(_REQUESTED, {"since": since})).scalar_one()
        return found

    async def request(self, assertion_id: UUID) -> tuple[int, AssertionAnalysisRequested] | None:
        """The newest request of an analysis of a claim, and its sequence."""
        subject = f"{AssertionAnalysisRequested.SUBJECT}.{assertion_id}"
        for fact in await read_latest(self._bus, subject, stream=JOBS):
            if isinstance(event := fact.event, AssertionAnalysisRequested):
                return fact.sequence, event
        return None

    async def closed_epoch(self) -> int:
        """The newest closed epoch of publishers' scores."""
        for fact in await read_latest(self._bus, f"{PublisherEpochClosed.SUBJECT}.weekly", stream=JOBS):
            if isinstance(event := fact.event, PublisherEpochClosed):
                return event.epoch
        return NO_EPOCH
