"""What the desk reads beside the catalogue. Raises: Unavailable. BadQuestion: too slow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol
from uuid import UUID

from services.gateway.record.desk import AppealRow, EditedRow, JobRow, Key


class DeskReads(Protocol):
    """The desk's lists, paged by key."""

    async def edited(self, after: Key | None, limit: int) -> Sequence[EditedRow]:
        """Edited entries with their newest edit, newest change first."""

    async def jobs(self, account: UUID, after: Key | None, limit: int) -> Sequence[JobRow]:
        """Jobs of an account, newest first."""

    async def appeals(self, after: Key | None, limit: int) -> Sequence[AppealRow]:
        """Open appeals, oldest first."""
