"""The investigator over the real log."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from kit.bus import Bus
from tests.support.brokers_log import BrokersLog
from tests.support.investigating import Journal
from tests.support.investigating_suite import InvestigatingSuite
from tests.support.journals import Stored, empty_log

pytest_plugins = ["tests.support.servers"]


class Logged(Stored):
    """A journal over a broker."""

    def __init__(self, bus: Bus) -> None:
        super().__init__(bus)
        self.log = BrokersLog(bus)


class TestLogged(InvestigatingSuite):
    @pytest_asyncio.fixture
    async def journal(self, nats_url: str) -> AsyncIterator[Journal]:
        async with empty_log(nats_url) as bus:
            yield Logged(bus)
