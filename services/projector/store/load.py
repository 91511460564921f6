"""Loads the rows that facts need: one query for each lookup, for the whole batch."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

import psycopg
from psycopg.rows import TupleRow, class_row
from sqlalchemy.engine import make_url

from contracts.readmodel.columns import READMODEL
from services.projector.rows.table import AnyTable, Lookup, Row, RowKey, Tables

_DIALECT: Final = make_url("postgresql+psycopg://").get_dialect()()
Connection = psycopg.AsyncConnection[TupleRow]


@dataclass(frozen=True, slots=True)
class PendingLoad:
    """Queries of an open pipeline; their results are available when it ends."""

    _found: list[tuple[AnyTable, psycopg.AsyncCursor[Row]]]

    async def finish(self, beside: Mapping[AnyTable, Iterable[Row]] | None = None) -> Tables:
        """The loaded rows, together with those of `beside`."""
        loaded: dict[AnyTable, list[Row]] = defaultdict(list)
        loaded.update((table, list(rows)) for table, rows in (beside or {}).items())
        for table, cursor in self._found:
            loaded[table] += await cursor.fetchall()
        return Tables(loaded)


async def start_load(db: Connection, wanted: Iterable[RowKey]) -> PendingLoad:
    """Start loading rows; inside a pipeline."""
    keys: dict[Lookup, set[Hashable]] = defaultdict(set)
    for lookup, key in wanted:
        keys[lookup].add(key)
    found = []
    for lookup, values in keys.items():
        cursor = db.cursor(row_factory=class_row(lookup.table.row), binary=True)
        await cursor.execute(_query(lookup), _parameters(lookup, values))
        found.append((lookup.table, cursor))
    return PendingLoad(found)


async def load(
    db: Connection, wanted: Iterable[RowKey], beside: Mapping[AnyTable, Iterable[Row]] | None = None
) -> Tables:
    async with db.pipeline():
        pending = await start_load(db, wanted)
    return await pending.finish(beside)


def _parameters(lookup: Lookup, values: set[Hashable]) -> list[list[Hashable]]:
    return [list(values)] if len(lookup.columns) == 1 else [list(column) for column in zip(*values, strict=True)]


@cache
def _query(lookup: Lookup) -> bytes:
    table, columns = READMODEL.tables[lookup.table.name], ", ".join(lookup.columns)
    select = f"SELECT {', '.join(lookup.table.columns)} FROM {table.name}"  # noqa: S608 (our names)
    types = [table.c[column].type.compile(_DIALECT) for column in lookup.columns]
    if len(types) == 1:
        return f"{select} WHERE {columns} = ANY (%b::{types[0]}[])".encode()
    given = ", ".join(f"%b::{type_}[]" for type_ in types)
    return f"{select} JOIN unnest({given}) AS given({columns}) USING ({columns})".encode()
