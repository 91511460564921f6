"""The read model, built again from the ledger beside the live one, which then gives way in one transaction.

Everything that was ever applied is in the ledger, so no broker is needed, and a rebuild proves the chain as it goes.
The projector may run meanwhile: it waits while the schemas change places, and finds itself in the new one.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

import psycopg

from contracts.topology import ERRATA, VIEWS
from kit.database import LIVE, create_readmodel, open_session
from kit.ordered import Recorded
from services.projector import lookups
from services.projector.chain import GENESIS, Altered, Hole, link
from services.projector.facts import Fact
from services.projector.ports import Texts
from services.projector.prepare import Prepared, erases, parts, prepare
from services.projector.reading import Batch, Refusal, read
from services.projector.search import index_built_at_the_end
from services.projector.store import BY_KEY, LOCK, Store
from services.projector.views import VIEW_RULES, ViewRules

NEXT: Final = "readmodel_next"
OLD: Final = "readmodel_old"
BATCH: Final = 1_000
AHEAD: Final = 2
FEW: Final = 50
POSTS: Final = 5_000

Progress = Callable[[str, int, int], None]
"""Called with a stream, how many facts of it are done, and how many there are."""


def silent(stream: str, done: int, of: int) -> None:
    """Progress that nobody looks at."""


@dataclass(frozen=True, slots=True)
class Link:
    """One fact of the ledger with its place in the chain."""

    record: Recorded
    previous: bytes
    hash: bytes
    erased: bool

    def follows(self, previous: bytes) -> bool:
        """Whether it stands, unaltered, after the fact with this hash; one that lost its body has its place only."""
        fact = self.record
        if self.erased:
            return self.previous == previous and not fact.data
        computed = link(previous, fact.stream, fact.sequence, fact.subject, fact.data)
        return self.previous == previous and self.hash == computed


async def links(
    db: psycopg.AsyncConnection[tuple[Any, ...]], stream: str, after: int
) -> AsyncGenerator[Sequence[Link], None]:
    """A stream of the ledger in its order, as it is, until there is no more."""
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
        yield [Link(Recorded(stream, row[0], row[1], row[2], row[3]), row[4], row[5], row[6]) for row in rows]
        after = rows[-1][0]


async def rebuild(
    url: str,
    texts: Texts,
    *,
    analyses: Sequence[str],
    view_rules: ViewRules = VIEW_RULES,
    progress: Progress = silent,
) -> int:
    """Build the read model anew and put it in the live one's place; the number of facts replayed.

    Raises: chain.LedgerBroken: the ledger has a hole or an altered fact; the live tables stay.
    """
    async with (
        building(url, NEXT, texts, analyses=analyses, view_rules=view_rules, progress=progress) as built,
        built.db.transaction(),
    ):
        await built.db.execute(f"DROP SCHEMA IF EXISTS {OLD} CASCADE")
        await built.db.execute(f"ALTER SCHEMA {LIVE} RENAME TO {OLD}")
        await built.db.execute(f"ALTER SCHEMA {NEXT} RENAME TO {LIVE}")
    async with await open_session(url) as db:
        await db.execute(f"DROP SCHEMA {OLD} CASCADE")
    return built.facts


@dataclass(frozen=True, slots=True)
class Built:
    """A second read model that holds all that was ever applied, and how many facts that were."""

    db: psycopg.AsyncConnection[tuple[Any, ...]]
    facts: int


@asynccontextmanager
async def building(
    url: str,
    schema: str,
    texts: Texts,
    *,
    analyses: Sequence[str],
    view_rules: ViewRules,
    progress: Progress,
) -> AsyncGenerator[Built, None]:
    """Fill a new schema from the ledger; while the context lasts it is as far as the live one, and both stand still.

    Raises: chain.LedgerBroken: see `rebuild`.
    """
    await create_readmodel(url, schema)
    options = f"{BY_KEY} -c search_path={schema},ledger,operator -c synchronous_commit=off"

    async def connect() -> psycopg.AsyncConnection[tuple[Any, ...]]:
        return await open_session(url, options=options)

    store = Store(connect, texts, analyses=analyses, view_rules=view_rules, appends=False)
    store.derives = False
    try:
        db = await store.connection()
        async with index_built_at_the_end(db):
            with _uncollected():
                done = await _replay(store, texts, await connect(), progress)
        await _derive_all(store)
        store.derives = True
        await db.execute("SELECT pg_advisory_lock(%s)", (LOCK,))
        done += await _replay(store, texts, await connect(), progress)
        yield Built(db, done)
        await db.execute("SELECT pg_advisory_unlock(%s)", (LOCK,))
    finally:
        await store.close()


@contextmanager
def _uncollected() -> Iterator[None]:
    """Facts hold no cycles, and looking for some in millions of them takes a fifth of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


async def _replay(
    store: Store, texts: Texts, reader: psycopg.AsyncConnection[tuple[Any, ...]], progress: Progress
) -> int:
    """Apply what the ledger holds beyond the store's positions: first what posts are, then who looked at them."""
    done = 0
    async with reader:
        for stream in (ERRATA.name, VIEWS.name):
            position = await store.position(stream)
            of = await _end(reader, stream)
            async with aclosing(_ahead(_prepared(reader, texts, stream, position))) as batches:
                async for prepared in batches:
                    applied = await store.apply_prepared(prepared)
                    done += len(prepared.batch.records)
                    progress(stream, applied.position, of)
    return done


async def _end(reader: psycopg.AsyncConnection[tuple[Any, ...]], stream: str) -> int:
    found = await reader.execute("SELECT coalesce(max(sequence), 0) FROM ledger.fact WHERE stream = %s", (stream,))
    row = await found.fetchone()
    return row[0] if row else 0


async def _checked(
    reader: psycopg.AsyncConnection[tuple[Any, ...]], stream: str, position: int
) -> AsyncGenerator[Batch, None]:
    """The facts after a position, each proved to be the one that followed the one before."""
    previous = GENESIS
    if position:
        query = "SELECT hash FROM ledger.fact WHERE stream = %s AND sequence = %s"
        row = await (await reader.execute(query, (stream, position), binary=True)).fetchone()
        if row is None:
            raise Hole(stream, position, position + 1)
        previous = row[0]
    expected = position + 1
    skipped = await lookups.skipped(reader, stream)
    async for chunk in links(reader, stream, position):
        for item in chunk:
            if item.record.sequence != expected:
                raise Hole(stream, expected, item.record.sequence)
            if not item.follows(previous):
                raise Altered(stream, expected)
            previous = item.hash
            expected += 1
        yield await _read([item.record for item in chunk], skipped)


async def _read(records: Sequence[Recorded], skipped: Mapping[int, str]) -> Batch:
    """A few at a time: whoever waits for the database meanwhile goes on as soon as it has answered."""
    facts: list[Fact] = []
    ids: dict[int, UUID] = {}
    refusals: list[Refusal] = []
    for start in range(0, len(records), FEW):
        some = read(records[start : start + FEW], skipped)
        facts += some.facts
        ids |= some.ids
        refusals += some.refusals
        await asyncio.sleep(0)
    return Batch(records[0].stream, records, tuple(facts), ids, tuple(refusals))


async def _prepared(
    reader: psycopg.AsyncConnection[tuple[Any, ...]], texts: Texts, stream: str, position: int
) -> AsyncGenerator[Prepared, None]:
    """The same, ready to be written."""
    async for batch in _checked(reader, stream, position):
        for part in parts(batch):
            yield await prepare(reader, part, texts)


async def _ahead(source: AsyncGenerator[Prepared, None]) -> AsyncGenerator[Prepared, None]:
    """The same batches, prepared while earlier ones are being applied, but for what an erasure may change."""
    queue: asyncio.Queue[Prepared | None] = asyncio.Queue(AHEAD)

    async def fill() -> None:
        try:
            async for prepared in source:
                await queue.put(prepared)
                if erases(prepared.batch):
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


async def _derive_all(store: Store) -> None:
    db = await store.connection()
    posts = [id_ for (id_,) in await (await db.execute("SELECT id FROM post")).fetchall()]
    for start in range(0, len(posts), POSTS):
        await store.derive_candidates(posts[start : start + POSTS])
