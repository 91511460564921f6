"""From stored messages to facts, and to the texts those facts refer to.

A message that cannot be read, or whose text is gone for good, is left out here and stops nothing: one bad fact must not
hide all that come after it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import UTC
from typing import Literal
from uuid import UUID

import structlog

from contracts.v1 import Undecodable, decode
from contracts.v1.parts import TextRef
from kit.ordered import Recorded
from services.projector.facts import Fact, contents, pages, snapshots
from services.projector.faults import of_a_fact, reason
from services.projector.ports import Texts

log = structlog.get_logger(__name__)


Outcome = Literal["refused", "undecodable", "textless", "skipped"]


@dataclass(frozen=True, slots=True)
class Refusal:
    """A stored message that is not in the tables, and why: one row of `refused_fact`.

    Shapes: `skipped` was left out by an operator, `textless` names a text that the blob store does not have.
    """

    stream: str
    sequence: int
    subject: str
    outcome: Outcome
    reason: str


@dataclass(frozen=True, slots=True)
class Batch:
    """Messages of one stream in their order, and those of them that are facts.

    Shapes: `ids` has the event id of every message that could be decoded, by sequence. `refusals` are of messages that
    are not among the facts.
    """

    stream: str
    records: Sequence[Recorded]
    facts: tuple[Fact, ...]
    ids: Mapping[int, UUID]
    refusals: tuple[Refusal, ...] = ()

    def part(self, start: int, end: int) -> Batch:
        """The messages from `start` up to, but without, `end`."""
        records = self.records[start:end]
        inside = {record.sequence for record in records}
        return Batch(
            self.stream,
            records,
            tuple(fact for fact in self.facts if fact.sequence in inside),
            {sequence: id_ for sequence, id_ in self.ids.items() if sequence in inside},
            tuple(refusal for refusal in self.refusals if refusal.sequence in inside),
        )


def read(records: Sequence[Recorded], skipped: Mapping[int, str] | None = None) -> Batch:
    """Decode messages of one stream; those that are no facts stay among the records.

    Shapes: `skipped` has an operator's reason by sequence; these are not even decoded.
    """
    facts: list[Fact] = []
    refusals: list[Refusal] = []
    for record in records:
        if not record.data:  # an erasure took its body
            continue
        if skipped and record.sequence in skipped:
            refusals.append(
                Refusal(record.stream, record.sequence, record.subject, "skipped", skipped[record.sequence])
            )
            continue
        try:
            facts.append(read_one(record))
        except Undecodable as error:
            refusals.append(Refusal(record.stream, record.sequence, record.subject, "undecodable", reason(error)))
            log.error("undecodable fact", stream=record.stream, sequence=record.sequence, error=str(error))
    ids = {fact.sequence: fact.id for fact in facts}
    return Batch(records[0].stream, records, tuple(facts), ids, tuple(refusals))


def read_one(record: Recorded) -> Fact:
    """Decode one message. Raises: Undecodable."""
    try:
        envelope = decode(record.subject, record.data)
        at = envelope.occurred_at
        at = at if at.tzinfo is UTC else at.astimezone(UTC)
        return Fact(record.sequence, envelope.id, at, envelope.correlation, envelope.event)
    except Exception as error:
        if isinstance(error, Undecodable) or not of_a_fact(error):
            raise
        raise Undecodable(reason(error)) from error


def refusal_of(stream: str, fact: Fact, outcome: Outcome, why: str) -> Refusal:
    """Why a fact is not in the tables."""
    return Refusal(stream, fact.sequence, fact.event.subject(), outcome, why)


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
    there = set(known)
    return [fact for fact in facts if any(missing(fact, there, loaded))]


def missing(fact: Fact, known: Set[str], loaded: Mapping[str, str]) -> Iterator[str]:
    """The hashes of the texts of a fact that are neither known nor loaded."""
    for refs in (contents, pages, snapshots):
        for ref in refs(fact.event):
            if ref.sha256 not in known and ref.sha256 not in loaded:
                yield ref.sha256
