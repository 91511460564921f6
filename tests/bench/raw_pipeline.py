"""The raw limit of an investigation: the same facts stored, delivered and acknowledged, and nothing done with them.

One bare client. Every fact is on disk before its receipt; those that services wait for are delivered to eight workers
that acknowledge; all of them are read once more in order, as the read model's writer does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from uuid import uuid4

import nats.errors
from nats.js.api import ConsumerConfig

from contracts.topology import CONSUMERS
from kit.bus import Bus
from kit.history import StoredFact
from kit.ordered import OrderedLog
from kit.publisher import Outgoing
from tests.support.envelopes import encode

STREAM = "SCRATCH"
WORKERS = 8
_DELIVERED = tuple(consumer.event for consumer in CONSUMERS)


class RawPipeline:
    """The messages of investigations or jobs. `facts`: those of one, as the log has them."""

    def __init__(self, bus: Bus, facts: Sequence[StoredFact], stream: str = STREAM) -> None:
        self._bus = bus
        self._stream = stream
        self._subject = stream.lower()
        self._messages = [
            (f"{self._subject}.{'work' if isinstance(each.event, _DELIVERED) else 'other'}", encode(each.envelope))
            for each in facts
        ]
        self._handled = self._read = 0
        self._more = asyncio.Event()

    async def open(self) -> None:
        """A stream of its own and a consumer on it."""
        await self._bus.jetstream.add_stream(name=self._stream, subjects=[f"{self._subject}.>"])
        await self._bus.jetstream.add_consumer(
            self._stream,
            ConsumerConfig(durable_name="work", filter_subject=f"{self._subject}.work.*", max_ack_pending=1_024),
        )

    async def run(self, count: int, at_once: int) -> None:
        """Run `count` investigations, at most `at_once` at a time; return when everything was delivered and read."""
        gate = asyncio.Semaphore(at_once)
        work = sum(subject.endswith(".work") for subject, _ in self._messages) * count + self._handled
        read = len(self._messages) * count + self._read
        async with asyncio.TaskGroup() as group:
            busy = [group.create_task(self._work()) for _ in range(WORKERS)] + [group.create_task(self._follow())]
            await asyncio.gather(*(self._one(gate) for _ in range(count)))
            while self._handled < work or self._read < read:
                self._more.clear()
                await self._more.wait()
            for task in busy:
                task.cancel()

    async def _one(self, gate: asyncio.Semaphore) -> None:
        async with gate:
            for subject, body in self._messages:
                name = str(uuid4())
                headers = {"Nats-Msg-Id": name, "Nats-Expected-Stream": self._stream}
                await self._bus.wait_for_receipt(await self._bus.send(Outgoing(f"{subject}.{name}", body, headers)))

    async def _work(self) -> None:
        subscription = await self._bus.jetstream.pull_subscribe(
            f"{self._subject}.work.*", durable="work", stream=self._stream
        )
        try:
            while True:
                try:
                    (message,) = await subscription.fetch(1, timeout=5)
                except nats.errors.TimeoutError:
                    continue
                await message.ack()
                self._handled += 1
                self._more.set()
        finally:  # the broker would still deliver to a request without a reader
            await subscription.unsubscribe()

    async def _follow(self) -> None:
        async for batch in OrderedLog(self._bus, self._stream, self._read + 1).batches():
            self._read += len(batch)
            self._more.set()
