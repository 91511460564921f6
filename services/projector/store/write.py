"""Writes rows: one statement for the new rows of a table, one for the changed, one for the deleted.

A statement takes its rows as one JSON document whose keys are columns. The fold has decided what a repeated key means;
here a row is new, or changed, or of a table whose first row stands.

PostgreSQL's text cannot hold U+0000, and pages from the internet can: it becomes U+FFFD here, in the one place that
every text passes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Final

import orjson
from psycopg.types.json import Json

from services.projector.rows.table import AnyTable, Row, Tables
from services.projector.store.load import Connection

_NUL: Final = re.compile(rb"(?<!\\)((?:\\\\)*)\\u0000")


async def write(db: Connection, tables: Tables, order: Iterable[AnyTable]) -> None:
    """Write what a batch has made of the tables, in an order that their references allow; best inside a pipeline."""
    for table in order:
        rows = tables[table]
        if rows.removed:
            await _execute(db, _delete(table), rows.removed)
        if new := rows.new:
            await _execute(db, _insert(table), new)
        if table.changes and (changed := rows.changed):
            await _execute(db, _update(table), changed)


async def _execute(db: Connection, query: bytes, rows: Iterable[Row]) -> None:
    await db.execute(query, {"rows": as_json(rows)}, prepare=True)


@cache
def _insert(table: AnyTable) -> bytes:
    columns = ", ".join(table.columns)
    first_stands = "" if table.changes else " ON CONFLICT DO NOTHING"
    return f"INSERT INTO {table.name} ({columns}) SELECT {columns} FROM {_given(table)}{first_stands}".encode()  # noqa: S608 (our names)


@cache
def _update(table: AnyTable) -> bytes:
    changes = ", ".join(f"{column} = given.{column}" for column in table.changes)
    return f"UPDATE {table.name} t SET {changes} FROM {_given(table)} WHERE {_same('t', table.key)}".encode()  # noqa: S608 (our names)


@cache
def _delete(table: AnyTable) -> bytes:
    return f"DELETE FROM {table.name} t USING {_given(table)} WHERE {_same('t', table.key)}".encode()  # noqa: S608 (our names)


def _given(table: AnyTable) -> str:
    # The limit has no effect but an estimate: the planner sees that the rows are few and looks them up by key.
    rows = f"json_populate_recordset(NULL::{table.name}, %(rows)s)"
    return f"(SELECT * FROM {rows} LIMIT json_array_length(%(rows)s)) given"  # noqa: S608 (our names)


def _same(table: str, key: Sequence[str]) -> str:
    return " AND ".join(f"{table}.{column} = given.{column}" for column in key)


def _as_is(document: bytes) -> bytes:
    return document


def as_json(rows: Iterable[object]) -> Json:
    """A JSON array of the rows, each an object with a key for each column."""
    document = orjson.dumps(list(rows))
    if rb"\u0000" in document:
        document = _NUL.sub(rb"\1\\ufffd", document)
    return Json(document, dumps=_as_is)
