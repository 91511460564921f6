"""How often a message failed by its own fault.

The broker's own count says how often it tried to deliver: to workers that had lost their connection, while nothing
could be stored, before a new leader knew of an acknowledgement. None of that is a fault of the message, so faults are
counted apart, in a bucket, and only where there are any.
"""

from __future__ import annotations

from contextlib import suppress

from nats.aio.msg import Msg

from contracts.topology import FAILURES, Consumer
from kit.bus import Bus, BusError
from kit.kv import Bucket

OPEN = b" open"


class Failures:
    """The failures of one message at one consumer. Every method raises BusError if the bucket does not answer."""

    def __init__(self, bus: Bus, consumer: Consumer, message: Msg) -> None:
        metadata = message.metadata
        self._bus = bus
        self._key = f"{consumer.name}.{metadata.stream}.{metadata.sequence.stream}"
        self._first = metadata.num_delivered == 1
        self._known: int | None = None

    async def begin(self) -> int:
        """Note that somebody is at work on it; how often it has failed, counting each worker that died at it."""
        bucket = await self._bucket()
        value = await bucket.get(self._key) or b"0"
        self._known = int(value.removesuffix(OPEN)) + value.endswith(OPEN)
        await bucket.put(self._key, str(self._known).encode() + OPEN)
        return self._known

    async def add(self) -> int:
        """Count a failure; how many there are now."""
        bucket = await self._bucket()
        if self._known is None:
            value = b"0" if self._first else await bucket.get(self._key) or b"0"
            self._known = int(value.removesuffix(OPEN))
        self._known += 1
        await bucket.put(self._key, str(self._known).encode())
        return self._known

    async def end(self) -> None:
        """Note that whoever was at work on it is alive and gave up for another reason, as well as one can."""
        if self._known is not None:
            with suppress(BusError):
                await (await self._bucket()).put(self._key, str(self._known).encode())

    async def _bucket(self) -> Bucket:
        return await Bucket.open(self._bus, FAILURES)
