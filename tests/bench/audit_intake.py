"""Requests for audits: how many are accepted in a second, and how long one waits for its job."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Final

from contracts.topology import JOBS
from kit import topology
from kit.bus import connect
from kit.pages import read_page
from kit.publisher import Outgoing
from kit.servers_in_use import Servers
from tests.bench import load, raw_intake
from tests.bench.audit_client import add_accounts, job_api_on, prepare, requests
from tests.bench.child import Child
from tests.bench.field import Field
from tests.bench.load import Plan
from tests.bench.report import Report
from tests.bench.rig import start

CONNECTIONS: Final = 16
ACCOUNTS: Final = 250
"""Each may have twenty open jobs, and none of these ends."""
PER_ROUND: Final = 800
BATCH: Final = 3


def measure(found: Servers, folder: Path, report: Report) -> None:
    """A gateway alone against bare batches."""
    keys = asyncio.run(_prepare(found))
    wires = requests(keys)
    with ExitStack() as processes, job_api_on():
        gateway = processes.enter_context(start(found, folder / "services.log", "gateway"))
        address = gateway.hear()
        sender = processes.enter_context(Child(load.main))
        sender.ask(Plan(address, [next(wires)], 60, 1))
        batch = asyncio.run(_read_batch(found.nats_url))
        limit = processes.enter_context(Child(raw_intake.main, found.nats_url, batch))
        field = Field(gateway, address, limit, limit.hear(), sender, report, next(wires), CONNECTIONS)
        field.warm_up(list(islice(wires, PER_ROUND)), again=False)
        field.compare(
            f"intake at {CONNECTIONS} connections", lambda: list(islice(wires, PER_ROUND)), again=False, share=0.3
        )


async def _prepare(found: Servers) -> Sequence[str]:
    await prepare(found)
    keys = await add_accounts(found, ACCOUNTS)
    async with connect(found.nats_url, name="bench") as bus:
        await bus.jetstream.add_stream(topology.stream_config(raw_intake.STREAM, 1))
    return keys


async def _read_batch(nats_url: str) -> Sequence[Outgoing]:
    """The only batch in the log."""
    async with connect(nats_url, name="bench") as bus:
        page = await read_page(bus, JOBS.name, (">",), after=0, limit=BATCH + 1)
        assert len(page.messages) == BATCH, "a request is a key, credit and a job"
        stored = [await bus.jetstream.get_msg(JOBS.name, each.sequence) for each in page.messages]
    return [Outgoing(each.subject or "", each.data or b"", each.headers or {}) for each in stored]
