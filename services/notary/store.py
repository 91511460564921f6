"""The decision log in PostgreSQL: one transaction reads facts and writes leaves, openings and position.

Everything is done over one session, which holds the lock of the log: a process that loses the lock loses its
transaction too.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from datetime import datetime
from typing import Final, LiteralString

from contracts.v1 import ErasureOrdered
from kit.database import Session
from services.notary.decisions import Fact
from services.notary.domain import Entered, LogForked, LogNotOpened, OtherKeySigns, StoredCheckpoint
from services.notary.ledger import read_changes, read_page, read_runs
from services.notary.placing import Known, Placed, place
from services.notary.references import find_references, find_subject
from tlog.merkle import Hash, complete_nodes, fold, hash_leaf
from tlog.note import Signature
from tlog.tiles import (
    WIDTH,
    Bundle,
    Frontier,
    Tile,
    encode_bundle,
    fold_complete,
    node_reader,
    partial_tiles,
    split_tile,
    tiles_with,
)

Connect = Callable[[], Awaitable[Session]]
ReadPublished = Callable[[int], Awaitable[bytes | None]]
"""Gives a leaf that was published before, by its index."""

CLAIM: Final = 0x6C6F6721
_LEAF_TILE: Final = "SELECT string_agg(hash, ''::bytea ORDER BY index) FROM log.leaf WHERE index BETWEEN %s AND %s"
_NODE_TILE: Final = """
    SELECT string_agg(hash, ''::bytea ORDER BY index) FROM log.node WHERE index BETWEEN %s AND %s AND level = %s"""
_CHECKPOINT: Final = "SELECT size, root, note, published_at IS NOT NULL FROM log.checkpoint"


class LogStore:
    """One log, for the one process that may write it."""

    def __init__(self, connect: Connect, origin: str, read_published: ReadPublished) -> None:
        self._connect = connect
        self._origin = origin
        self._read_published = read_published
        self._connection: Session | None = None

    async def close(self) -> None:
        """Close the session, and give up the lock with it."""
        if self._connection is not None:
            await self._connection.close()
            self._connection = None

    async def claim(self) -> bool:
        """Try to lock the log for this session, until it ends; whether it alone may write."""
        db = await self.session()
        row = await (await db.execute("SELECT pg_try_advisory_lock(%s, 0)", (CLAIM,))).fetchone()
        return row is not None and bool(row[0])

    async def open(self, key: str, policy: str) -> None:
        """Begin where the log of events says that this log begins, unless it has begun; `policy` is shown to others.

        Raises: LogNotOpened: the log of events does not say so. OtherKeySigns. LogForked: another log is here.
        """
        db = await self.session()
        origins = await (await db.execute("SELECT origin FROM log.state")).fetchall()
        if any(origin != self._origin for (origin,) in origins):
            raise LogForked(f"the database holds the log {origins[0][0]}, not {self._origin}")
        begins = await self.require_key(key)
        await db.execute(
            """INSERT INTO log.state VALUES (%s, %s, 0, %s)
            ON CONFLICT (origin) DO UPDATE SET policy = excluded.policy""",
            (self._origin, begins - 1, policy),
        )

    async def require_key(self, key: str) -> int:
        """The sequence where the log begins, if this key signs it now. Raises: LogNotOpened, OtherKeySigns."""
        changes = await read_changes(await self.session(), self._origin)
        if not changes:
            raise LogNotOpened(
                f"the log {self._origin} was not opened: run `openerrata log init`, with the projector up"
            )
        if (signing := changes[-1][1].keys[0]) != key:
            raise OtherKeySigns(
                f"another key signs {self._origin}: {signing}; `openerrata log init` goes on with the one that is set"
            )
        return changes[0][0]

    async def enter(self, limit: int) -> Entered:
        """Read the next facts, and enter the decisions among them."""
        db = await self.session()
        async with db.transaction():
            sequence, size = await self._position(db)
            page = await read_page(db, sequence, limit)
            if not page.looked_at:
                return Entered(0, 0)
            batch = place(page.facts, await read_runs(db, page.facts), await self._read_known(db, page.facts), size)
            await self._append(db, batch.placed, size)
            await self._forget(db, batch.erased)
            await db.execute(
                "UPDATE log.state SET sequence = %s, size = %s WHERE origin = %s",
                (page.last, size + len(batch.placed), self._origin),
            )
        return Entered(page.looked_at, len(batch.placed))

    async def size(self) -> int:
        return (await self._position(await self.session()))[1]

    async def root(self, size: int) -> Hash:
        nodes = complete_nodes(0, size)
        tiles = {tile: await self.read_tile(tile) for tile in tiles_with(nodes, size)}
        read = node_reader(size, tiles)
        return fold([read(*node) for node in nodes])

    async def read_tile(self, tile: Tile) -> bytes:
        db, first = await self.session(), tile.number * WIDTH
        last = first + tile.width - 1
        if tile.level == 0:
            found = await db.execute(_LEAF_TILE, (first, last), binary=True)
        else:
            found = await db.execute(_NODE_TILE, (first, last, tile.level), binary=True)
        row = await found.fetchone()
        return bytes(row[0]) if row is not None and row[0] is not None else b""

    async def read_bundle(self, bundle: Bundle) -> bytes:
        db = await self.session()
        first = bundle.number * WIDTH
        found = await db.execute(
            "SELECT data FROM log.leaf WHERE index BETWEEN %s AND %s ORDER BY index",
            (first, first + bundle.width - 1),
            binary=True,
        )
        return encode_bundle([bytes(data) for (data,) in await found.fetchall()])

    async def newest(self) -> StoredCheckpoint | None:
        return await self._checkpoint("ORDER BY size DESC LIMIT 1", ())

    async def find(self, size: int) -> StoredCheckpoint | None:
        return await self._checkpoint("WHERE size = %s", (size,))

    async def add(self, checkpoint: StoredCheckpoint, now: datetime) -> None:
        db = await self.session()
        await db.execute(
            "INSERT INTO log.checkpoint VALUES (%s, %s, %s, %s, %s, NULL) ON CONFLICT DO NOTHING",
            (checkpoint.size, checkpoint.root, checkpoint.note, now, now if checkpoint.is_published else None),
        )
        known = await self.find(checkpoint.size)
        if known is None or known.root != checkpoint.root:
            raise LogForked(f"two roots of {checkpoint.size} leaves")

    async def cosignatures(self, size: int) -> Sequence[Signature]:
        db = await self.session()
        found = await db.execute(
            "SELECT line FROM log.cosignature WHERE size = %s ORDER BY key_id", (size,), binary=True
        )
        return [Signature.parse(bytes(line).decode()) for (line,) in await found.fetchall()]

    async def add_cosignatures(self, size: int, signatures: Sequence[Signature]) -> None:
        db = await self.session()
        async with db.cursor() as cursor:
            await cursor.executemany(
                """INSERT INTO log.cosignature VALUES (%s, %s, %s)
                ON CONFLICT (size, key_id) DO UPDATE SET line = excluded.line""",
                [(size, each.key_id, str(each).encode()) for each in signatures],
            )

    async def mark_witnessed(self, size: int, now: datetime) -> None:
        db = await self.session()
        await db.execute(
            "UPDATE log.checkpoint SET witnessed_at = %s WHERE size = %s AND witnessed_at IS NULL", (now, size)
        )

    async def mark_published(self, size: int, now: datetime) -> None:
        db = await self.session()
        await db.execute(
            "UPDATE log.checkpoint SET published_at = %s WHERE size = %s AND published_at IS NULL", (now, size)
        )

    async def session(self) -> Session:
        """The session that holds the lock, or may claim it."""
        if self._connection is None or self._connection.closed:
            self._connection = await self._connect()
        return self._connection

    async def _position(self, db: Session) -> tuple[int, int]:
        found = await db.execute("SELECT sequence, size FROM log.state WHERE origin = %s", (self._origin,))
        row = await found.fetchone()
        return (0, 0) if row is None else (row[0], row[1])

    async def _checkpoint(self, where: LiteralString, parameters: Sequence[int]) -> StoredCheckpoint | None:
        db = await self.session()
        row = await (await db.execute(f"{_CHECKPOINT} {where}", parameters, binary=True)).fetchone()
        return None if row is None else StoredCheckpoint(row[0], bytes(row[1]), bytes(row[2]), row[3])

    async def _read_known(self, db: Session, facts: Sequence[Fact]) -> Known:
        """The leaves that the log already holds of these facts, and of what they refer to."""
        if not facts:
            return Known()
        subjects = [id_ for fact in facts if fact.event is not None and (id_ := find_subject(fact.event))]
        others = [id_ for fact in facts if fact.event is not None for id_ in find_references(fact.event)]
        named = [each.sequence for fact in facts if isinstance(fact.event, ErasureOrdered) for each in fact.event.facts]
        async with db.pipeline():
            by_event = await db.execute(
                "SELECT event_id, index FROM log.leaf WHERE event_id = ANY (%s)",
                ([*(fact.id for fact in facts), *others],),
            )
            by_subject = await db.execute(
                "SELECT id, min(index) FROM log.subject WHERE id = ANY (%s) GROUP BY id", (subjects,)
            )
            by_sequence = await db.execute("SELECT sequence, index FROM log.leaf WHERE sequence = ANY (%s)", (named,))
        return Known(
            dict(await by_event.fetchall()),
            dict(await by_subject.fetchall()),
            dict(await by_sequence.fetchall()),
        )

    async def _append(self, db: Session, placed: Sequence[Placed], size: int) -> None:
        if not placed:
            return
        leaves = [await self._encode(each) for each in placed]
        hashes = [hash_leaf(data) for data in leaves]
        tiles = {tile: await self.read_tile(tile) for tile in partial_tiles(size)}
        _, grown = Frontier.restore(size, tiles.__getitem__).grow(hashes)
        nodes = [
            (tile.level + 1, tile.number, fold_complete(split_tile(tile, data)))
            for tile, data in grown
            if tile.width == WIDTH
        ]
        openings = [
            (each.index, opening.j, opening.salt, opening.document)
            for each in placed
            for opening in each.entry.openings
        ]
        async with db.pipeline(), db.cursor() as cursor:
            await cursor.executemany(
                "INSERT INTO log.leaf (index, sequence, event_id, data, hash) VALUES (%s, %s, %s, %s, %s)",
                [
                    (each.index, each.fact.sequence, each.fact.id, data, hash_)
                    for each, data, hash_ in zip(placed, leaves, hashes, strict=True)
                ],
            )
            await cursor.executemany("INSERT INTO log.node VALUES (%s, %s, %s)", nodes)
            await cursor.executemany("INSERT INTO log.opening VALUES (%s, %s, %s, %s)", openings)
            await cursor.executemany(
                "INSERT INTO log.subject VALUES (%s, %s)",
                [(subject, each.index) for each in placed for subject in each.entry.subjects],
            )

    async def _encode(self, placed: Placed) -> bytes:
        """The bytes of a leaf; of an erased fact those that were published, if it was there before its erasure."""
        published = await self._read_published(placed.index) if placed.fact.event is None else None
        return published or placed.entry.leaf.encode()

    async def _forget(self, db: Session, erased: Collection[int]) -> None:
        if erased:
            async with db.pipeline():
                await db.execute("DELETE FROM log.opening WHERE index = ANY (%s)", (list(erased),))
                await db.execute("DELETE FROM log.subject WHERE index = ANY (%s)", (list(erased),))
