"""Count how often a message failed by its own fault.

The broker's count includes deliveries to workers that had lost their connection, while nothing could be stored, or
before a new leader knew of an acknowledgement. None of these is a fault of the message, so its failures are counted
separately, in a bucket, with no entry for a message that never failed.
"""

from __future__ import annotations

from contextlib import suppress

from nats.aio.msg import Msg

from contracts.topology import FAILURES, Consumer
from kit.bus import Bus
from kit.kv import Bucket
from kit.publisher import BusError

OPEN = b" open"


class Failures:
    """The failures of one message at one consumer. Every method raises BusError if the bucket does not answer."""

    def __init__(self, bus: Bus, consumer: Consumer, message: Msg) -> None:
        metadata = message.metadata
        self._bus = bus
        self._key = f"{consumer.name}.{metadata.stream}.{metadata.sequence.stream}"
        self._first = metadata.num_delivered == 1
        self._count: int | None = None

    async def begin(self) -> int:
        """Mark the message as in progress; return how often it has failed, including workers that died handling it."""
        bucket = await self._bucket()
        value = await bucket.get(self._key) or b"0"
        self._count = int(value.removesuffix(OPEN)) + value.endswith(OPEN)
        await bucket.put(self._key, str(self._count).encode() + OPEN)
        return self._count

    async def add(self) -> int:
        """Count a failure and return the new count."""
        bucket = await self._bucket()
        if self._count is None:
            value = b"0" if self._first else await bucket.get(self._key) or b"0"
            self._count = int(value.removesuffix(OPEN))
        self._count += 1
        await bucket.put(self._key, str(self._count).encode())
        return self._count

    async def end(self) -> None:
        """Remove the mark, if the broker answers: the worker is alive, and its end is not a failure."""
        if self._count is not None:
            with suppress(BusError):
                await (await self._bucket()).put(self._key, str(self._count).encode())

    async def _bucket(self) -> Bucket:
        return await Bucket.open(self._bus, FAILURES)
