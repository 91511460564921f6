"""The newest events, kept once for all clients of this process.

A client is a number, the last sequence it was sent, and nothing else: there is no queue per client that could grow. One
that falls behind the window reads the log itself until it is back.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from services.gateway.stream.question import frame


@dataclass(frozen=True, slots=True)
class Framed:
    """One event, ready to send."""

    sequence: int
    subject: str
    wire: bytes


class Window:
    """Everything shown after the sequence `floor`, in the order of the log."""

    def __init__(self, floor: int, *, limit: int, limit_bytes: int) -> None:
        self.floor = floor
        self.newest = floor
        self._limit = limit
        self._limit_bytes = limit_bytes
        self._events: list[Framed] = []
        self._size_bytes = 0
        self._gone: frozenset[int] = frozenset()
        self._changed = asyncio.Event()

    def add(self, messages: Sequence[tuple[int, str, bytes]]) -> None:
        """Append sequences, subjects and data, and let go of the oldest."""
        for sequence, subject, data in messages:
            if sequence > self.newest:
                self.newest = sequence
                if sequence not in self._gone:
                    event = Framed(sequence, subject, frame(sequence, subject, data))
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
        """Take out what was erased, or pass it over when it comes; places stay right, since a place is a sequence."""
        self._gone = frozenset(each for each in self._gone.union(sequences) if each > self.newest)
        self._events = [event for event in self._events if event.sequence not in sequences]
        self._size_bytes = sum(len(event.wire) for event in self._events)

    def after(self, sequence: int, limit: int) -> Sequence[Framed]:
        """The first events after a sequence that is not below `floor`."""
        start = bisect_right(self._events, sequence, key=lambda event: event.sequence)
        return self._events[start : start + limit]

    async def beyond(self, sequence: int) -> None:
        """Return as soon as the window may hold something after a sequence."""
        while self.newest <= sequence:
            await self._changed.wait()
