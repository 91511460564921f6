"""Appends facts to the ledger, and compares those that it has already.

The ledger outlives the tables: after they are lost, the same facts come again and must be the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final, NamedTuple
from uuid import UUID

from services.projector.facts.reading import Batch
from services.projector.ledger.chain import GENESIS, Altered, LedgerBroken, hash_fact
from services.projector.store.load import Connection

_INSERT: Final = """INSERT INTO ledger.fact
    (stream, sequence, event_id, subject, envelope, previous_hash, hash, stored_at)
    SELECT * FROM unnest(%b::text[], %b::int8[], %b::uuid[], %b::text[], %b::bytea[], %b::bytea[], %b::bytea[],
        %b::timestamptz[])"""


class Entry(NamedTuple):
    """One row of the ledger; fields in the order of its columns."""

    stream: str
    sequence: int
    event_id: UUID | None
    subject: str
    envelope: bytes
    previous_hash: bytes
    hash: bytes
    stored_at: datetime


async def make_entries(db: Connection, batch: Batch, previous: bytes | None, ledger_end: int) -> list[Entry]:
    """The entries that the ledger lacks, chained to `previous`. `ledger_end` is its last sequence.

    Raises: Altered: the ledger has another fact at that sequence. LedgerBroken: it lacks the fact before the first.
    """
    first = batch.records[0].sequence
    held = await _read_hashes(db, batch.stream, first, batch.records[-1].sequence) if ledger_end >= first else {}
    previous = GENESIS if first == 1 else previous
    if previous is None:
        raise LedgerBroken(f"{batch.stream}: the ledger does not hold the fact {first - 1}")
    entries: list[Entry] = []
    for record in batch.records:
        hash_ = hash_fact(previous, record.stream, record.sequence, record.subject, record.data)
        known = held.get(record.sequence)
        if known is None:
            id_ = batch.ids.get(record.sequence)
            entries.append(
                Entry(record.stream, record.sequence, id_, record.subject, record.data, previous, hash_, record.time)
            )
        elif known != hash_:
            raise Altered(record.stream, record.sequence)
        previous = hash_
    return entries


async def append(db: Connection, entries: Sequence[Entry]) -> None:
    """Insert consecutive entries."""
    await db.execute(_INSERT, [list(column) for column in zip(*entries, strict=True)])


async def _read_hashes(db: Connection, stream: str, first: int, last: int) -> dict[int, bytes]:
    found = await db.execute(
        "SELECT sequence, hash FROM ledger.fact WHERE stream = %s AND sequence BETWEEN %s AND %s",
        (stream, first, last),
        binary=True,
    )
    return {sequence: bytes(hash_) for sequence, hash_ in await found.fetchall()}
