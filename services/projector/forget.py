"""Forgetting a post: every fact of it loses its body in the stream and in the ledger, and its blobs go.

The erasure is itself a fact, told before anything is removed and naming each place with its hash, so the chain can be
proved afterwards and a rebuild ends with the same tables. Every step can be repeated: bodies in the ledger go last, and
as long as they are there a second run finds what the first one left.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol
from uuid import UUID

import orjson
import psycopg

from contracts.topology import ERRATA
from contracts.v1 import (
    CanonicalFetched,
    CanonicalUnavailable,
    ErasureOrdered,
    Event,
    ObservationReceived,
    Undecodable,
    decode,
)
from contracts.v1.claim import ClaimEvent
from contracts.v1.erasure import ErasedFact
from contracts.v1.ids import post_id
from contracts.v1.version import VersionEvent

PART: Final = 2_000
PAGE: Final = 5_000
LOOK_AGAIN_S: Final = 0.05
PATIENCE_S: Final = 15.0
"""How long the projector may stand still before nobody waits for it any more."""
_BLOB: Final = re.compile(rb'"sha256":"([0-9a-f]{64})"')
_OBSERVATIONS: Final = (ObservationReceived, CanonicalFetched, CanonicalUnavailable)

Database = psycopg.AsyncConnection[tuple[Any, ...]]


class UnderWay(Exception):
    """An investigation of the post has not ended; what it still tells would come after the erasure."""


class NotFollowing(Exception):
    """The projector does not follow the log, so nothing can be removed; asking again later goes on where this ended."""


class Eraser(Protocol):
    """What forgetting does outside the database."""

    async def order(self, event: ErasureOrdered) -> tuple[UUID, int]:
        """Tell the erasure; its event id and where it is stored."""
        ...

    async def erase_messages(self, sequences: Sequence[int]) -> None:
        """Remove facts from the stream, and dead letters and redeliveries of them; those that are gone are no error."""
        ...

    async def erase_blob(self, sha256: str) -> None:
        """Remove an object; one that is gone is no error."""
        ...

    async def erase_answers(self, investigation: UUID) -> None:
        """Remove what its models answered, also what no fact names because its worker died before it told."""
        ...


@dataclass(slots=True)
class Forgotten:
    """What was removed."""

    facts: int = 0
    blobs: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class _Told:
    sequence: int
    hash: bytes
    body: bytes
    event: Event


async def forget(
    db: Database,
    eraser: Eraser,
    post: UUID,
    *,
    reason: str,
    erasure_id: UUID,
    head: int,
    names: Iterable[str] = (),
    patience_s: float = PATIENCE_S,
) -> Forgotten:
    """Forget a post; what is told of it meanwhile is forgotten too.

    `head` is where the stream ends now. `names` are ids that its site gives it, as far as they are known: observations
    hold those and not ours, so without any every observation is looked at.

    Raises: UnderWay: one of its investigations has not ended. NotFollowing.
    """
    done, part, called = Forgotten(), 0, set(names)
    while True:
        await _caught_up(db, head, patience_s)
        await _nothing_under_way(db, post)
        told = await _facts(db, post, called)
        if not told and (part or await _is_forgotten(db, post)):
            return done
        for start in range(0, max(1, len(told)), PART):
            part += 1
            some = told[start : start + PART]
            erased = tuple(ErasedFact(sequence=each.sequence, hash=each.hash.hex()) for each in some)
            event = ErasureOrdered(erasure_id=erasure_id, post_id=post, reason=reason, part=part, facts=erased)
            id_, head = await eraser.order(event)
            await _caught_up(db, head, patience_s)
            await _durable(db)
            sequences = [each.sequence for each in some]
            await eraser.erase_messages(sequences)
            for blob in await _unused(db, _blobs(some), sequences):
                await eraser.erase_blob(blob)
                done.blobs.add(blob)
            for investigation in _investigations(some):
                await eraser.erase_answers(investigation)
            await db.execute(
                "UPDATE ledger.fact SET envelope = '', erased_by = %s WHERE stream = %s AND sequence = ANY (%s)",
                (id_, ERRATA.name, sequences),
            )
            done.facts += len(some)


async def _caught_up(db: Database, head: int, patience_s: float) -> None:
    now = asyncio.get_running_loop().time
    position, moved_at = -1, now()
    while True:
        found = await db.execute("SELECT sequence FROM readmodel.position WHERE stream = %s", (ERRATA.name,))
        row = await found.fetchone()
        at = 0 if row is None else row[0]
        if at >= head:
            return
        if at > position:
            position, moved_at = at, now()
        elif now() - moved_at > patience_s:
            raise NotFollowing(
                f"the projector stands at {at:,} of {head:,}: start `openerrata up projector`, then ask again"
            )
        await asyncio.sleep(LOOK_AGAIN_S)


async def _nothing_under_way(db: Database, post: UUID) -> None:
    found = await db.execute(
        """SELECT i.id FROM readmodel.investigation i JOIN readmodel.post_version v ON v.id = i.post_version_id
        WHERE v.post_id = %s AND i.status IN ('PENDING', 'PROCESSING')""",
        (post,),
    )
    row = await found.fetchone()
    if row is not None:
        raise UnderWay(f"investigation {row[0]} has not ended yet; wait for it, then ask again")


async def _is_forgotten(db: Database, post: UUID) -> bool:
    found = await db.execute("SELECT 1 FROM readmodel.forgotten WHERE post_id = %s", (post,))
    return await found.fetchone() is not None


async def _durable(db: Database) -> None:
    """The projector's commits do not wait for the disk; one that does takes all earlier ones with it."""
    async with db.transaction():
        await db.execute("SET LOCAL synchronous_commit = on")
        await db.execute("SELECT pg_current_xact_id()")


async def _facts(db: Database, post: UUID, names: set[str]) -> list[_Told]:
    """All facts of a post that still have bodies: first those that name it, then those of what these name.

    Adds to `names` what the post is called by its site.
    """
    own = await _read(
        db,
        "position(%(needle)s::bytea IN envelope) > 0",
        {"needle": str(post).encode()},
        lambda event: getattr(event, "post_id", None) == post,
    )
    keys = {told.event.key() for told in own} - {str(post)}
    for told in own:
        if isinstance(told.event, VersionEvent):
            keys.add(str(told.event.sighting.observation_id))
            names.add(told.event.post.external_id)
        if (investigation := getattr(told.event, "investigation_id", None)) is not None:
            keys.add(str(investigation))
    observed = await _read(
        db,
        """subject ~ '^errata[.]v1[.](observation|canonical)[.]' AND (%(names)s::bytea[] = '{}'
            OR EXISTS (SELECT FROM unnest(%(names)s::bytea[]) name WHERE position(name IN envelope) > 0))""",
        {"names": [orjson.dumps(name) for name in names]},
        lambda event: _observes(event, post),
    )
    keys |= {told.event.key() for told in observed}
    rest = await _of(db, keys)
    reviews = await _of(db, {str(told.event.claim_id) for told in rest if isinstance(told.event, ClaimEvent)})
    mine = {told.sequence: told for told in (*own, *observed, *rest, *reviews)}
    return sorted(mine.values(), key=lambda told: told.sequence)


async def _of(db: Database, keys: set[str]) -> list[_Told]:
    """All facts of these aggregates."""
    return await _read(
        db,
        "split_part(subject, '.', 5) = ANY (%(keys)s)",
        {"keys": list(keys)},
        lambda event: event.key() in keys,
    )


def _observes(event: Event, post: UUID) -> bool:
    """Whether it tells of somebody's look at the post; what the site says may differ from what the reader said."""
    if not isinstance(event, _OBSERVATIONS):
        return False
    pages = [event.page.post] if isinstance(event, CanonicalFetched) else []
    return post in map(post_id, (event.observation.post, *pages))


async def _read(
    db: Database, where: str, parameters: dict[str, object], wanted: Callable[[Event], bool]
) -> list[_Told]:
    """Facts that the database finds and that are wanted, in pages, because most are not."""
    told: list[_Told] = []
    after, more = 0, True
    while more:
        found = await db.execute(
            f"""SELECT sequence, hash, subject, envelope FROM ledger.fact
            WHERE stream = %(stream)s AND sequence > %(after)s AND erased_by IS NULL
                AND subject NOT LIKE 'errata.v1.erasure.%%' AND ({where})
            ORDER BY sequence LIMIT {PAGE}""".encode(),  # noqa: S608 (our own conditions)
            parameters | {"stream": ERRATA.name, "after": after},
            binary=True,
        )
        rows = await found.fetchall()
        more = len(rows) == PAGE
        for after, hash_, subject, envelope in rows:
            try:
                event = decode(subject, bytes(envelope)).event
            except Undecodable:  # it says nothing that anybody could read
                continue
            if wanted(event):
                told.append(_Told(after, bytes(hash_), bytes(envelope), event))
    return told


def _blobs(told: Iterable[_Told]) -> set[str]:
    return {found.decode() for each in told for found in _BLOB.findall(each.body)}


def _investigations(told: Iterable[_Told]) -> set[UUID]:
    return {found for each in told if (found := getattr(each.event, "investigation_id", None)) is not None}


async def _unused(db: Database, blobs: set[str], but: Sequence[int]) -> list[str]:
    """Those of the blobs that no other fact refers to."""
    found = await db.execute(
        """SELECT name FROM unnest(%s::text[]) name WHERE NOT EXISTS (SELECT FROM ledger.fact f
            WHERE position(convert_to(name, 'UTF8') IN f.envelope) > 0
                AND f.subject NOT LIKE 'errata.v1.erasure.%%' AND NOT (f.stream = %s AND f.sequence = ANY (%s)))""",
        (list(blobs), ERRATA.name, list(but)),
    )
    return sorted(name for (name,) in await found.fetchall())
