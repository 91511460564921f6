"""The selector, put together."""

from __future__ import annotations

import asyncio

from kit.host import Host
from kit.settings import load
from services.selector.adapters import BusRequests, KvLeadership, SqlReads
from services.selector.handlers import Selector
from services.selector.settings import SelectorSettings


async def build(host: Host) -> None:
    """Select every so often."""
    settings = load(SelectorSettings)
    selector = Selector(
        SqlReads(host.database("reader")),
        BusRequests(host.bus),
        KvLeadership(host.bus, host.worker),
        host.clock,
        analysis=settings.analysis,
        budget_per_day=settings.budget_per_day,
        batch=settings.batch,
    )

    async def run() -> None:
        while True:
            await asyncio.sleep(settings.interval_s)
            await selector.select()

    if settings.budget_per_day:
        host.keep_running("selector", run)
