"""The ledger as it is stored: facts with their places in the chain."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Final

from kit.ordered import StoredMessage
from services.projector.ledger.chain import hash_fact
from services.projector.store.load import Connection

BATCH: Final = 2_000


@dataclass(frozen=True, slots=True)
class Link:
    """One fact of the ledger with its place in the chain."""

    record: StoredMessage
    previous: bytes
    hash: bytes
    erased: bool

    def follows(self, previous: bytes) -> bool:
        """Whether the fact is unaltered and comes after the one with this hash; an erased one is not hashed again."""
        fact = self.record
        if self.erased:
            return self.previous == previous and not fact.data
        computed = hash_fact(previous, fact.stream, fact.sequence, fact.subject, fact.data)
        return self.previous == previous and self.hash == computed


async def read_links(db: Connection, stream: str, after: int) -> AsyncGenerator[Sequence[Link], None]:
    """The ledger's facts of a stream after a sequence, in order, not verified."""
    while True:
        found = await db.execute(
            """SELECT sequence, subject, envelope, stored_at, previous_hash, hash, erased_by IS NOT NULL
            FROM ledger.fact
            WHERE stream = %s AND sequence > %s ORDER BY sequence LIMIT %s""",
            (stream, after, BATCH),
            binary=True,
        )
        rows = await found.fetchall()
        if not rows:
            return
        yield [Link(StoredMessage(stream, row[0], row[1], row[2], row[3]), row[4], row[5], row[6]) for row in rows]
        after = rows[-1][0]
