"""One run: a single moment of the read model, streamed through cursors of the database, never held in memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import orjson
import psycopg

from kit.database import Database
from services.commands.export.folder import Draft, Folder, opened
from services.commands.export.formats import SUFFIX, Format, Row, Writer, writer
from services.commands.export.memory import Memory
from services.commands.export.tables import TABLES, Exported

BATCH_ROWS: Final = 500
DELETED: Final = "deleted"

Cursor = psycopg.AsyncServerCursor[tuple[Any, ...]]


async def export(database: Database, path: Path, chosen: Format, *, full: bool = False) -> dict[str, Any]:
    """Add one part with everything that is new, changed or gone since the last one; the manifest.

    `full`: write everything as the only part, and remove the others.

    Raises: SettingsError: the folder cannot be used, or a package is missing.
    """
    with opened(path, chosen) as folder:
        return await _run(database, folder, chosen, full=full)


async def _run(database: Database, folder: Folder, chosen: Format, *, full: bool) -> dict[str, Any]:
    draft = folder.draft(full=full)
    rows: dict[str, int] = {}
    async with await database.session() as session:
        await session.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        # All are opened before the first is read: a rebuild may put other tables in their places meanwhile.
        cursors = [(table, session.cursor(name=f"export_{table.name}")) for table in TABLES]
        for table, cursor in cursors:
            await cursor.execute(table.query)
        found = await session.execute("SELECT stream, sequence FROM position ORDER BY stream")
        positions = {str(stream): int(sequence) for stream, sequence in await found.fetchall()}
        with Memory(draft.memory, draft.number) as memory, (draft.folder / f"{DELETED}.jsonl").open("wb") as deleted:
            rows[DELETED] = 0
            for table, cursor in cursors:
                rows[table.name] = await _table(table, cursor, memory, draft, chosen)
                for key in memory.gone(table.name):
                    deleted.write(orjson.dumps({"table": table.name, "key": json.loads(key)}) + b"\n")
                    rows[DELETED] += 1
        await session.execute("ROLLBACK")
    return folder.commit(draft, rows, positions, full=full)


async def _table(table: Exported, cursor: Cursor, memory: Memory, draft: Draft, chosen: Format) -> int:
    count = 0
    with _file(chosen, draft.folder / f"{table.name}{SUFFIX[chosen]}", table) as file:
        while batch := await cursor.fetchmany(BATCH_ROWS):
            rows = [_row(table, values) for values in batch]
            lines = [orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE | orjson.OPT_UTC_Z) for row in rows]
            keys = [json.dumps([row[name] for name in table.key]) for row in rows]
            new = memory.changed(table.name, keys, lines)
            if new:
                file.write([rows[number] for number in new], [lines[number] for number in new])
            count += len(new)
    return count


def _row(table: Exported, values: tuple[Any, ...]) -> Row:
    return {column.name: _plain(value) for column, value in zip(table.columns, values, strict=True)}


def _plain(value: Any) -> str | int | datetime | None:
    if isinstance(value, UUID):
        return str(value)
    assert value is None or isinstance(value, str | int | datetime)
    return value


@contextmanager
def _file(chosen: Format, path: Path, table: Exported) -> Iterator[Writer]:
    file = writer(chosen, path, table)
    try:
        yield file
    finally:
        file.close()
