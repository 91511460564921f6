"""Erases a root: removes the bodies of all its facts from the stream and the ledger, and its blobs.

The erasure is itself a fact, published before anything is removed. It names the sequence and hash of each erased fact,
so the chain can be verified afterwards and a rebuild ends with the same tables. Every step can be repeated: bodies in
the ledger are removed last, and from them a second run finds what the first one left.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol
from uuid import UUID

from pydantic import BaseModel

from contracts.v1 import EntityErasureOrdered, ErasureOrdered
from contracts.v1.erasure import ErasedFact
from contracts.v1.parts import EphemeralRef, ephemeral_place
from services.projector.erasure import audits
from services.projector.erasure.facts import StoredFact
from services.projector.erasure.post import find_open_investigation, read_post
from services.projector.erasure.root import (
    ACCOUNT,
    ASSERTION,
    ENTITIES,
    JOB,
    POST,
    ErasureOrder,
    Root,
)
from services.projector.store.load import Connection

PART: Final = 2_000
POLL_S: Final = 0.05
TIMEOUT_S: Final = 15.0
"""How long the position may stay the same before the erasure fails."""
ANSWERS: Final = "answers"
"""The prefix in the blob store of models' answers that do not expire."""
_BLOB: Final = re.compile(rb'"sha256":"([0-9a-f]{64})"')


class WorkOpen(Exception):
    """Work on the root has not ended; it could still publish facts after the erasure."""


class ProjectorNotRunning(Exception):
    """The projector does not follow the log, so nothing can be removed; a repeated erasure continues."""


class StoredBlob(NamedTuple):
    """An object in the blob store, or a text that expires.

    Shapes: `under` is the object's prefix if it is not the common one, or the text's place. `hour` is when it expires,
    as facts write it, or empty.
    """

    sha256: str
    under: str | None = None
    hour: str = ""


class Eraser(Protocol):
    """What erasing does outside the database."""

    async def order(self, event: ErasureOrder) -> tuple[UUID, int]:
        """Publish the erasure; returns its event id and its sequence."""

    async def erase_messages(self, root: Root, sequences: Sequence[int]) -> None:
        """Remove facts from the stream, with their dead letters and redeliveries; missing ones are no error."""

    async def erase_blob(self, blob: StoredBlob) -> None:
        """Remove an object; a missing one is no error."""

    async def erase_folder(self, place: str) -> None:
        """Remove a folder of models' answers, also those that no fact names because the worker died too early."""


@dataclass(slots=True)
class Erased:
    """What was removed."""

    facts: int = 0
    blobs: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class _Search:
    """How to find the facts of a root. Shapes: `read` takes its id, and a set of the site's ids of it."""

    read: Callable[[Connection, UUID, set[str]], Awaitable[list[StoredFact]]]
    find_open: Callable[[Connection, UUID], Awaitable[str | None]]


_SEARCHES: Final = {
    POST: _Search(read_post, find_open_investigation),
    JOB: _Search(audits.read_job, audits.find_open_job),
    ASSERTION: _Search(audits.read_assertion, audits.find_open_assertion),
    ACCOUNT: _Search(audits.read_account, audits.find_open_account),
}


async def erase(
    db: Connection,
    eraser: Eraser,
    root: Root,
    id_: UUID,
    *,
    reason: str,
    erasure_id: UUID,
    head: int,
    names: Iterable[str] = (),
    timeout_s: float = TIMEOUT_S,
) -> Erased:
    """Erase a root, with facts about it that are published meanwhile.

    `head` is the stream's last sequence. `names` are the site's ids of a post, as far as known: observations hold these
    instead of ours, so without any, every observation is read.

    Raises: WorkOpen, ProjectorNotRunning.
    """
    done, part, known_names = Erased(), 0, set(names)
    search = _SEARCHES[root]
    while True:
        await _wait_for_projection(db, root, head, timeout_s)
        if (under_way := await search.find_open(db, id_)) is not None:
            raise WorkOpen(f"{under_way} has not ended yet; wait for it, then repeat this")
        facts = await search.read(db, id_, known_names)
        if not facts and (part or await _is_erased(db, root, id_)):
            return done
        for start in range(0, max(1, len(facts)), PART):
            part += 1
            some = facts[start : start + PART]
            places = tuple(ErasedFact(sequence=each.sequence, hash=each.hash.hex()) for each in some)
            event_id, head = await eraser.order(_make_order(root, id_, erasure_id, reason, part, places))
            await _wait_for_projection(db, root, head, timeout_s)
            await _flush_to_disk(db)
            sequences = [each.sequence for each in some]
            await eraser.erase_messages(root, sequences)
            for blob in await _find_unused(db, root, _find_blobs(some), sequences):
                await eraser.erase_blob(blob)
                done.blobs.add(blob.sha256)
            for place in _find_answers(some):
                await eraser.erase_folder(place)
            await db.execute(
                "UPDATE ledger.fact SET envelope = '', erased_by = %s WHERE stream = %s AND sequence = ANY (%s)",
                (event_id, root.stream, sequences),
            )
            done.facts += len(some)


async def _wait_for_projection(db: Connection, root: Root, head: int, timeout_s: float) -> None:
    now = asyncio.get_running_loop().time
    position, moved_at = -1, now()
    while True:
        found = await db.execute("SELECT sequence FROM readmodel.position WHERE stream = %s", (root.stream,))
        row = await found.fetchone()
        at = 0 if row is None else row[0]
        if at >= head:
            return
        if at > position:
            position, moved_at = at, now()
        elif now() - moved_at > timeout_s:
            raise ProjectorNotRunning(
                f"the projector stands at {at:,} of {head:,}: start `openerrata up projector`, then repeat this"
            )
        await asyncio.sleep(POLL_S)


async def _is_erased(db: Connection, root: Root, id_: UUID) -> bool:
    query = f"SELECT 1 FROM readmodel.{root.erased} WHERE {root.erased_id} = %s"  # noqa: S608 (our names)
    found = await db.execute(query.encode(), (id_,))
    return await found.fetchone() is not None


async def _flush_to_disk(db: Connection) -> None:
    """Commit synchronously, which also flushes the projector's earlier commits: these do not wait for the disk."""
    async with db.transaction():
        await db.execute("SET LOCAL synchronous_commit = on")
        await db.execute("SELECT pg_current_xact_id()")


def _make_order(
    root: Root, id_: UUID, erasure_id: UUID, reason: str, part: int, facts: tuple[ErasedFact, ...]
) -> ErasureOrder:
    if root is POST:
        return ErasureOrdered(erasure_id=erasure_id, post_id=id_, reason=reason, part=part, facts=facts)
    type_ = next(type_ for type_, entity in ENTITIES.items() if entity is root)
    return EntityErasureOrdered(
        erasure_id=erasure_id, entity_id=id_, entity_type=type_, reason=reason, part=part, facts=facts
    )


def _find_blobs(facts: Iterable[StoredFact]) -> set[StoredBlob]:
    """The blobs that facts name: expiring texts by their hour, all others by their hash in the blob store."""
    found = {
        StoredBlob(ref.sha256, ref.place, f"{ref.until:%Y-%m-%dT%H}:00:00")
        for each in facts
        for ref in find_ephemeral(each.event)
    }
    expiring = {blob.sha256 for blob in found}
    named = {sha256.decode() for each in facts for sha256 in _BLOB.findall(each.body)}
    return found | {StoredBlob(sha256) for sha256 in named - expiring}


def find_ephemeral(value: object) -> Iterator[EphemeralRef]:
    """The texts that expire anywhere in an event."""
    if isinstance(value, EphemeralRef):
        yield value
    elif isinstance(value, BaseModel):
        for each in vars(value).values():
            yield from find_ephemeral(each)
    elif isinstance(value, tuple):
        for each in value:
            yield from find_ephemeral(each)


def _find_answers(facts: Iterable[StoredFact]) -> set[str]:
    """The folders of models' answers: of an investigation, or of a run whose texts expire."""
    found = set()
    for each in facts:
        if (investigation := getattr(each.event, "investigation_id", None)) is not None:
            found.add(f"{ANSWERS}/{investigation}")
        for ref in find_ephemeral(each.event):
            if ref.answers is not None:
                found.add(ephemeral_place(ref.until, ref.answers.partition("/")[0]))
    return found


async def _find_unused(db: Connection, root: Root, blobs: set[StoredBlob], but: Sequence[int]) -> list[StoredBlob]:
    """The blobs that no other fact refers to; for an expiring text, with the same hour."""
    given = sorted(blobs, key=lambda blob: (blob.sha256, blob.hour))
    found = await db.execute(
        """SELECT place FROM unnest(%s::text[], %s::text[]) WITH ORDINALITY blob(name, hour, place)
        WHERE NOT EXISTS (SELECT FROM ledger.fact f
            WHERE position(convert_to(name, 'UTF8') IN f.envelope) > 0
                AND position(convert_to(hour, 'UTF8') IN f.envelope) > 0
                AND f.subject NOT LIKE ALL (ARRAY['errata.v1.erasure.%%', 'errata.v1.entity_erasure.%%'])
                AND NOT (f.stream = %s AND f.sequence = ANY (%s)))
        ORDER BY place""",
        ([blob.sha256 for blob in given], [blob.hour for blob in given], root.stream, list(but)),
    )
    return [given[place - 1] for (place,) in await found.fetchall()]
