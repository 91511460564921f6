"""What happens between the beginning and the end of one transaction of a stream: load, fold, write."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from uuid import UUID

from services.projector.facts.arrange import arrange
from services.projector.facts.fact import Fact, Need
from services.projector.facts.reading import Batch, find_missing
from services.projector.ports import Texts
from services.projector.rows.log import PARKED, REFUSALS, Outcome, Parked
from services.projector.rows.table import RowKey, Tables
from services.projector.store import lookups
from services.projector.store.load import Connection, load, start_load
from services.projector.store.prepare import Prepared
from services.projector.store.projection import Projection
from services.projector.store.write import write

Waiting = Mapping[Need, Sequence[Fact]]


@dataclass(frozen=True, slots=True)
class BatchStart:
    """The position of the projection, and the rows that the batch is about.

    Shapes: `repeated` has the first sequence of each event that the ledger holds already.
    """

    position: int
    hash: bytes | None
    ledger_end: int
    has_parked: bool
    has_erased: bool
    repeated: dict[UUID, int]
    tables: Tables


class Transaction:
    """Applies facts of one stream to its tables, over a connection in a transaction."""

    def __init__(self, db: Connection, projection: Projection, texts: Texts, *, selectable: bool) -> None:
        """`selectable`: the selector's candidates are updated."""
        self.db = db
        self.projection = projection
        self.texts = texts
        self._selectable = selectable

    async def begin(self, batch: Batch) -> BatchStart:
        """Begin, lock, then read the position and load the rows that the batch is about."""
        db, erased = self.db, self.projection.roots[0].erased
        async with db.pipeline():
            await db.execute("BEGIN")
            await db.execute("SELECT pg_advisory_xact_lock(%s)", (self.projection.lock,))
            place = await db.execute(
                f"""SELECT coalesce(p.sequence, 0), f.hash,
                    coalesce((SELECT max(sequence) FROM ledger.fact WHERE stream = given.stream), 0),
                    EXISTS (SELECT FROM parked WHERE stream = given.stream), EXISTS (SELECT FROM {erased})
                FROM (SELECT %(stream)s::text) given(stream)
                LEFT JOIN position p USING (stream)
                LEFT JOIN LATERAL (SELECT hash FROM ledger.fact
                    WHERE stream = p.stream AND sequence = p.sequence OFFSET 0) f ON true""".encode(),  # noqa: S608 (our names)
                {"stream": batch.stream},
                binary=True,
            )
            repeated = await db.execute(
                # OFFSET 0 keeps the planner to the index of events: by sequence it would read every earlier fact.
                """SELECT event_id, min(sequence)
                FROM (SELECT event_id, stream, sequence FROM ledger.fact WHERE event_id = ANY (%b) OFFSET 0) known
                WHERE stream = %b AND sequence < %b GROUP BY event_id""",
                (list(batch.ids.values()), batch.stream, batch.records[-1].sequence),
                binary=True,
            )
            pending = await start_load(db, self._row_keys(batch.facts))
        row = await place.fetchone()
        assert row is not None
        position, hash_, ledger_end, has_parked, has_erased = row
        first: dict[UUID, int] = dict(await repeated.fetchall())
        return BatchStart(position, hash_, ledger_end, has_parked, has_erased, first, await pending.finish())

    async def without_text(self, prepared: Prepared) -> dict[int, str]:
        """Which text a fact lacks, by sequence; a text may have come since the fact was prepared."""
        if not prepared.lacking:
            return {}
        known = await lookups.known_texts(self.db, prepared.lacking)
        return {
            fact.sequence: f"the text {lost} is not in the blob store"
            for fact in prepared.lacking
            if (lost := next(find_missing(fact, known, prepared.material.texts), None))
        }

    async def load(self, facts: Sequence[Fact], waiting: Waiting | None = None) -> Tables:
        """The rows that facts are about, and those parked earlier that they may release."""
        stream, waiting = self.projection.stream, waiting or {}
        parked = [(fact, need) for need, facts_ in waiting.items() for fact in facts_]
        rows = [Parked(stream, fact.sequence, str(need)) for fact, need in parked]
        keys = self._row_keys([*facts, *(fact for fact, _ in parked)])
        return await load(self.db, keys, {PARKED: rows})

    async def fold(
        self,
        tables: Tables,
        prepared: Prepared,
        facts: Sequence[Fact],
        outcomes: Counter[Outcome],
        waiting: Waiting | None = None,
    ) -> None:
        """Apply facts to the rows, each after what it needs; one that has to wait is parked."""
        stream = self.projection.stream
        arranged = arrange(facts, self.projection.find_met_needs(tables), waiting or {})
        if arranged.released:
            prepared = await prepared.add_released(self.db, arranged.released, self.texts)
        unknown = self.projection.fold(tables, arranged.ordered, prepared.material)
        for fact in arranged.released:
            tables[PARKED].remove((stream, fact.sequence))
        for fact, need in arranged.parked:
            tables[PARKED].put(Parked(stream, fact.sequence, str(need)))
        outcomes["parked"] += len(arranged.parked)
        outcomes["released"] += len(arranged.released)
        outcomes["unknown"] += unknown
        outcomes["applied"] += len(arranged.ordered) - len(arranged.released) - unknown

    async def write(self, tables: Tables) -> None:
        """Write the rows and what follows from them."""
        await write(self.db, tables, (PARKED, REFUSALS, *self.projection.tables))
        await self.projection.derive(self.db, tables, self._selectable)

    def _row_keys(self, facts: Iterable[Fact]) -> Iterator[RowKey]:
        return chain.from_iterable(map(self.projection.find_row_keys, facts))
