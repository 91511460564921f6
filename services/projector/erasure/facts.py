"""Facts of the ledger that still have their bodies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from contracts.v1 import Event, Undecodable, decode
from services.projector.store.load import Connection

PAGE: Final = 5_000


@dataclass(frozen=True, slots=True)
class StoredFact:
    """A fact that still has its body."""

    sequence: int
    hash: bytes
    body: bytes
    event: Event


async def read_facts(
    db: Connection, stream: str, where: str, parameters: dict[str, object], wanted: Callable[[Event], bool]
) -> list[StoredFact]:
    """Facts that match `where` and whose event is `wanted`, read in pages, because most are not wanted."""
    facts: list[StoredFact] = []
    after, more = 0, True
    while more:
        found = await db.execute(
            f"""SELECT sequence, hash, subject, envelope FROM ledger.fact
            WHERE stream = %(stream)s AND sequence > %(after)s AND erased_by IS NULL
                AND subject NOT LIKE ALL (ARRAY['errata.v1.erasure.%%', 'errata.v1.entity_erasure.%%']) AND ({where})
            ORDER BY sequence LIMIT {PAGE}""".encode(),  # noqa: S608 (our own conditions)
            parameters | {"stream": stream, "after": after},
            binary=True,
        )
        rows = await found.fetchall()
        more = len(rows) == PAGE
        for after, hash_, subject, envelope in rows:
            try:
                event = decode(subject, bytes(envelope)).event
            except Undecodable:  # there is no event to match
                continue
            if wanted(event):
                facts.append(StoredFact(after, bytes(hash_), bytes(envelope), event))
    return facts


async def read_facts_of_keys(db: Connection, stream: str, keys: set[str]) -> list[StoredFact]:
    """All facts of these aggregates."""
    return await read_facts(
        db,
        stream,
        "split_part(subject, '.', 5) = ANY (%(keys)s)",
        {"keys": list(keys)},
        lambda event: event.key() in keys,
    )
