"""Prepares a batch before it is applied: fetches its texts and reads its transcripts.

This does not depend on the position, so a rebuild does it for the next batch while the database writes the last one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from services.projector.erasure.root import ERASURES
from services.projector.facts.fact import Fact, has_distant_texts, has_texts
from services.projector.facts.faults import is_fault_of_fact
from services.projector.facts.reading import Batch, fetch_words, find_lacking, load
from services.projector.ports import Texts
from services.projector.projections.material import Material
from services.projector.store import lookups
from services.projector.store.load import Connection
from services.projector.transcripts import fetch as transcripts


@dataclass(frozen=True, slots=True)
class Prepared:
    """A batch with the texts that the tables did not hold, by hash, and the exchanges with models.

    Shapes: `lacking` are the facts whose texts were not found when it was prepared; an earlier batch may bring them.
    `fault` is the error of a fact that cannot be prepared; the rest is empty then.
    """

    batch: Batch
    material: Material
    lacking: Sequence[Fact]
    fault: Exception | None = None

    async def add_released(self, db: Connection, earlier: Sequence[Fact], texts: Texts) -> Prepared:
        """The same batch with the texts of parked facts, from earlier batches, that it releases."""
        known = await lookups.known_texts(db, earlier)
        return replace(
            self,
            material=Material(
                {**self.material.texts, **await load(earlier, known, texts)},
                {**self.material.exchanges, **await transcripts.fetch_exchanges(earlier, texts)},
                {**self.material.words, **await fetch_words(earlier, texts)},
            ),
        )


async def prepare(db: Connection, batch: Batch, texts: Texts, *, skip_transcripts: bool = False) -> Prepared:
    """Fetch a batch's texts and read its transcripts; `skip_transcripts`: mark these as unreadable instead.

    Raises: only errors that are not caused by a fact.
    """
    try:
        return await _prepare(db, batch, texts, skip_transcripts=skip_transcripts)
    except Exception as error:
        if not is_fault_of_fact(error):
            raise
        return Prepared(batch, Material(), (), fault=error)


async def _prepare(db: Connection, batch: Batch, texts: Texts, *, skip_transcripts: bool) -> Prepared:
    with_texts = [fact for fact in batch.facts if has_texts(fact.event)]
    # An inline text is written again: looking it up would cost more.
    known = await lookups.known_texts(db, [fact for fact in with_texts if has_distant_texts(fact.event)])
    found = await load(with_texts, known, texts)
    exchanges = (
        transcripts.mark_unreadable(batch.facts)
        if skip_transcripts
        else await transcripts.fetch_exchanges(batch.facts, texts)
    )
    words = await fetch_words(batch.facts, texts)
    return Prepared(batch, Material(found, exchanges, words), find_lacking(with_texts, known, found))


def split(batch: Batch) -> Iterator[Batch]:
    """The batch in parts that can be written in one transaction each."""
    for upto in _split_at_erasures(batch):
        yield from transcripts.split_by_size(upto)


def ends_with_erasure(batch: Batch) -> bool:
    """Whether a batch ends with an erasure, which must be applied before the next batch is prepared."""
    return bool(batch.facts) and isinstance(batch.facts[-1].event, ERASURES)


def _split_at_erasures(batch: Batch) -> Iterator[Batch]:
    """An erasure ends its batch: what it removes must have been written, and what follows must find it gone."""
    start = 0
    ends = {fact.sequence for fact in batch.facts if isinstance(fact.event, ERASURES)}
    for n, record in enumerate(batch.records, 1):
        if record.sequence in ends or n == len(batch.records):
            yield batch.part(start, n) if start or n < len(batch.records) else batch
            start = n
