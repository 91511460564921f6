"""From stored messages to facts, and to the texts those facts refer to.

A message that cannot be read, or whose text is gone for good, is left out here and stops nothing: one bad fact must not
hide all that come after it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from uuid import UUID

import structlog

from contracts.v1 import Undecodable, decode
from contracts.v1.parts import TextRef
from kit.ordered import Recorded
from services.projector.facts import Fact, contents, pages, snapshots
from services.projector.ports import Texts

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Batch:
    """Messages of one stream in their order, and those of them that are facts.

    Shapes: `ids` has the event id of every message that could be decoded, by sequence.
    """

    stream: str
    records: Sequence[Recorded]
    facts: tuple[Fact, ...]
    ids: Mapping[int, UUID]

    def part(self, start: int, end: int) -> Batch:
        """The messages from `start` up to, but without, `end`."""
        records = self.records[start:end]
        inside = {record.sequence for record in records}
        return Batch(
            self.stream,
            records,
            tuple(fact for fact in self.facts if fact.sequence in inside),
            {sequence: id_ for sequence, id_ in self.ids.items() if sequence in inside},
        )

    def without(self, sequences: Iterable[int]) -> Batch:
        """The same messages, but those of `sequences` mean nothing."""
        left_out = set(sequences)
        return Batch(
            self.stream,
            self.records,
            tuple(fact for fact in self.facts if fact.sequence not in left_out),
            self.ids,
        )


def read(records: Sequence[Recorded]) -> Batch:
    """Decode messages of one stream; those that are no facts stay among the records."""
    facts: list[Fact] = []
    for record in records:
        if not record.data:  # an erasure took its body
            continue
        try:
            facts.append(read_one(record))
        except Undecodable as error:
            log.error("undecodable fact", stream=record.stream, sequence=record.sequence, error=str(error))
    return Batch(records[0].stream, records, tuple(facts), {fact.sequence: fact.id for fact in facts})


def read_one(record: Recorded) -> Fact:
    """Decode one message. Raises: Undecodable."""
    envelope = decode(record.subject, record.data)
    at = envelope.occurred_at
    at = at if at.tzinfo is UTC else at.astimezone(UTC)
    return Fact(record.sequence, envelope.id, at, envelope.correlation, envelope.event)


def stored(facts: Iterable[Fact]) -> dict[str, TextRef]:
    """The texts that have a row of their own, by hash."""
    return {ref.sha256: ref for fact in facts for refs in (contents, pages) for ref in refs(fact.event)}


async def load(facts: Sequence[Fact], known: Iterable[str], texts: Texts) -> dict[str, str]:
    """Every text the facts refer to, except the `known` ones; one that is gone for good is not among them."""
    skipped = set(known)
    wanted = {hash_: ref for hash_, ref in stored(facts).items() if hash_ not in skipped}
    wanted |= {ref.sha256: ref for fact in facts for ref in snapshots(fact.event)}
    loaded = {hash_: ref.inline for hash_, ref in wanted.items() if ref.inline is not None}
    distant = [ref for hash_, ref in wanted.items() if hash_ not in loaded]
    return loaded | await texts.fetch(distant) if distant else loaded


def lacking(facts: Iterable[Fact], known: Iterable[str], loaded: Mapping[str, str]) -> list[Fact]:
    """The facts whose texts are neither known nor loaded."""
    there = set(known).union(loaded)
    return [
        fact
        for fact in facts
        if any(ref.sha256 not in there for refs in (contents, pages, snapshots) for ref in refs(fact.event))
    ]
