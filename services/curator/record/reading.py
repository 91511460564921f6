"""Reads typed rows of the tables."""

from __future__ import annotations

from typing import TypeVar

from pydantic import TypeAdapter
from sqlalchemy import TextClause

from kit.database import Database

T = TypeVar("T")


async def read_rows(database: Database, kind: type[T], statement: TextClause, **values: object) -> list[T]:
    """The rows of a statement as frozen dataclasses, whose fields have the names of the columns."""
    async with database.connect() as connection:
        found = await connection.execute(statement, values)
        rows = TypeAdapter(kind)
        return [rows.validate_python(dict(row)) for row in found.mappings()]
