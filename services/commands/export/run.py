"""One run: a snapshot of the read model, streamed through server-side cursors."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import datetime
from hashlib import blake2b
from pathlib import Path
from typing import Final, Self
from uuid import UUID

import orjson
import psycopg
from psycopg.rows import TupleRow

from contracts.topology import ERRATA, VIEWS
from kit.database import Database
from services.commands.export.columns import ExportedTable
from services.commands.export.folder import Draft, Folder, Manifest, open_folder
from services.commands.export.formats import SUFFIX, Format, Row, open_writer
from services.commands.export.tables import TABLES

BATCH_ROWS: Final = 500
DELETED: Final = "deleted"

Cursor = psycopg.AsyncServerCursor[TupleRow]


class Digests:
    """One digest for each row, by which the next run finds new, changed and deleted rows, also after a rebuild.

    They are stored by table and key in a copy of the earlier database, which is this run's until the manifest names it.
    """

    def __init__(self, path: Path, run: int) -> None:
        self._run = run
        self._file = sqlite3.connect(path, isolation_level=None)
        self._file.executescript(
            """PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
            CREATE TABLE IF NOT EXISTS seen (
                place TEXT, key TEXT, digest BLOB, run INTEGER, PRIMARY KEY (place, key)
            ) WITHOUT ROWID; BEGIN"""
        )

    def update(self, table: str, keys: Sequence[str], lines: Sequence[bytes]) -> list[int]:
        """Store the digests of these rows; returns the indexes of new and changed ones."""
        digests = [blake2b(line, digest_size=16).digest() for line in lines]
        select = self._file.execute
        found = [
            number
            for number, (key, digest) in enumerate(zip(keys, digests, strict=True))
            if select("SELECT digest FROM seen WHERE place = ? AND key = ?", (table, key)).fetchone() != (digest,)
        ]
        self._file.executemany(
            "INSERT OR REPLACE INTO seen VALUES (?, ?, ?, ?)",
            [(table, key, digest, self._run) for key, digest in zip(keys, digests, strict=True)],
        )
        return found

    def remove_unseen(self, table: str) -> Iterator[str]:
        """Yield and delete the keys that this run did not see."""
        cursor = self._file.execute("SELECT key FROM seen WHERE place = ? AND run < ? ORDER BY key", (table, self._run))
        yield from [key for (key,) in cursor]
        self._file.execute("DELETE FROM seen WHERE place = ? AND run < ?", (table, self._run))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.execute("COMMIT")
        self._file.close()


async def export(database: Database, path: Path, format_: Format, *, full: bool = False) -> Manifest:
    """Add one part with all new, changed and deleted rows; returns the manifest.

    `full`: write all rows as the only part.

    Raises: SettingsError: the folder cannot be used, or a package is missing.
    """
    with open_folder(path, format_) as folder:
        return await _run(database, folder, format_, full=full)


async def _run(database: Database, folder: Folder, format_: Format, *, full: bool) -> Manifest:
    draft = folder.draft(full=full)
    rows: dict[str, int] = {}
    async with await database.session() as session:
        await session.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        # All cursors are opened before the first is read: a rebuild may replace the tables meanwhile.
        cursors = [(table, session.cursor(name=f"export_{table.name}")) for table in TABLES]
        for table, cursor in cursors:
            await cursor.execute(table.query)
        # The public record derives from these two streams; audits are private.
        found = await session.execute(
            "SELECT stream, sequence FROM position WHERE stream = ANY (%s) ORDER BY stream",
            ([ERRATA.name, VIEWS.name],),
        )
        positions = {str(stream): int(sequence) for stream, sequence in await found.fetchall()}
        with Digests(draft.digests, draft.number) as digests, (draft.folder / f"{DELETED}.jsonl").open("wb") as deleted:
            rows[DELETED] = 0
            for table, cursor in cursors:
                rows[table.name] = await _export_table(table, cursor, digests, draft, format_)
                for key in digests.remove_unseen(table.name):
                    deleted.write(orjson.dumps({"table": table.name, "key": json.loads(key)}) + b"\n")
                    rows[DELETED] += 1
        await session.execute("ROLLBACK")
    return folder.commit(draft, rows, positions, full=full)


async def _export_table(table: ExportedTable, cursor: Cursor, digests: Digests, draft: Draft, format_: Format) -> int:
    count = 0
    with closing(open_writer(format_, draft.folder / f"{table.name}{SUFFIX[format_]}", table)) as file:
        while batch := await cursor.fetchmany(BATCH_ROWS):
            rows = [_make_row(table, values) for values in batch]
            lines = [orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE | orjson.OPT_UTC_Z) for row in rows]
            keys = [json.dumps([row[name] for name in table.key]) for row in rows]
            new = digests.update(table.name, keys, lines)
            if new:
                file.write([rows[number] for number in new], [lines[number] for number in new])
            count += len(new)
    return count


def _make_row(table: ExportedTable, values: TupleRow) -> Row:
    return {column.name: _to_plain(value) for column, value in zip(table.columns, values, strict=True)}


def _to_plain(value: object) -> str | int | datetime | None:
    if isinstance(value, UUID):
        return str(value)
    assert value is None or isinstance(value, str | int | datetime)
    return value
