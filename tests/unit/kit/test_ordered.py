"""What a reader holds is bounded, and how long it lingers depends on who waits for what it holds."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from itertools import count, takewhile
from time import time_ns
from types import SimpleNamespace
from typing import Any, cast

import pytest
from nats.aio.msg import Msg

from kit.bus import Bus
from kit.ordered import (
    BATCH_DELAY_S,
    BUFFER_BYTES,
    BUSY_BATCH,
    MAX_BATCH_DELAYS,
    MESSAGES_PER_DELAY,
    URGENT_BATCH_DELAY_S,
    OrderedLog,
    StoredMessage,
    batch_delay_s,
    parse_ack_subject,
)

MESSAGE = b"x" * (1024 * 1024)
WAITING = 4 * BUFFER_BYTES // len(MESSAGE)


class Stream:
    """A stream that sends as fast as it is let, as the broker does to somebody who was away."""

    def __init__(self) -> None:
        self.sent = 0
        self._sub = SimpleNamespace(_jsi=SimpleNamespace(_sseq=0))
        self._sending: asyncio.Task[None] | None = None

    async def subscribe(self, *_: object, cb: Callable[[Any], Awaitable[None]], **__: object) -> Stream:
        self._sending = asyncio.create_task(self._send(cb))
        return self

    async def unsubscribe(self) -> None:
        assert self._sending is not None
        self._sending.cancel()

    async def _send(self, take: Callable[[Any], Awaitable[None]]) -> None:
        for sequence in range(1, WAITING + 1):
            reply = f"$JS.ACK.ERRATA.reader.1.{sequence}.{sequence}.{time_ns()}.0"
            await take(SimpleNamespace(subject="errata.v1.a.b.c", data=MESSAGE, reply=reply))
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
    log = OrderedLog(cast("Bus", SimpleNamespace(jetstream=stream)), "ERRATA", 1)
    read: list[int] = []
    async for batch in log.batches(limit=WAITING):
        assert sum(len(each.data) for each in batch) <= BUFFER_BYTES
        read += [each.sequence for each in batch]
        if len(read) == WAITING:
            break
        await stream.at_rest()
        assert stream.sent < WAITING or len(read) + BUFFER_BYTES // len(MESSAGE) >= WAITING
    assert read == list(range(1, WAITING + 1))


NOW = datetime(2026, 1, 1, tzinfo=UTC)
AWAITED = ("errata.v1.version.",)
PUBLISHED = StoredMessage("ERRATA", 1, "errata.v1.claim.approved.x", b"", NOW)
OBSERVED = StoredMessage("ERRATA", 2, "errata.v1.version.seen.x", b"", NOW)


@pytest.mark.parametrize(
    ("before", "held", "times", "each_s"),
    [
        (0, [PUBLISHED], 0, 0),
        (BUSY_BATCH - 1, [PUBLISHED], 0, 0),
        (BUSY_BATCH, [PUBLISHED], 1, BATCH_DELAY_S),
        (MESSAGES_PER_DELAY, [PUBLISHED], 1, BATCH_DELAY_S),
        (2 * MESSAGES_PER_DELAY, [PUBLISHED], 2, BATCH_DELAY_S),
        (100 * MESSAGES_PER_DELAY, [PUBLISHED], MAX_BATCH_DELAYS, BATCH_DELAY_S),
        (100 * MESSAGES_PER_DELAY, [PUBLISHED, OBSERVED], 1, URGENT_BATCH_DELAY_S),
        (100 * MESSAGES_PER_DELAY, [PUBLISHED] * 50, 0, 0),
    ],
)
def test_a_crowded_reader_lingers_longer_for_what_nobody_awaits(
    before: int, held: list[StoredMessage], times: int, each_s: float
) -> None:
    waits = list(takewhile(bool, (batch_delay_s(before, lingered, held, 50, AWAITED) for lingered in count())))
    assert waits == [each_s] * times


@pytest.mark.parametrize(
    ("before", "held", "waits"),
    [
        (0, [PUBLISHED], [BATCH_DELAY_S] * MAX_BATCH_DELAYS),
        (100 * MESSAGES_PER_DELAY, [PUBLISHED], [BATCH_DELAY_S] * MAX_BATCH_DELAYS),
        (0, [PUBLISHED, OBSERVED], []),
        (BUSY_BATCH, [PUBLISHED, OBSERVED], [URGENT_BATCH_DELAY_S]),
        (0, [PUBLISHED] * 50, []),
    ],
)
def test_an_unhurried_reader_lets_a_batch_form_unless_something_in_it_is_awaited(
    before: int, held: list[StoredMessage], waits: list[float]
) -> None:
    found = (batch_delay_s(before, delays, held, 50, AWAITED, unhurried=True) for delays in count())
    assert list(takewhile(bool, found)) == waits


@pytest.mark.parametrize(
    "reply",
    [
        "$JS.ACK.ERRATA.reader.1.12345678901.77.1763807404123456789.3",
        "$JS.ACK.hub.ACCOUNT.ERRATA.reader.1.12345678901.77.1763807404123456789.3",
        "$JS.ACK._.ACCOUNT.ERRATA.reader.1.12345678901.77.1763807404123456789.3.token",
    ],
)
def test_a_place_is_read_as_the_client_reads_it(reply: str) -> None:
    metadata = Msg(cast(Any, None), reply=reply).metadata
    assert (
        parse_ack_subject(reply) == (metadata.sequence.stream, metadata.timestamp) == (12345678901, metadata.timestamp)
    )
