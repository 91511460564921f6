"""What can be done for a batch before its turn comes: fetching its texts, and reading its transcripts.

None of this needs the place in the log, so a rebuild does it for the next batch while the database writes the last one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from contracts.v1 import ErasureOrdered
from services.projector import lookups, transcripts
from services.projector.audits import Exchange
from services.projector.facts import Fact, has_distant_texts, has_texts
from services.projector.faults import of_a_fact
from services.projector.lookups import Connection
from services.projector.ports import Texts
from services.projector.reading import Batch, lacking, load


@dataclass(frozen=True, slots=True)
class Prepared:
    """A batch with the texts that the tables did not hold, by hash, and the exchanges with models.

    Shapes: `lacking` are the facts whose texts were nowhere when it was prepared; a batch before may bring them.
    `fault`: one of its facts cannot be prepared, and nothing else is there.
    """

    batch: Batch
    texts: Mapping[str, str]
    heard: Mapping[str, Exchange]
    lacking: Sequence[Fact]
    fault: Exception | None = None

    async def joined(self, db: Connection, earlier: Sequence[Fact], texts: Texts) -> Prepared:
        """The same with what facts of earlier batches need, which waited for one of these."""
        known = await lookups.known_texts(db, earlier)
        return replace(
            self,
            texts={**self.texts, **await load(earlier, known, texts)},
            heard={**self.heard, **await transcripts.exchanges(earlier, texts)},
        )


async def prepare(db: Connection, batch: Batch, texts: Texts, *, deaf: bool = False) -> Prepared:
    """Fetch and read. `deaf`: whatever the transcripts say is left out.

    Raises: only what is no fact's fault.
    """
    try:
        return await _prepare(db, batch, texts, deaf=deaf)
    except Exception as error:
        if not of_a_fact(error):
            raise
        return Prepared(batch, {}, {}, (), fault=error)


async def _prepare(db: Connection, batch: Batch, texts: Texts, *, deaf: bool) -> Prepared:
    telling = [fact for fact in batch.facts if has_texts(fact.event)]
    # A text that came with its fact is sent again; to ask whether it is there would cost more.
    known = await lookups.known_texts(db, [fact for fact in telling if has_distant_texts(fact.event)])
    found = await load(telling, known, texts)
    heard = transcripts.unread(batch.facts) if deaf else await transcripts.exchanges(batch.facts, texts)
    return Prepared(batch, found, heard, lacking(telling, known, found))


def parts(batch: Batch) -> Iterator[Batch]:
    """The batch in parts that can be written in one transaction each."""
    for upto in _up_to_erasures(batch):
        yield from transcripts.bounded(upto)


def erases(batch: Batch) -> bool:
    """Whether it ends with an erasure; only when that is done can what follows be prepared."""
    return bool(batch.facts) and isinstance(batch.facts[-1].event, ErasureOrdered)


def _up_to_erasures(batch: Batch) -> Iterator[Batch]:
    """An erasure ends its batch: what it removes must have been written, and what follows must find it gone."""
    start = 0
    ends = {fact.sequence for fact in batch.facts if isinstance(fact.event, ErasureOrdered)}
    for n, record in enumerate(batch.records, 1):
        if record.sequence in ends or n == len(batch.records):
            yield batch.part(start, n) if start or n < len(batch.records) else batch
            start = n
