"""What earlier runs have written, as one digest a row, so that the next run writes only what is new, changed or gone.

Digests and not moments: what changed late, what was built again, and what was erased is found alike.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Self


class Memory:
    """Digests by table and key. The file is the run's own copy; it counts once the manifest names it."""

    def __init__(self, path: Path, run: int) -> None:
        self._run = run
        self._file = sqlite3.connect(path, isolation_level=None)
        self._file.executescript(
            """PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
            CREATE TABLE IF NOT EXISTS seen (
                place TEXT, key TEXT, digest BLOB, run INTEGER, PRIMARY KEY (place, key)
            ) WITHOUT ROWID; BEGIN"""
        )

    def changed(self, table: str, keys: Sequence[str], lines: Sequence[bytes]) -> list[int]:
        """Which of these rows are new or different, by index; all of them are remembered."""
        digests = [blake2b(line, digest_size=16).digest() for line in lines]
        known = self._file.execute
        found = [
            number
            for number, (key, digest) in enumerate(zip(keys, digests, strict=True))
            if known("SELECT digest FROM seen WHERE place = ? AND key = ?", (table, key)).fetchone() != (digest,)
        ]
        self._file.executemany(
            "INSERT OR REPLACE INTO seen VALUES (?, ?, ?, ?)",
            [(table, key, digest, self._run) for key, digest in zip(keys, digests, strict=True)],
        )
        return found

    def gone(self, table: str) -> Iterator[str]:
        """Keys that were there before and were not seen in this run; they are forgotten."""
        cursor = self._file.execute("SELECT key FROM seen WHERE place = ? AND run < ? ORDER BY key", (table, self._run))
        yield from [key for (key,) in cursor]
        self._file.execute("DELETE FROM seen WHERE place = ? AND run < ?", (table, self._run))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.execute("COMMIT")
        self._file.close()
