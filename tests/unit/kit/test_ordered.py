"""A reader that catches up holds a bounded number of bytes, however many messages wait for it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

from kit.bus import Bus
from kit.ordered import BUFFER_BYTES, OrderedLog

MESSAGE = b"x" * (1024 * 1024)
WAITING = 4 * BUFFER_BYTES // len(MESSAGE)


class Stream:
    """A stream that sends as fast as it is let, as the broker does to somebody who was away."""

    def __init__(self) -> None:
        self.sent = 0
        self._sending: asyncio.Task[None] | None = None

    async def subscribe(self, *_: object, cb: Callable[[Any], Awaitable[None]], **__: object) -> Stream:
        self._sending = asyncio.create_task(self._send(cb))
        return self

    async def unsubscribe(self) -> None:
        assert self._sending is not None
        self._sending.cancel()

    async def _send(self, take: Callable[[Any], Awaitable[None]]) -> None:
        for sequence in range(1, WAITING + 1):
            metadata = SimpleNamespace(sequence=SimpleNamespace(stream=sequence), timestamp=datetime.now(UTC))
            await take(SimpleNamespace(subject="errata.v1.a.b.c", data=MESSAGE, metadata=metadata))
            self.sent = sequence

    async def at_rest(self) -> None:
        """Until it has sent what it can."""
        before = -1
        while before != self.sent:
            before = self.sent
            for _ in range(10):
                await asyncio.sleep(0)


async def test_what_a_slow_reader_has_not_read_is_bounded_in_bytes() -> None:
    stream = Stream()
    log = OrderedLog(cast("Bus", SimpleNamespace(jetstream=stream)), "ERRATA", 1, linger_s=0)
    read: list[int] = []
    async for batch in log.batches(limit=WAITING):
        assert sum(len(each.data) for each in batch) <= BUFFER_BYTES
        read += [each.sequence for each in batch]
        if len(read) == WAITING:
            break
        await stream.at_rest()
        assert stream.sent < WAITING or len(read) + BUFFER_BYTES // len(MESSAGE) >= WAITING
    assert read == list(range(1, WAITING + 1))
