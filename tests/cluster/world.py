"""Our processes over real brokers on hosts of their own, one node or three, and readers that ask all the time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    ExitStack,
    asynccontextmanager,
    contextmanager,
    suppress,
)
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

import pytest

from tests.chaos.conftest import KEY, disturbed
from tests.cluster.load import Load, Provider, load
from tests.support.clocks import JumpingClock
from tests.support.cluster import NODES, Cluster, Network, Wire, require_root, small_disk
from tests.support.openai_server import openai_server
from tests.support.oracle import Oracle, oracle
from tests.support.sites import Answer as PageAnswer
from tests.support.sites import Sites
from tests.support.system import GivenServers, System, system

FRONT = ("projector", "gateway")
WORKERS = ("verifier", "ingest", "investigator", "validator")
ACK_WAIT_S = "25"
"""Longer than a cluster takes to choose a leader, so that no worker at a paid call gives it up meanwhile."""
SMALL_DISK_MB = 96
PAUSE_S = 8.0
DAY_S = 86_400
SMALL = 3
"""The node of three whose disk can be filled, and whose lines to the others can be slow."""


@dataclass
class World:
    """The system over its brokers. `disk` holds the streams of one node, over which `wires` lead to the others."""

    system: System
    cluster: Cluster
    provider: Provider
    oracle: Oracle
    disk: Path
    wires: list[Wire]
    clock: JumpingClock
    writers: int
    runs: int

    def load(self) -> AbstractAsyncContextManager[Load]:
        return load(self.system, self.writers)


@asynccontextmanager
async def world(folder: Path, config: pytest.Config, *, alone: bool) -> AsyncIterator[World]:
    """Two processes of ours over three brokers, or over one."""
    require_root()
    small = 1 if alone else SMALL
    with ExitStack() as stack, Network() as network:
        disk = stack.enter_context(small_disk(network, small, SMALL_DISK_MB))
        servers = stack.enter_context(GivenServers(folder / "servers"))
        async with AsyncExitStack() as lines:
            others = [] if alone else [node for node in range(1, NODES + 1) if node != small]
            wires = [await lines.enter_async_context(Wire(network, other)) for other in others]
            routes = {(small, other): wire.url for other, wire in zip(others, wires, strict=True)}
            cluster = Cluster(folder / "nodes", network, stores={small: disk}, routes=routes, alone=alone)
            stack.enter_context(cluster)
            await cluster.healthy()
            clock = JumpingClock(folder)
            sites = await lines.enter_async_context(Sites())
            sites.pages["/source"] = PageAnswer(200, {"content-type": "text/html"}, b"<p>It is otherwise.</p>")
            provider = await lines.enter_async_context(openai_server(Provider(f"{sites.url}/source")))
            assert isinstance(provider, Provider)
            settings = {
                **servers.settings,
                **disturbed(sites),
                **clock.settings,
                "OPENERRATA_NATS_URL": cluster.url,
                "OPENERRATA_NATS_MONITOR_URL": cluster.monitors,
                "OPENERRATA_NATS_REPLICAS": str(len(cluster.nodes)),
                "OPENERRATA_ACK_WAIT_S": ACK_WAIT_S,
                "OPENERRATA_MODEL": "openai_responses:gpt-test",
                "OPENERRATA_VALIDATOR_PAGE_ORIGIN": sites.url,
                "OPENERRATA_VALIDATOR_GATE_FAMILIES": "1",
                "OPENAI_API_KEY": "sk-test-the-instance-0000000000000",
                "OPENAI_BASE_URL": provider.url,
            }
            running = await lines.enter_async_context(system(folder / "system", **settings))
            applied = await running.run("topology", "apply")
            assert applied.code == 0, applied.err
            assert (await running.run("keys", "add", "tests", "--key", KEY)).code == 0
            for services in (FRONT, WORKERS):
                running.spawn(*services)
            await asyncio.gather(*(process.started() for process in running.processes.values()))
            looking = await lines.enter_async_context(oracle(running.database_url, cluster.url))
            writers, runs = config.getoption("--writers", 3), config.getoption("--runs", 6)
            yield World(running, cluster, provider, looking, disk, wires, clock, writers, runs)


async def after(moment: float) -> bool:
    """Whether a moment has passed."""
    return monotonic() >= moment


def tell(what: str, asking: Load, waited: list[float]) -> None:
    """Say how it went, for whoever runs this with -s."""
    seconds = ", ".join(f"{each:.1f}" for each in waited)
    runs = f"{len(asking.acknowledged)} runs, {asking.refused} of {asking.asked} requests refused"
    print(f"{what}: {runs}, next one accepted after {seconds} s")


@contextmanager
def filled(disk: Path) -> Iterator[None]:
    """Leave no space on a disk for a while."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(65_536))
    try:
        yield
    finally:
        filler.unlink()
