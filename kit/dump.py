"""Save the ledger, the decision log and the operator's tables as files, from one snapshot, and load them.

The read model is not included; it is rebuilt from the ledger, which also verifies the backup.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import psycopg
from psycopg import sql
from psycopg.rows import TupleRow
from sqlalchemy import MetaData

from contracts.readmodel.columns import LEDGER, OPERATOR
from kit.database import open_session

SCHEMAS: Final = ("ledger", "operator", "log")

Connection = psycopg.AsyncConnection[TupleRow]


class NotEmpty(Exception):
    """The database is not empty, so a restore would mix two instances."""


async def save(url: str, folder: Path) -> dict[str, list[str]]:
    """Write every table of the durable schemas to a file of its own, and return the columns by table."""
    columns: dict[str, list[str]] = {}
    async with await open_session(url) as db, db.transaction():
        await db.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        for schema, table in await _tables(db):
            name = f"{schema}.{table}"
            columns[name] = await _columns(db, schema, table)
            query = sql.SQL("COPY {} ({}) TO STDOUT (FORMAT binary)").format(
                sql.Identifier(schema, table), _names(columns[name])
            )
            with (folder / f"{name}.copy").open("wb") as sink:
                async with db.cursor().copy(query) as copy:
                    async for block in copy:
                        sink.write(block)
    return columns


async def load(url: str, folder: Path, columns: dict[str, list[str]]) -> None:
    """Fill empty tables from files; columns that a file lacks get their defaults.

    Raises: NotEmpty: a table has rows.
    """
    async with await open_session(url) as db, db.transaction():
        for schema, table in await _tables(db):
            found = await db.execute(sql.SQL("SELECT 1 FROM {} LIMIT 1").format(sql.Identifier(schema, table)))
            if await found.fetchone() is not None:
                raise NotEmpty(f"{schema}.{table} holds rows already; restore only to an empty database")
        for name in order_by_reference(columns):
            schema, _, table = name.partition(".")
            names = columns[name]
            query = sql.SQL("COPY {} ({}) FROM STDIN (FORMAT binary)").format(
                sql.Identifier(schema, table), _names(names)
            )
            with (folder / f"{name}.copy").open("rb") as source:
                async with db.cursor().copy(query) as copy:
                    while block := source.read(1 << 20):
                        await copy.write(block)


def order_by_reference(names: Iterable[str], *schemas: MetaData) -> list[str]:
    """Sort table names (`schema.table`) so that each comes after the tables it refers to.

    Tables of the decision log and of earlier versions come last, by name, an order that their references allow.
    """
    known = [table.fullname for schema in schemas or (LEDGER, OPERATOR) for table in schema.sorted_tables]
    return sorted(names, key=lambda name: (known.index(name) if name in known else len(known), name))


def sha256_of(file: Path) -> str:
    """The hash of a file's bytes."""
    with file.open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()


def _names(columns: list[str]) -> sql.Composed:
    return sql.SQL(", ").join(map(sql.Identifier, columns))


async def _tables(db: Connection) -> list[tuple[str, str]]:
    found = await db.execute(
        """SELECT schemaname, tablename FROM pg_tables
        WHERE schemaname = ANY (%s) AND tablename <> 'alembic_version' ORDER BY 1, 2""",
        (list(SCHEMAS),),
    )
    return [(schema, table) for schema, table in await found.fetchall()]


async def _columns(db: Connection, schema: str, table: str) -> list[str]:
    found = await db.execute(
        """SELECT column_name FROM information_schema.columns
        WHERE table_schema = %s AND table_name = %s AND is_generated = 'NEVER' ORDER BY ordinal_position""",
        (schema, table),
    )
    return [name for (name,) in await found.fetchall()]
