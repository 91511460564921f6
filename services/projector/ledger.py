"""Appending to the ledger, and comparing with what it holds already.

The ledger outlives the tables: after they are lost, the same facts come again and must be the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from psycopg import AsyncCursor

from kit.ordered import Recorded
from services.projector.chain import GENESIS, Altered, LedgerBroken, link
from services.projector.reading import Batch

_COPY = """COPY ledger.fact (stream, sequence, event_id, subject, envelope, previous_hash, hash, stored_at)
    FROM STDIN (FORMAT BINARY)"""
_TYPES = ("text", "int8", "uuid", "text", "bytea", "bytea", "bytea", "timestamptz")


async def append(cursor: AsyncCursor[Any], batch: Batch, previous: bytes | None, held_until: int) -> None:
    """Add the batch to its stream's chain, after the fact with the hash `previous`. `held_until` is the ledger's end.

    Raises: Altered: the ledger holds another fact in one's place. LedgerBroken: it lacks the one before.
    """
    first = batch.records[0].sequence
    held = await _held(cursor, batch.stream, first, batch.records[-1].sequence) if held_until >= first else {}
    previous = GENESIS if first == 1 else previous
    if previous is None:
        raise LedgerBroken(f"{batch.stream}: the ledger does not hold the fact {first - 1}")
    fresh: list[tuple[Recorded, bytes, bytes]] = []
    for record in batch.records:
        hash_ = link(previous, record.stream, record.sequence, record.subject, record.data)
        known = held.get(record.sequence)
        if known is None:
            fresh.append((record, previous, hash_))
        elif known != hash_:
            raise Altered(record.stream, record.sequence)
        previous = hash_
    if fresh:
        await _insert(cursor, fresh, batch.ids)


async def _held(cursor: AsyncCursor[Any], stream: str, first: int, last: int) -> dict[int, bytes]:
    await cursor.execute(
        "SELECT sequence, hash FROM ledger.fact WHERE stream = %s AND sequence BETWEEN %s AND %s",
        (stream, first, last),
        binary=True,
    )
    return {sequence: bytes(hash_) for sequence, hash_ in await cursor.fetchall()}


async def _insert(cursor: AsyncCursor[Any], facts: Sequence[tuple[Recorded, bytes, bytes]], ids: Any) -> None:
    async with cursor.copy(_COPY) as copy:
        copy.set_types(_TYPES)
        for record, previous, hash_ in facts:
            id_: UUID | None = ids.get(record.sequence)
            row = (record.stream, record.sequence, id_, record.subject, record.data, previous, hash_, record.time)
            await copy.write_row(row)
