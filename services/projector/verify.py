"""Whether the ledger is whole, unaltered, and the same as the streams it was written from.

This asks the database and the broker and believes neither: every hash is computed again, every message compared.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

import psycopg

from contracts.topology import ERRATA, VIEWS
from kit.ordered import Recorded
from services.projector.chain import GENESIS
from services.projector.ports import Extent, Log
from services.projector.rebuild import links


@dataclass(slots=True)
class StreamReport:
    """What was found in one stream.

    Shapes: `holes` are (first, last) of sequences the ledger lacks; `altered` break the chain; `differing` are other
    messages on the stream; `lost` are no longer there though later and earlier ones are. `waiting` are not applied yet.
    """

    stream: str
    facts: int = 0
    last: int = 0
    waiting: int = 0
    holes: list[tuple[int, int]] = field(default_factory=list)
    altered: list[int] = field(default_factory=list)
    differing: list[int] = field(default_factory=list)
    lost: list[int] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong; facts that still wait are nothing wrong."""
        return not (self.holes or self.altered or self.differing or self.lost)


@dataclass(frozen=True, slots=True)
class Report:
    """What was found in all streams."""

    streams: tuple[StreamReport, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return all(stream.ok for stream in self.streams)


async def verify(db: psycopg.AsyncConnection[tuple[Any, ...]], log: Log) -> Report:
    """Read the whole ledger and both streams, and compare."""
    return Report((await _verify(db, log, ERRATA.name), await _verify(db, log, VIEWS.name)))


async def _verify(db: psycopg.AsyncConnection[tuple[Any, ...]], log: Log, stream: str) -> StreamReport:
    report = StreamReport(stream)
    extent = await log.extent(stream)
    previous = GENESIS
    async with aclosing(_messages(log, stream, extent)) as messages:
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
                report.facts += 1
                report.last = fact.sequence
                while message is not None and message.sequence < fact.sequence:
                    message = await anext(messages, None)
                if message is not None and message.sequence == fact.sequence:
                    if (message.subject, message.data) != (fact.subject, fact.data):
                        report.differing.append(fact.sequence)
                elif extent.first <= fact.sequence <= extent.last:
                    report.lost.append(fact.sequence)
    report.waiting = max(0, extent.last - report.last)
    return report


async def _messages(log: Log, stream: str, extent: Extent) -> AsyncGenerator[Recorded, None]:
    """What the stream held when we asked."""
    if extent.last == 0 or extent.first > extent.last:  # never written to, or emptied by age
        return
    async for batch in log.follow(stream, extent.first):
        for message in batch:
            if message.sequence <= extent.last:
                yield message
        if batch[-1].sequence >= extent.last:
            return
