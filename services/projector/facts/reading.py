"""Decodes stored messages into facts, and loads the texts they refer to.

A message that cannot be decoded, or whose text is lost, is left out: one bad fact must not block those after it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import UTC
from uuid import UUID

import structlog

from contracts.v1 import Undecodable, decode
from contracts.v1.parts import TextRef
from kit.ordered import StoredMessage
from services.projector.facts.fact import Fact, content_refs, find_words, page_refs, snapshot_refs
from services.projector.facts.faults import describe_error, is_fault_of_fact
from services.projector.ports import Texts
from services.projector.rows.log import Refusal, RefusalOutcome

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Batch:
    """Messages of one stream in their order, and the facts among them.

    Shapes: `ids` has the event id of every message that could be decoded, by sequence. `refusals` are of messages that
    are not among the facts.
    """

    stream: str
    records: Sequence[StoredMessage]
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


def read(records: Sequence[StoredMessage], skipped: Mapping[int, str] | None = None) -> Batch:
    """Decode messages of one stream; undecodable ones stay among the records.

    Shapes: `skipped` has an operator's reason by sequence; these are not even decoded.
    """
    facts: list[Fact] = []
    refusals: list[Refusal] = []
    for record in records:
        if not record.data:  # its body was erased
            continue
        if skipped and record.sequence in skipped:
            refusals.append(
                Refusal(record.stream, record.sequence, record.subject, "skipped", skipped[record.sequence])
            )
            continue
        try:
            facts.append(read_one(record))
        except Undecodable as error:
            refusals.append(
                Refusal(record.stream, record.sequence, record.subject, "undecodable", describe_error(error))
            )
            log.error("undecodable fact", stream=record.stream, sequence=record.sequence, error=str(error))
    ids = {fact.sequence: fact.id for fact in facts}
    return Batch(records[0].stream, records, tuple(facts), ids, tuple(refusals))


def read_one(record: StoredMessage) -> Fact:
    """Decode one message. Raises: Undecodable."""
    try:
        envelope = decode(record.subject, record.data)
        at = envelope.occurred_at
        at = at if at.tzinfo is UTC else at.astimezone(UTC)
        return Fact(record.sequence, envelope.id, at, envelope.correlation, envelope.event)
    except Exception as error:
        if isinstance(error, Undecodable) or not is_fault_of_fact(error):
            raise
        raise Undecodable(describe_error(error)) from error


def make_refusal(stream: str, fact: Fact, outcome: RefusalOutcome, why: str) -> Refusal:
    """Why a fact is not in the tables."""
    return Refusal(stream, fact.sequence, fact.event.subject(), outcome, why)


def texts_with_rows(facts: Iterable[Fact]) -> dict[str, TextRef]:
    """The texts that have a row of their own, by hash."""
    return {ref.sha256: ref for fact in facts for refs in (content_refs, page_refs) for ref in refs(fact.event)}


async def load(facts: Sequence[Fact], known: Iterable[str], texts: Texts) -> dict[str, str]:
    """Every text the facts refer to, except the `known` ones; lost texts are left out."""
    skipped = set(known)
    wanted = {hash_: ref for hash_, ref in texts_with_rows(facts).items() if hash_ not in skipped}
    wanted |= {ref.sha256: ref for fact in facts for ref in snapshot_refs(fact.event)}
    loaded = {hash_: ref.inline for hash_, ref in wanted.items() if ref.inline is not None}
    distant = [ref for hash_, ref in wanted.items() if hash_ not in loaded]
    return loaded | await texts.fetch(distant) if distant else loaded


async def fetch_words(facts: Iterable[Fact], texts: Texts) -> dict[str, str]:
    """The words of the facts that expire, by hash; those that have expired or were removed are left out."""
    refs = {ref.sha256: ref for fact in facts for ref in find_words(fact.event)}
    return await texts.fetch_words(refs.values()) if refs else {}


def find_lacking(facts: Iterable[Fact], known: Iterable[str], loaded: Mapping[str, str]) -> list[Fact]:
    """The facts whose texts are neither known nor loaded."""
    there = set(known)
    return [fact for fact in facts if any(find_missing(fact, there, loaded))]


def find_missing(fact: Fact, known: Set[str], loaded: Mapping[str, str]) -> Iterator[str]:
    """The hashes of the texts of a fact that are neither known nor loaded."""
    for refs in (content_refs, page_refs, snapshot_refs):
        for ref in refs(fact.event):
            if ref.sha256 not in known and ref.sha256 not in loaded:
                yield ref.sha256
