"""The tables as controls need them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal
from uuid import UUID

from sqlalchemy import text

from kit.database import Database
from services.curator.record.reading import read_rows

RunOutcome = Literal["CLEAN", "FLAGGED", "FAILED", "PENDING"]
_BATCHES: Final = text(
    "SELECT id, size, closes_at, committed_at, opened_at FROM control_batch ORDER BY committed_at, id"
)
_RUNS: Final = text("""
    SELECT r.post_version_id AS version_id, CASE
        WHEN i.status = 'FAILED' THEN 'FAILED' WHEN i.status <> 'COMPLETE' THEN 'PENDING'
        WHEN EXISTS (
            SELECT FROM claim_candidate k WHERE k.investigation_id = i.id AND k.state = 'APPROVED'
        ) THEN 'FLAGGED' ELSE 'CLEAN' END AS outcome
    FROM control_run r JOIN investigation i ON i.id = r.investigation_id WHERE r.batch_id = :batch
""")
_REQUESTED: Final = text("SELECT count(*) FROM control_run WHERE requested_at > :since")
_POSTS: Final = text("""
    SELECT v.id, v.post_id FROM post_version v WHERE v.id = ANY (:versions)
""")
_USED: Final = text("SELECT post_version_id FROM control_run WHERE post_version_id = ANY (:versions)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """A list that was committed to."""

    id: UUID
    size: int
    closes_at: datetime
    committed_at: datetime
    opened_at: datetime | None

    def may_begin(self, now: datetime) -> bool:
        """Whether controls of it may be requested."""
        return self.opened_at is None and now < self.closes_at


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlState:
    """The outcome so far of a requested post of a list."""

    version_id: UUID
    outcome: RunOutcome


class SqlControls:
    """The read model. Raises: Outage: it could not be read now."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def batches(self) -> Sequence[Batch]:
        """Every list, oldest first."""
        return await read_rows(self._database, Batch, _BATCHES)

    async def runs(self, batch: UUID) -> Sequence[ControlState]:
        """The outcomes so far of the requested posts of a list."""
        return await read_rows(self._database, ControlState, _RUNS, batch=batch)

    async def requested(self, since: datetime) -> int:
        """How many controls were requested since then."""
        async with self._database.connect() as connection:
            return int((await connection.execute(_REQUESTED, {"since": since})).scalar_one())

    async def posts(self, versions: Collection[UUID]) -> Mapping[UUID, UUID]:
        """The posts of these versions; unknown versions are left out."""
        async with self._database.connect() as connection:
            return {row.id: row.post_id for row in await connection.execute(_POSTS, {"versions": list(versions)})}

    async def used(self, versions: Collection[UUID]) -> Collection[UUID]:
        """Those of these versions that were a control before."""
        async with self._database.connect() as connection:
            return set((await connection.execute(_USED, {"versions": list(versions)})).scalars())
