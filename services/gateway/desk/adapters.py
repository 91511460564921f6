"""The desk's lists over PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from services.gateway.record.desk import AppealRow, EditedRow, JobRow, Key
from services.gateway.record.repository import PublicRecord


class SqlDesk:
    """Reads the desk's lists from the tables."""

    def __init__(self, record: PublicRecord) -> None:
        self._record = record

    async def edited(self, after: Key | None, limit: int) -> Sequence[EditedRow]:
        async with self._record.open() as session:
            return await session.desk.edited(after, limit)

    async def jobs(self, account: UUID, after: Key | None, limit: int) -> Sequence[JobRow]:
        async with self._record.open() as session:
            return await session.desk.jobs(account, after, limit)

    async def appeals(self, after: Key | None, limit: int) -> Sequence[AppealRow]:
        async with self._record.open() as session:
            return await session.desk.appeals(after, limit)
