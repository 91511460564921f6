"""What a witness must not lose: its key, the logs that it knows, and the newest cosigned checkpoint of each.

The folder is bound to its key. A witness whose database was lost or set back would cosign a fork, so neither is made
again while the other exists.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Final
from urllib.parse import quote

from services.witness.domain import Latest
from tlog.checkpoint import Checkpoint
from tlog.errors import MalformedError
from tlog.keys import SigningKey, VerifierKey
from tlog.note import Note

KEY: Final = "key"
DATABASE: Final = "witness.db"

_BUSY_S: Final = 10.0
_SCHEMA: Final = """
CREATE TABLE log (
    origin TEXT PRIMARY KEY, hash TEXT NOT NULL UNIQUE, size INTEGER NOT NULL, root BLOB NOT NULL, note BLOB
);
CREATE TABLE log_key (vkey TEXT PRIMARY KEY, origin TEXT NOT NULL REFERENCES log (origin));
"""


class StoreError(Exception):
    """The folder of a witness is not usable; the message says what to do."""


class Store:
    """The folder of a witness. Every change is on disk when its method returns; any thread may call it."""

    def __init__(self, folder: Path) -> None:
        """Raises: StoreError: the folder is not that of a witness."""
        self.folder = folder
        self._path = folder / DATABASE
        for path in (folder / KEY, self._path):
            if not path.is_file():
                missing = "make a witness with `openerrata witness init`, or name its folder with --dir"
                if path == self._path and (folder / KEY).exists():
                    missing = "without it this key must not be used: it could cosign a fork; make a new witness"
                raise StoreError(f"{path} is missing: {missing}")
        try:
            self.keys = tuple(map(SigningKey.parse, (folder / KEY).read_text().split()))
        except (MalformedError, UnicodeDecodeError):
            raise StoreError(f"{folder / KEY} holds no private key of a witness") from None
        if not self.keys:
            raise StoreError(f"{folder / KEY} is empty")

    @staticmethod
    def create(folder: Path, keys: Sequence[SigningKey]) -> None:
        """Make the folder of a new witness, readable by its user alone. Raises: StoreError: there is one already."""
        for path in (folder / KEY, folder / DATABASE):
            if path.exists():
                raise StoreError(f"{path} exists already; a new witness needs a folder of its own")
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(folder / DATABASE, os.O_CREAT | os.O_EXCL, 0o600))
        with closing(sqlite3.connect(folder / DATABASE)) as database:
            database.executescript(_SCHEMA)
        _write_once(folder / KEY, "".join(f"{key.secret()}\n" for key in keys))

    def add(self, key: VerifierKey) -> None:
        """Add a log, named by its key, or a further key of it. Raises: StoreError: the key is known."""
        name = sha256(key.name.encode()).hexdigest()
        with self._transaction() as database:
            empty = Latest()
            row = (key.name, name, empty.size, empty.root)
            database.execute(
                "INSERT INTO log (origin, hash, size, root) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", row
            )
            try:
                database.execute("INSERT INTO log_key (vkey, origin) VALUES (?, ?)", (str(key), key.name))
            except sqlite3.IntegrityError:
                raise StoreError(f"this key of {key.name} is known already") from None

    def log_keys(self, origin: str) -> tuple[VerifierKey, ...]:
        """The keys of a log; none if it is not known."""
        with self._connection() as database:
            rows = database.execute("SELECT vkey FROM log_key WHERE origin = ?", (origin,)).fetchall()
        return tuple(VerifierKey.parse(vkey) for (vkey,) in rows)

    def advance(self, origin: str, step: Callable[[Latest], Note]) -> Note:
        """Replace the newest cosigned note of a log with what `step` makes of it, in one transaction.

        Raises: what `step` raises, and nothing is changed then.
        """
        with self._transaction() as database:
            query = "SELECT size, root FROM log WHERE origin = ?"
            size, root = database.execute(query, (origin,)).fetchone()
            note = step(Latest(size, root))
            latest = Checkpoint.parse(note.text)
            change = "UPDATE log SET size = ?, root = ?, note = ? WHERE origin = ?"
            database.execute(change, (latest.size, latest.root, bytes(note), origin))
        return note

    def latest(self, name: str) -> bytes | None:
        """The newest cosigned note of the log whose origin has this SHA-256, in hex; None if there is none."""
        with self._connection() as database:
            row: tuple[bytes | None] | None = database.execute(
                "SELECT note FROM log WHERE hash = ?", (name,)
            ).fetchone()
        return row[0] if row else None

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        # Never creates the file: a witness with an empty database would cosign anything.
        address = f"file:{quote(str(self._path))}?mode=rw"
        with closing(sqlite3.connect(address, uri=True, timeout=_BUSY_S, isolation_level=None)) as database:
            database.execute("PRAGMA synchronous = EXTRA")
            database.execute("PRAGMA foreign_keys = ON")
            yield database

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """A transaction that excludes all other writers, in this process and others, and is on disk at its end."""
        with self._connection() as database:
            database.execute("BEGIN IMMEDIATE")
            try:
                yield database
                database.execute("COMMIT")
            except BaseException:
                if database.in_transaction:
                    database.execute("ROLLBACK")
                raise


def _write_once(path: Path, text: str) -> None:
    """Write a file for its user alone, whole or not at all. Raises: StoreError: it is there already."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(draft, path)
    except FileExistsError:
        raise StoreError(f"{path} exists already; a new witness needs a folder of its own") from None
    finally:
        draft.unlink()
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
