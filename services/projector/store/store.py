"""Applies a batch in one transaction: rows, ledger and position.

The lock is taken by a statement of its own, so that later statements use the schema that a rebuild may just have put in
place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

import psycopg
import structlog

from contracts.v1 import EntityErasureOrdered, ErasureOrdered, PostHinted, PostViewed
from services.projector.erasure import tables as erasure
from services.projector.facts.fact import Fact
from services.projector.facts.faults import is_fault_of_fact
from services.projector.facts.reading import Batch, make_refusal
from services.projector.ledger import append as ledger
from services.projector.ledger.chain import Hole
from services.projector.ports import Texts
from services.projector.projections.material import Material
from services.projector.rows.log import REFUSALS, Outcome, Refusal
from services.projector.rows.table import Tables
from services.projector.store import lookups
from services.projector.store.load import Connection
from services.projector.store.one_by_one import apply_one_by_one
from services.projector.store.prepare import Prepared, prepare, split
from services.projector.store.projection import Projection
from services.projector.store.transaction import BatchStart, Transaction

Connect = Callable[[], Awaitable[Connection]]

CLAIM: Final = 0x70726F6B
KEY_LOOKUP_OPTIONS: Final = (
    "-c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c enable_hashjoin=off -c enable_mergejoin=off "
    "-c random_page_cost=1 -c synchronous_commit=off"
)
"""Options of a store's connection. Everything here is found by its key, so plans are made once; one made while the
tables were empty must not be a scan that is kept when they have grown. The log is the truth and the position stands in
the same transaction: what a crash of the database takes back is applied again, so no commit waits for the disk."""
KEEPALIVE_OPTIONS: Final = "-c tcp_keepalives_idle=5 -c tcp_keepalives_interval=2 -c tcp_keepalives_count=3"
"""A claim lasts as long as its session. Without keepalives the database would notice a lost machine after hours."""
_SET_POSITION: Final = """INSERT INTO position VALUES (%s, %s)
    ON CONFLICT (stream) DO UPDATE SET sequence = excluded.sequence"""
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Applied:
    """The stream's position after a batch, and how many of its messages had each outcome."""

    position: int
    outcomes: Counter[Outcome] = field(default_factory=Counter)


class Store:
    """The read model as one stream's projector writes it, over one connection; a rebuild writes all streams with it."""

    def __init__(
        self, connect: Connect, texts: Texts, projections: Iterable[Projection], *, appends: bool = True
    ) -> None:
        """`appends`: facts are new to the ledger; a rebuild takes them from there."""
        self._connect = connect
        self._texts = texts
        self._projections = {projection.stream: projection for projection in projections}
        self._appends = appends
        self.selectable = True
        """Whether the selector's candidates are updated with every batch, or derived later, all at once."""
        self._connection: Connection | None = None

    async def connection(self) -> Connection:
        """The connection, opened again if it was lost."""
        if self._connection is None or self._connection.closed:
            self._connection = await self._connect()
        return self._connection

    async def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            await self._connection.close()
            self._connection = None

    async def claim(self, stream: str) -> bool:
        """Claim the stream for this session, until it ends; whether this session alone may now apply its facts.

        A follower that loses the session fails at the next statement, and claims again before it reads its position.
        """
        db = await self.connection()
        query = "SELECT pg_try_advisory_lock(%s, hashtext(current_schema() || ' ' || %s))"
        row = await (await db.execute(query, (CLAIM, stream))).fetchone()
        return row is not None and bool(row[0])

    async def position(self, stream: str) -> int:
        """The last sequence of the stream that the tables hold."""
        db = await self.connection()
        row = await (await db.execute("SELECT sequence FROM position WHERE stream = %s", (stream,))).fetchone()
        return row[0] if row else 0

    async def skipped(self, stream: str) -> dict[int, str]:
        """The messages of the stream that an operator has skipped: the reason, by sequence."""
        return await lookups.skipped(await self.connection(), stream)

    async def find_stream_to_wait_for(self, batch: Batch) -> str | None:
        """The stream that has to catch up first, because the batch names versions or posts that are not stored yet."""
        other = self._projections[batch.stream].after
        versions = {fact.event.version_id for fact in batch.facts if isinstance(fact.event, PostViewed)}
        hinted = {fact.event.post_id for fact in batch.facts if isinstance(fact.event, PostHinted)}
        return None if other is None or await self._knows(versions, hinted) else other

    async def apply(self, batch: Batch) -> Applied:
        """Apply messages of one stream that follow each other; those already applied are skipped.

        Raises: chain.LedgerBroken: one is missing, or is not what the ledger says it was.
        """
        outcomes: Counter[Outcome] = Counter()
        position = 0
        for part in split(batch):
            applied = await self.apply_prepared(await prepare(await self.connection(), part, self._texts))
            position = applied.position
            outcomes += applied.outcomes
        return Applied(position, outcomes)

    async def apply_prepared(self, prepared: Prepared) -> Applied:
        """Apply one part of a batch; if a fact is at fault for an error, apply the others."""
        try:
            return await self._apply(prepared)
        except Exception as error:
            if not is_fault_of_fact(error):
                raise
        return await self._apply_without_fault(prepared.batch)

    async def _knows(self, versions: set[UUID], posts: set[UUID]) -> bool:
        db = await self.connection()
        found = await db.execute(
            """SELECT (SELECT count(*) FROM post_version WHERE id = ANY (%s))
                + (SELECT count(*) FROM post WHERE id = ANY (%s))""",
            (list(versions), list(posts)),
        )
        row = await found.fetchone()
        return row is not None and row[0] == len(versions) + len(posts)

    async def _apply_without_fault(self, batch: Batch) -> Applied:
        """Find the fact that fails by bisection, and leave it out."""
        db = await self.connection()
        size = len(batch.records)
        if size == 1:
            return await self._apply(Prepared(batch, Material(), ()), singly=True)
        head = await self.apply_prepared(await prepare(db, batch.part(0, size // 2), self._texts))
        tail = await self.apply_prepared(await prepare(db, batch.part(size // 2, size), self._texts))
        return Applied(tail.position, head.outcomes + tail.outcomes)

    async def _apply(self, prepared: Prepared, *, singly: bool = False) -> Applied:
        """Apply a batch, or none of it if there is an error. `singly`: each fact is applied or refused by itself."""
        if prepared.fault is not None:
            raise prepared.fault
        db = await self.connection()
        projection = self._projections[prepared.batch.stream]
        transaction = Transaction(db, projection, self._texts, selectable=self.selectable)
        try:
            return await self._apply_whole(transaction, prepared, singly)
        except BaseException:
            await _roll_back(db)
            raise

    async def _apply_whole(self, transaction: Transaction, prepared: Prepared, singly: bool) -> Applied:
        """Apply a batch in one transaction: BEGIN is pipelined with the first queries, COMMIT with the rows."""
        db, batch = transaction.db, prepared.batch
        begun = await transaction.begin(batch)
        start = next((n for n, record in enumerate(batch.records) if record.sequence > begun.position), None)
        if start is None:
            await db.execute("COMMIT")
            return Applied(begun.position)
        if start:
            batch = batch.part(start, len(batch.records))
        _expect_no_hole(batch, begun.position)
        fresh = await ledger.make_entries(db, batch, begun.hash, begun.ledger_end) if self._appends else []
        outcomes: Counter[Outcome] = Counter()
        outcomes["erased"] = sum(not record.data for record in batch.records)
        refusals = list(batch.refusals)
        facts = await _select_applicable(transaction, prepared, batch, begun, outcomes, refusals)
        last = facts[-1] if facts and not singly else None
        tables = begun.tables
        if singly:
            tables = Tables()
            refusals += await apply_one_by_one(transaction, facts, outcomes)
        else:
            waiting = await lookups.waiting(db, batch.stream, facts) if begun.has_parked else {}
            if waiting:
                tables = await transaction.load(facts, waiting)
            await transaction.fold(tables, prepared, facts, outcomes, waiting)
        for refusal in refusals:
            tables[REFUSALS].add(refusal)
            outcomes[refusal.outcome] += 1
        order = (
            last.event if last is not None and isinstance(last.event, ErasureOrdered | EntityErasureOrdered) else None
        )
        async with db.pipeline():
            if fresh:
                await ledger.append(db, fresh)
            await transaction.write(tables)
            await db.execute(_SET_POSITION, (batch.stream, batch.records[-1].sequence))
            if order is None:
                await db.execute("COMMIT")
        if last is not None and order is not None:
            await erasure.erase(db, last, order)
            await db.execute("COMMIT")
        return Applied(batch.records[-1].sequence, +outcomes)


async def _select_applicable(
    transaction: Transaction,
    prepared: Prepared,
    batch: Batch,
    begun: BatchStart,
    outcomes: Counter[Outcome],
    refusals: list[Refusal],
) -> list[Fact]:
    """The facts that are new, about nothing erased, and have their texts; the others are counted by outcome."""
    without_text = await transaction.without_text(prepared)
    roots = transaction.projection.roots
    erased_sequences = await erasure.find_erased(transaction.db, roots, batch.facts) if begun.has_erased else set()
    facts: list[Fact] = []
    seen: set[UUID] = set()
    for fact in batch.facts:
        if fact.id in seen or fact.sequence > begun.repeated.get(fact.id, fact.sequence):
            outcomes["duplicate"] += 1
        elif fact.sequence in erased_sequences:
            outcomes["forgotten"] += 1
        elif (lost := without_text.get(fact.sequence)) is not None:
            log.error("text of a fact is gone", stream=batch.stream, sequence=fact.sequence)
            refusals.append(make_refusal(batch.stream, fact, "textless", lost))
        else:
            facts.append(fact)
        seen.add(fact.id)
    return facts


async def _roll_back(db: Connection) -> None:
    """Roll back; close the connection if that fails."""
    try:
        await db.rollback()
    except psycopg.Error:
        await db.close()


def _expect_no_hole(batch: Batch, position: int) -> None:
    for expected, record in enumerate(batch.records, position + 1):
        if record.sequence != expected:
            raise Hole(batch.stream, expected, record.sequence)
