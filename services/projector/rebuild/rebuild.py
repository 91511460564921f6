"""Rebuilds the read model from the ledger in a new schema, which replaces the live one in one transaction.

The ledger has everything that was ever applied, so no broker is needed; a rebuild verifies the hash chain. The
projector may run meanwhile: it waits while the schemas are exchanged, and continues in the new one.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from psycopg.errors import LockNotAvailable

from kit.database import LIVE, create_readmodel, open_session
from kit.ordered import StoredMessage
from services.projector.facts.fact import Fact
from services.projector.facts.reading import Batch, read
from services.projector.ledger.chain import GENESIS, Altered, Hole
from services.projector.ledger.links import read_links
from services.projector.ports import Texts
from services.projector.projections.views import VIEW_RULES, ViewRules
from services.projector.rows.log import Refusal
from services.projector.store import candidates, lookups
from services.projector.store.load import Connection
from services.projector.store.prepare import Prepared, ends_with_erasure, prepare, split
from services.projector.store.projection import Projection, projections
from services.projector.store.record import index_built_at_the_end
from services.projector.store.store import KEY_LOOKUP_OPTIONS, Store

NEXT: Final = "readmodel_next"
OLD: Final = "readmodel_old"
PREFETCHED_BATCHES: Final = 2
DECODED_AT_ONCE: Final = 50
POSTS: Final = 5_000
DROP_RETRY_S: Final = 0.1

Progress = Callable[[str, int, int], None]
"""Called with a stream, how many facts of it are done, and how many there are."""


def ignore_progress(stream: str, done: int, of: int) -> None:
    """Show nothing."""


async def rebuild(
    url: str,
    texts: Texts,
    *,
    analyses: Sequence[str],
    view_rules: ViewRules = VIEW_RULES,
    progress: Progress = ignore_progress,
) -> int:
    """Rebuild the read model and replace the live one; returns the number of facts replayed.

    Raises: chain.LedgerBroken: the ledger has a hole or an altered fact; the live tables stay.
    """
    async with (
        build_beside(url, NEXT, texts, analyses=analyses, view_rules=view_rules, progress=progress) as built,
        built.db.transaction(),
    ):
        await built.db.execute(f"DROP SCHEMA IF EXISTS {OLD} CASCADE")
        await built.db.execute(f"ALTER SCHEMA {LIVE} RENAME TO {OLD}")
        await built.db.execute(f"ALTER SCHEMA {NEXT} RENAME TO {LIVE}")
        await built.db.execute("SELECT log.mark_lookups()")
    await _drop_old(url)
    return built.facts


async def _drop_old(url: str) -> None:
    """Drop the replaced tables; a session that still reads them comes first."""
    async with await open_session(url) as db:
        while True:
            try:
                async with db.transaction():
                    # Less than deadlock_timeout: the server would end a deadlock with an error for either side.
                    await db.execute("SET LOCAL lock_timeout = '300ms'")
                    await db.execute(f"DROP SCHEMA {OLD} CASCADE")
                return
            except LockNotAvailable:
                await asyncio.sleep(DROP_RETRY_S)


@dataclass(frozen=True, slots=True)
class Built:
    """A second read model at the position of the live one, and the number of facts applied to it."""

    db: Connection
    facts: int


@asynccontextmanager
async def build_beside(
    url: str,
    schema: str,
    texts: Texts,
    *,
    analyses: Sequence[str],
    view_rules: ViewRules,
    progress: Progress,
) -> AsyncGenerator[Built, None]:
    """Fill a new schema from the ledger; in the context it is at the live one's position, and neither moves.

    Raises: chain.LedgerBroken: see `rebuild`.
    """
    await create_readmodel(url, schema)
    options = f"{KEY_LOOKUP_OPTIONS} -c search_path={schema},ledger,operator -c synchronous_commit=off"

    async def connect() -> Connection:
        return await open_session(url, options=options)

    streams = projections(analyses, view_rules)
    store = Store(connect, texts, streams, appends=False)
    store.selectable = False
    try:
        db = await store.connection()
        async with index_built_at_the_end(db):
            with _pause_garbage_collection():
                done = await _replay(store, streams, texts, await connect(), progress)
        await _derive_candidates(db, analyses)
        store.selectable = True
        locks = sorted({stream.lock for stream in streams})
        for lock in locks:
            await db.execute("SELECT pg_advisory_lock(%s)", (lock,))
        done += await _replay(store, streams, texts, await connect(), progress)
        yield Built(db, done)
        for lock in locks:
            await db.execute("SELECT pg_advisory_unlock(%s)", (lock,))
    finally:
        await store.close()


@contextmanager
def _pause_garbage_collection() -> Iterator[None]:
    """Facts have no reference cycles, and to search millions of them would take a fifth of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


async def _replay(
    store: Store, projections: Iterable[Projection], texts: Texts, reader: Connection, progress: Progress
) -> int:
    """Apply the ledger's facts beyond the store's positions, one stream after another; how many there were."""
    done = 0
    async with reader:
        for stream in (projection.stream for projection in projections):
            position = await store.position(stream)
            of = await _read_end(reader, stream)
            async with aclosing(_prefetch(_prepare_batches(reader, texts, stream, position))) as batches:
                async for prepared in batches:
                    applied = await store.apply_prepared(prepared)
                    done += len(prepared.batch.records)
                    progress(stream, applied.position, of)
    return done


async def _read_end(reader: Connection, stream: str) -> int:
    found = await reader.execute("SELECT coalesce(max(sequence), 0) FROM ledger.fact WHERE stream = %s", (stream,))
    row = await found.fetchone()
    return row[0] if row else 0


async def _read_verified(reader: Connection, stream: str, position: int) -> AsyncGenerator[Batch, None]:
    """The facts after a position; the hash chain is verified."""
    previous = GENESIS
    if position:
        query = "SELECT hash FROM ledger.fact WHERE stream = %s AND sequence = %s"
        row = await (await reader.execute(query, (stream, position), binary=True)).fetchone()
        if row is None:
            raise Hole(stream, position, position + 1)
        previous = row[0]
    expected = position + 1
    skipped = await lookups.skipped(reader, stream)
    async for chunk in read_links(reader, stream, position):
        for item in chunk:
            if item.record.sequence != expected:
                raise Hole(stream, expected, item.record.sequence)
            if not item.follows(previous):
                raise Altered(stream, expected)
            previous = item.hash
            expected += 1
        yield await _read([item.record for item in chunk], skipped)


async def _read(records: Sequence[StoredMessage], skipped: Mapping[int, str]) -> Batch:
    """Decode in small groups, so that other tasks continue in between."""
    facts: list[Fact] = []
    ids: dict[int, UUID] = {}
    refusals: list[Refusal] = []
    for start in range(0, len(records), DECODED_AT_ONCE):
        some = read(records[start : start + DECODED_AT_ONCE], skipped)
        facts += some.facts
        ids |= some.ids
        refusals += some.refusals
        await asyncio.sleep(0)
    return Batch(records[0].stream, records, tuple(facts), ids, tuple(refusals))


async def _prepare_batches(
    reader: Connection, texts: Texts, stream: str, position: int
) -> AsyncGenerator[Prepared, None]:
    """Prepare the ledger's facts after a position, in parts that fit one transaction each."""
    async for batch in _read_verified(reader, stream, position):
        for part in split(batch):
            yield await prepare(reader, part, texts)


async def _prefetch(source: AsyncGenerator[Prepared, None]) -> AsyncGenerator[Prepared, None]:
    """Prepare batches while earlier ones are applied, except across an erasure."""
    queue: asyncio.Queue[Prepared | None] = asyncio.Queue(PREFETCHED_BATCHES)

    async def fill() -> None:
        try:
            async for prepared in source:
                await queue.put(prepared)
                if ends_with_erasure(prepared.batch):
                    await queue.join()
        finally:
            await queue.put(None)

    filling = asyncio.create_task(fill())
    try:
        while (prepared := await queue.get()) is not None:
            yield prepared
            queue.task_done()
        await filling
    finally:
        filling.cancel()


async def _derive_candidates(db: Connection, analyses: Sequence[str]) -> None:
    posts = [id_ for (id_,) in await (await db.execute("SELECT id FROM post")).fetchall()]
    for start in range(0, len(posts), POSTS):
        async with db.transaction():
            await candidates.derive(db, posts[start : start + POSTS], (), analyses)
