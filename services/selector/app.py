"""Builds the selector."""

from __future__ import annotations

import asyncio

from prometheus_client import Gauge

from kit.host import Host
from kit.leader import Leadership
from kit.settings import load
from services.selector.adapters import BusLog, SqlReads
from services.selector.handlers import Selector
from services.selector.settings import SelectorSettings

JOB = "selector"
POLL_S = 0.5


async def build(host: Host) -> None:
    """Select at intervals, while this process leads."""
    settings = load(SelectorSettings)
    leadership = Leadership(host.bus, JOB, host.worker)
    selector = Selector(
        SqlReads(host.database("reader")),
        BusLog(host.bus),
        leadership,
        host.clock,
        analysis=settings.analysis,
        budget=settings.budget,
        batch=settings.batch,
        patience_s=settings.patience_s,
    )

    spent = Gauge(
        "openerrata_selector_spent_usd", "What its runs of today (UTC) cost", registry=host.telemetry.registry
    )
    limit = Gauge("openerrata_selector_limit_usd", "What they may cost; 0: no limit", registry=host.telemetry.registry)
    limit.set((settings.budget.micro_usd or 0) / 1_000_000)

    async def run() -> None:
        while True:
            while not leadership.is_leader:  # noqa: ASYNC110 (another process leads)
                await asyncio.sleep(POLL_S)
            selection = await selector.plan()
            spent.set(selection.spent.micro_usd / 1_000_000)
            await selector.publish(selection)
            await asyncio.sleep(settings.interval_s)

    if settings.runs_per_day:
        host.keep_running("selector-leader", leadership.run)
        host.keep_running("selector", run)
        host.on_stop(leadership.release)
