"""The newest events, buffered once for all clients of this process.

A client's only state is the last sequence it was sent; there is no queue per client. One that falls behind the window
reads the log until it has caught up.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from services.gateway.public.stream.question import encode_frame


@dataclass(frozen=True, slots=True)
class Framed:
    """One encoded event."""

    sequence: int
    subject: str
    wire: bytes


class Window:
    """All public events after the sequence `floor`, in the order of the log."""

    def __init__(self, floor: int, *, limit: int, limit_bytes: int) -> None:
        self.floor = floor
        self.newest = floor
        self._limit = limit
        self._limit_bytes = limit_bytes
        self._events: list[Framed] = []
        self._size_bytes = 0
        self._erased: frozenset[int] = frozenset()
        self._changed = asyncio.Event()

    def add(self, messages: Sequence[tuple[int, str, bytes]]) -> None:
        """Append messages as (sequence, subject, data), and drop the oldest beyond the limits."""
        for sequence, subject, data in messages:
            if sequence > self.newest:
                self.newest = sequence
                if sequence not in self._erased:
                    event = Framed(sequence, subject, encode_frame(sequence, subject, data))
                    self._events.append(event)
                    self._size_bytes += len(event.wire)
        surplus = 0
        while len(self._events) - surplus > self._limit or self._size_bytes > self._limit_bytes:
            self._size_bytes -= len(self._events[surplus].wire)
            self.floor = self._events[surplus].sequence
            surplus += 1
        if surplus:
            del self._events[:surplus]
        self._changed.set()
        self._changed = asyncio.Event()

    def drop(self, sequences: Collection[int]) -> None:
        """Remove erased events, and skip those that have not arrived yet."""
        self._erased = frozenset(each for each in self._erased.union(sequences) if each > self.newest)
        self._events = [event for event in self._events if event.sequence not in sequences]
        self._size_bytes = sum(len(event.wire) for event in self._events)

    def after(self, sequence: int, limit: int) -> Sequence[Framed]:
        """The first events after a sequence that is not below `floor`."""
        start = bisect_right(self._events, sequence, key=lambda event: event.sequence)
        return self._events[start : start + limit]

    async def wait_beyond(self, sequence: int) -> None:
        """Wait until the window may have an event after a sequence."""
        while self.newest <= sequence:
            await self._changed.wait()
