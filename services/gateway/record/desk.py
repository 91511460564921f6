"""What the desk shows beside entries: their newest edits, jobs of one account, and open appeals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from sqlalchemy import text as sql

from contracts.jobs.answers import JobStatus
from contracts.jobs.catalogue import Status
from contracts.v1.appeal import AppealKind
from platforms import name_prover
from platforms.base import Prover
from services.gateway.record.catalogue import EditRow
from services.gateway.record.connection import Queries

Key = tuple[datetime, UUID]
"""The key of the last row before a page: its moment and its id."""

_EDITED: Final = sql("""
    SELECT e.id entry_id, e.wording, e.status, e.updated_at,
        d.version, d.edit_type, d.hidden, d.created_at, d.reason, d.before_state, d.after_state
    FROM entry e JOIN edit d ON d.entry_id = e.id AND d.version = e.version
    WHERE CAST(:at AS timestamptz) IS NULL OR e.updated_at < :at OR e.updated_at = :at AND e.id > CAST(:after AS uuid)
    ORDER BY e.updated_at DESC, e.id LIMIT :limit
""")
_JOBS: Final = sql("""
    SELECT id, status, created_at, ended_at, input_type, overall_verdict, charged_micro_usd FROM job
    WHERE account_id = :account AND (CAST(:at AS timestamptz) IS NULL OR created_at < :at
        OR created_at = :at AND id > CAST(:after AS uuid))
    ORDER BY created_at DESC, id LIMIT :limit
""")
_APPEALS: Final = sql("""
    SELECT a.id, a.investigation_id, a.kind, jsonb_array_length(a.claims) named, a.words, a.links, a.opened_at,
        a.statement, a.proof IS NOT DISTINCT FROM 'PROVEN' is_of_author, p.platform
    FROM appeal a JOIN investigation i ON i.id = a.investigation_id
        JOIN post_version v ON v.id = i.post_version_id JOIN post p ON p.id = v.post_id
    WHERE a.outcome IS NULL AND (CAST(:at AS timestamptz) IS NULL OR (a.opened_at, a.id) > (:at, CAST(:after AS uuid)))
    ORDER BY a.opened_at, a.id LIMIT :limit
""")


@dataclass(frozen=True, slots=True, kw_only=True)
class EditedRow(EditRow):
    """An entry with its newest edit."""

    entry_id: UUID
    wording: str
    status: Status
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRow:
    """A job in its account's list. Units: `charged_micro_usd` in micro-dollars, None: it has not ended."""

    id: UUID
    status: JobStatus
    created_at: datetime
    ended_at: datetime | None
    input_type: str
    overall_verdict: str | None
    charged_micro_usd: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AppealRow:
    """An open appeal, with its words. Shapes: `named` is the number of findings that it is about.

    `is_of_author`: it is proven that the post's author, or a contributor, made it.
    """

    id: UUID
    investigation_id: UUID
    kind: AppealKind
    named: int
    words: str
    links: Sequence[str]
    opened_at: datetime
    platform: str
    is_of_author: bool = False
    statement: str | None = None

    @property
    def prover(self) -> Prover:
        """What this site calls the people who can prove that an appeal is theirs."""
        return name_prover(self.platform)


class DeskQueries(Queries):
    """Queries of the desk, paged by key."""

    async def edited(self, after: Key | None, limit: int) -> Sequence[EditedRow]:
        """Edited entries with their newest edit, newest change first."""
        at, id_ = after or (None, None)
        return await self._all(EditedRow, _EDITED, at=at, after=id_, limit=limit)

    async def jobs(self, account: UUID, after: Key | None, limit: int) -> Sequence[JobRow]:
        """Jobs of an account, newest first."""
        at, id_ = after or (None, None)
        return await self._all(JobRow, _JOBS, account=account, at=at, after=id_, limit=limit)

    async def appeals(self, after: Key | None, limit: int) -> Sequence[AppealRow]:
        """Open appeals, oldest first."""
        at, id_ = after or (None, None)
        return await self._all(AppealRow, _APPEALS, at=at, after=id_, limit=limit)
