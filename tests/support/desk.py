"""The desk's lists in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

from services.gateway.record.desk import AppealRow, EditedRow, JobRow, Key


@dataclass
class MemoryDesk:
    """Rows in the order of their lists; jobs by account."""

    edits: list[EditedRow] = field(default_factory=list)
    jobs_of: dict[UUID, list[JobRow]] = field(default_factory=dict)
    appealed: list[AppealRow] = field(default_factory=list)

    async def edited(self, after: Key | None, limit: int) -> Sequence[EditedRow]:
        return self.edits[:limit]

    async def jobs(self, account: UUID, after: Key | None, limit: int) -> Sequence[JobRow]:
        return self.jobs_of.get(account, [])[:limit]

    async def appeals(self, after: Key | None, limit: int) -> Sequence[AppealRow]:
        return self.appealed[:limit]
