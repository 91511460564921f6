"""The tables of the catalogue in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from services.gateway.record.catalogue import Candidate, EntryContents, EntryRow, FlagRow


@dataclass
class MemoryCatalogue:
    """Entries with their pages, and claims of jobs by job, number and account."""

    entries: dict[UUID, EntryContents] = field(default_factory=dict)
    flags: list[FlagRow] = field(default_factory=list)
    candidates: dict[tuple[UUID, int, UUID], Candidate] = field(default_factory=dict)

    async def page(
        self, text: str, after: tuple[datetime, UUID] | None, limit: int, *, hidden: bool
    ) -> Sequence[EntryRow]:
        rows = sorted(
            (each.row for each in self.entries.values()), key=lambda row: (-row.updated_at.timestamp(), row.id)
        )
        key = None if after is None else (-after[0].timestamp(), after[1])
        return [
            row
            for row in rows
            if (hidden or row.status == "PUBLISHED")
            and text.lower() in row.wording.lower()
            and (key is None or (-row.updated_at.timestamp(), row.id) > key)
        ][:limit]

    async def one(self, id_: UUID, *, hidden: bool) -> EntryContents | None:
        found = self.entries.get(id_)
        return found if found is not None and (hidden or found.row.status == "PUBLISHED") else None

    async def sources(self, begins: str, limit: int) -> Sequence[str]:
        names = {name for each in self.entries.values() for name in each.row.source_names}
        return sorted(name for name in names if name.startswith(begins))[:limit]

    async def open_flags(self, after: tuple[datetime, UUID] | None, limit: int) -> Sequence[FlagRow]:
        rows = sorted(self.flags, key=lambda row: (row.created_at, row.id))
        return [row for row in rows if after is None or (row.created_at, row.id) > after][:limit]

    async def candidate(self, job: UUID, number: int, account: UUID) -> Candidate | None:
        return self.candidates.get((job, number, account))
