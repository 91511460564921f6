"""Verifies that the ledger is complete, unaltered, and the same as the streams.

Every hash is computed again, and every message compared.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Final

from contracts.topology import PROJECTED
from contracts.v1 import EntityErasureOrdered, ErasureOrdered, Undecodable, decode
from kit.ordered import StoredMessage
from services.projector.ledger.chain import GENESIS
from services.projector.ledger.links import read_links
from services.projector.ports import Extent, Log
from services.projector.store.load import Connection

STALL_S: Final = 20.0
TRIES: Final = 3
"""The broker may place a consumer on a replica that lags for many minutes, and the next one on another."""
ERASURES: Final = (f"{ErasureOrdered.SUBJECT}.", f"{EntityErasureOrdered.SUBJECT}.")


class BrokerStalled(Exception):
    """The broker stopped delivering stored messages."""


@dataclass(slots=True)
class StreamReport:
    """The findings of one stream.

    Shapes: `holes` are (first, last) of sequences the ledger lacks; `altered` break the chain; `differing` are another
    message on the stream; `lost` are missing from the stream although it has earlier ones. `waiting` is the number of
    messages not applied yet, `erased` of facts without a body; `not_removed` are erased and still on the stream.
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
    not_removed: list[int] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong; facts that are not applied yet are no fault."""
        return not (self.holes or self.altered or self.differing or self.lost or self.not_removed)


@dataclass(frozen=True, slots=True)
class Report:
    """The findings of all streams."""

    streams: tuple[StreamReport, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return all(stream.ok for stream in self.streams)


async def verify(db: Connection, log: Log) -> Report:
    """Read the whole ledger and all streams, and compare. Raises: BrokerStalled."""
    return Report(tuple([await _verify(db, log, stream.name) for stream in PROJECTED]))


async def _verify(db: Connection, log: Log, stream: str) -> StreamReport:
    report = StreamReport(stream)
    extent = await log.extent(stream)
    previous = GENESIS
    erased: dict[int, bytes] = {}
    ordered: set[tuple[int, bytes]] = set()
    async with aclosing(read_messages(log, stream, extent)) as messages:
        message = await anext(messages, None)
        async for chunk in read_links(db, stream, 0):
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
                    ordered.update(_erasures_in(fact))
                report.facts += 1
                report.last = fact.sequence
                while message is not None and message.sequence < fact.sequence:
                    message = await anext(messages, None)
                if message is not None and message.sequence == fact.sequence:
                    if item.erased:
                        report.not_removed.append(fact.sequence)
                    elif (message.subject, message.data) != (fact.subject, fact.data):
                        report.differing.append(fact.sequence)
                elif not item.erased and extent.first <= fact.sequence <= extent.last:
                    report.lost.append(fact.sequence)
    end = (await log.extent(stream)).last  # facts applied meanwhile lie beyond the end read before
    report.lost.extend(each for each in range(end + 1, report.last + 1) if each not in erased)
    report.erased = len(erased)
    unordered = (each for each, hash_ in erased.items() if (each, hash_) not in ordered)
    report.altered = sorted({*report.altered, *unordered})
    report.waiting = max(0, extent.last - report.last)
    return report


def _erasures_in(fact: StoredMessage) -> Iterator[tuple[int, bytes]]:
    """Sequence and hash of each fact that an erasure names; a body missing without an erasure counts as altered."""
    try:
        event = decode(fact.subject, fact.data).event
    except Undecodable:
        return
    if isinstance(event, ErasureOrdered | EntityErasureOrdered):
        yield from ((each.sequence, bytes.fromhex(each.hash)) for each in event.facts)


async def read_messages(log: Log, stream: str, extent: Extent) -> AsyncGenerator[StoredMessage, None]:
    """The messages of the extent. Raises: BrokerStalled: several consumers in a row received nothing more."""
    if extent.last == 0 or extent.first > extent.last:  # never written to, or emptied by age
        return
    next_, tries = extent.first, 0
    while tries < TRIES:
        batches = aiter(log.follow(stream, next_))
        try:
            while True:
                async with asyncio.timeout(STALL_S):
                    batch = await anext(batches)
                for message in batch:
                    if message.sequence <= extent.last:
                        yield message
                next_, tries = batch[-1].sequence + 1, 0
                if next_ > extent.last:
                    return
        except TimeoutError:
            tries += 1
    raise BrokerStalled(
        f"the broker holds {stream} up to {extent.last} and gave nothing after {next_ - 1} for "
        f"{TRIES * STALL_S:g} s: a replica may lag, see `openerrata doctor`; then verify again"
    )
