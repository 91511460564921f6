"""Reads typed rows of the tables, and how far the tables follow their log."""

from __future__ import annotations

from typing import ClassVar, Final, TypeVar

from pydantic import TypeAdapter
from sqlalchemy import TextClause, text

from contracts.topology import JOBS, Stream
from kit.bus import Bus
from kit.database import Database
from kit.pages import read_last_sequence

T = TypeVar("T")
_POSITION: Final = text("SELECT sequence FROM position WHERE stream = :stream")


async def read_rows(database: Database, kind: type[T], statement: TextClause, **values: object) -> list[T]:
    """The rows of a statement as frozen dataclasses, whose fields have the names of the columns."""
    async with database.connect() as connection:
        found = await connection.execute(statement, values)
        rows = TypeAdapter(kind)
        return [rows.validate_python(dict(row)) for row in found.mappings()]


class LoggedTables:
    """The tables of a stream's facts and the log that they follow. Raises: Outage: they could not be read now."""

    STREAM: ClassVar[Stream] = JOBS

    def __init__(self, bus: Bus, database: Database) -> None:
        self._bus = bus
        self._database = database

    async def newest(self) -> int:
        """The last sequence of the log."""
        return await read_last_sequence(self._bus, self.STREAM.name)

    async def holds(self, sequence: int) -> bool:
        """Whether the tables hold the log up to this sequence."""
        return await self.position() >= sequence

    async def position(self) -> int:
        """The last sequence of the log that the tables hold."""
        async with self._database.connect() as connection:
            position: int | None = (await connection.execute(_POSITION, {"stream": self.STREAM.name})).scalar()
        return position or 0
