"""One digest for each exported row, so that the next run finds new, changed and deleted rows.

Digests instead of timestamps also find rows that were rebuilt or erased.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Self


class Digests:
    """Digests by table and key, in a copy of the database that belongs to this run until the manifest names it."""

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
        """Store the digests of these rows; the indexes of new and different ones."""
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
