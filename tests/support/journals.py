"""A journal over a real broker, for any service that reads it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import uuid4

from contracts.v1 import Event
from kit import topology
from kit.bus import Bus, connect
from tests.support.judging import following


class Stored:
    """Facts that a broker stores."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._last: dict[str, int] = {}

    async def tell(self, *events: Event) -> None:
        """Store facts, each after the newest of its subject."""
        for event in events:
            await self.publish(following(event, self._last.get(event.subject(), 0)))

    async def publish(self, event: Event) -> None:
        """Store a fact as it is."""
        receipt = await self._bus.publish(event, correlation=uuid4())
        self._last[event.subject()] = receipt.sequence


@asynccontextmanager
async def empty_log(nats_url: str) -> AsyncIterator[Bus]:
    """A broker with our streams and nothing in them."""
    async with connect(nats_url, name="test") as bus:
        await topology.apply(bus)
        yield bus
