"""Whether the ledger is whole, unaltered, and the same as the streams it was written from.

This asks the database and the broker and believes neither: every hash is computed again, every message compared.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Final

import psycopg

from contracts.topology import ERRATA, VIEWS
from contracts.v1 import ErasureOrdered, Undecodable, decode
from kit.ordered import Recorded
from services.projector.chain import GENESIS
from services.projector.ports import Extent, Log
from services.projector.rebuild import links

SILENCE_S: Final = 20.0
TRIES: Final = 3
"""A reader is put on any replica, which may lag for many minutes; another one may be put elsewhere."""
ERASURES: Final = f"{ErasureOrdered.SUBJECT}."


class Silent(Exception):
    """The broker stopped giving what it holds."""


@dataclass(slots=True)
class StreamReport:
    """What was found in one stream.

    Shapes: `holes` are (first, last) of sequences the ledger lacks; `altered` break the chain; `differing` are other
    messages on the stream; `lost` are no longer there though later and earlier ones are. `waiting` are not applied yet.
    `erased` have lost their bodies to an erasure; those still on the stream nonetheless are `lingering`.
    """

    stream: str
    facts: int = 0
    last: int = 0
    waiting: int = 0
    holes: list[tuple[int, int]] = field(default_factory=list)
    altered: list[int] = field(default_factory=list)
    differing: list[int] = field(default_factory=list)
    lost: list[int] = field(default_factory=list)
    erased: int = 0
    lingering: list[int] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong; facts that still wait are nothing wrong."""
        return not (self.holes or self.altered or self.differing or self.lost or self.lingering)


@dataclass(frozen=True, slots=True)
class Report:
    """What was found in all streams."""

    streams: tuple[StreamReport, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return all(stream.ok for stream in self.streams)


async def verify(db: psycopg.AsyncConnection[tuple[Any, ...]], log: Log) -> Report:
    """Read the whole ledger and both streams, and compare. Raises: Silent."""
    return Report((await _verify(db, log, ERRATA.name), await _verify(db, log, VIEWS.name)))


async def _verify(db: psycopg.AsyncConnection[tuple[Any, ...]], log: Log, stream: str) -> StreamReport:
    report = StreamReport(stream)
    extent = await log.extent(stream)
    previous = GENESIS
    erased: dict[int, bytes] = {}
    ordered: set[tuple[int, bytes]] = set()
    async with aclosing(messages_of(log, stream, extent)) as messages:
        message = await anext(messages, None)
        async for chunk in links(db, stream, 0):
            for item in chunk:
                fact = item.record
                if fact.sequence != report.last + 1:
                    report.holes.append((report.last + 1, fact.sequence - 1))
                    previous = item.previous
                if not item.follows(previous):
                    report.altered.append(fact.sequence)
                previous = item.hash
                if item.erased:
                    erased[fact.sequence] = item.hash
                elif fact.subject.startswith(ERASURES):
                    ordered.update(_ordered(fact))
                report.facts += 1
                report.last = fact.sequence
                while message is not None and message.sequence < fact.sequence:
                    message = await anext(messages, None)
                if message is not None and message.sequence == fact.sequence:
                    if item.erased:
                        report.lingering.append(fact.sequence)
                    elif (message.subject, message.data) != (fact.subject, fact.data):
                        report.differing.append(fact.sequence)
                elif not item.erased and extent.first <= fact.sequence <= extent.last:
                    report.lost.append(fact.sequence)
    report.erased = len(erased)
    unordered = (each for each, hash_ in erased.items() if (each, hash_) not in ordered)
    report.altered = sorted({*report.altered, *unordered})
    report.waiting = max(0, extent.last - report.last)
    return report


def _ordered(fact: Recorded) -> Iterator[tuple[int, bytes]]:
    """What an erasure says that it took: a body that no erasure names was taken by somebody else."""
    try:
        event = decode(fact.subject, fact.data).event
    except Undecodable:
        return
    if isinstance(event, ErasureOrdered):
        yield from ((each.sequence, bytes.fromhex(each.hash)) for each in event.facts)


async def messages_of(log: Log, stream: str, extent: Extent) -> AsyncGenerator[Recorded, None]:
    """What the stream held when we asked. Raises: Silent: several readers in turn were given nothing more."""
    if extent.last == 0 or extent.first > extent.last:  # never written to, or emptied by age
        return
    next_, tries = extent.first, 0
    while tries < TRIES:
        batches = aiter(log.follow(stream, next_))
        try:
            while True:
                async with asyncio.timeout(SILENCE_S):
                    batch = await anext(batches)
                for message in batch:
                    if message.sequence <= extent.last:
                        yield message
                next_, tries = batch[-1].sequence + 1, 0
                if next_ > extent.last:
                    return
        except TimeoutError:
            tries += 1
    raise Silent(
        f"the broker holds {stream} up to {extent.last} and gave nothing after {next_ - 1} for "
        f"{TRIES * SILENCE_S:g} s: a replica may lag, see `openerrata doctor`; then verify again"
    )
