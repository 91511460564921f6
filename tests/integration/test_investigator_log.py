"""The investigator over the real log."""

from __future__ import annotations

from collections.abc import AsyncIterator
from uuid import uuid4

import pytest_asyncio

from contracts.v1 import Event
from kit import topology
from kit.bus import Bus, connect
from tests.support.brokers_log import BrokersLog
from tests.support.investigating import Journal
from tests.support.investigating_suite import InvestigatingSuite
from tests.support.judging import following

pytest_plugins = ["tests.support.servers"]


class Logged:
    """A journal over a broker."""

    def __init__(self, bus: Bus) -> None:
        self.log = BrokersLog(bus)
        self._bus = bus
        self._last: dict[str, int] = {}

    async def tell(self, *events: Event) -> None:
        for event in events:
            await self.publish(following(event, self._last.get(event.subject(), 0)))

    async def publish(self, event: Event) -> None:
        receipt = await self._bus.publish(event, correlation=uuid4())
        self._last[event.subject()] = receipt.sequence


class TestLogged(InvestigatingSuite):
    @pytest_asyncio.fixture
    async def journal(self, nats_url: str) -> AsyncIterator[Journal]:
        async with connect(nats_url, name="test") as bus:
            await topology.apply(bus)
            yield Logged(bus)
