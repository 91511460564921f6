"""Fetches transcripts before a transaction begins, and limits their size in one transaction.

A transcript may have megabytes. A batch is split where theirs together would make a transaction too long; the split
changes no row.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from contracts.spent import find_transcript
from contracts.v1.parts import TextRef
from services.projector.facts.fact import Fact
from services.projector.facts.reading import Batch
from services.projector.ports import Texts
from services.projector.rows.attempts import Exchange
from services.projector.transcripts.exchange import MISSING, TOO_LARGE, UNREADABLE, read_transcript

TOGETHER_BYTES: Final = 8_000_000
"""The most of all transcripts in one transaction; a single one may be larger."""
LARGEST_BYTES: Final = 64_000_000
THREAD_FROM_BYTES: Final = 100_000
"""From this total on, transcripts are read in a thread, so that they do not block the event loop."""


def split_by_size(batch: Batch, together_bytes: int = TOGETHER_BYTES) -> Iterator[Batch]:
    """The batch in parts, each with at most `together_bytes` of transcripts, or with a single transcript."""
    weights = {fact.sequence: _weight(ref) for fact in batch.facts if (ref := find_transcript(fact.event)) is not None}
    if sum(weights.values()) <= together_bytes:
        yield batch
        return
    start, weight = 0, 0
    for place, record in enumerate(batch.records):
        more = weights.get(record.sequence, 0)
        if weight and weight + more > together_bytes:
            yield batch.part(start, place)
            start, weight = place, 0
        weight += more
    yield batch.part(start, len(batch.records))


async def fetch_exchanges(facts: Iterable[Fact], texts: Texts) -> dict[str, Exchange]:
    """The exchanges of all transcripts that these facts name, by hash; a missing or unreadable one has a state."""
    refs = {ref.sha256: ref for fact in facts if (ref := find_transcript(fact.event)) is not None}
    if not refs:
        return {}
    found: dict[str, Exchange] = {hash_: TOO_LARGE for hash_, ref in refs.items() if ref.size_bytes > LARGEST_BYTES}
    wanted = {hash_: ref for hash_, ref in refs.items() if hash_ not in found}
    texts_by_hash = {hash_: ref.inline for hash_, ref in wanted.items() if ref.inline is not None}
    distant = [ref for hash_, ref in wanted.items() if hash_ not in texts_by_hash]
    if distant:
        texts_by_hash |= await texts.fetch(distant)
    found |= dict.fromkeys(wanted.keys() - texts_by_hash.keys(), MISSING)
    if sum(map(len, texts_by_hash.values())) < THREAD_FROM_BYTES:
        return found | _read(texts_by_hash)
    return found | await asyncio.to_thread(_read, texts_by_hash)


def mark_unreadable(facts: Iterable[Fact]) -> dict[str, Exchange]:
    """As `fetch_exchanges`, but all unreadable: for a fact that the database refused with its transcript."""
    return {ref.sha256: UNREADABLE for fact in facts if (ref := find_transcript(fact.event)) is not None}


def _read(texts: Mapping[str, str]) -> dict[str, Exchange]:
    return {hash_: read_transcript(text) for hash_, text in texts.items()}


def _weight(ref: TextRef) -> int:
    return ref.size_bytes if ref.size_bytes <= LARGEST_BYTES else 0
