"""Three brokers with three copies of everything, and each of them dies, stalls, is cut off or runs out of space.

Readers go on asking for runs all the time. Whatever happens, what was acknowledged ends as on a quiet day: each run
with its finding once, for one price, with no dead letter, and a ledger that is the log.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

import pytest
import pytest_asyncio

from contracts.topology import ERRATA
from tests.chaos.conftest import KEY, disturbed
from tests.cluster.load import Load, Provider, holds, load
from tests.support.clocks import JumpingClock
from tests.support.cluster import NODES, Cluster, Network, Wire, require_root, small_disk
from tests.support.openai_server import openai_server
from tests.support.oracle import Oracle, oracle
from tests.support.sites import Answer as PageAnswer
from tests.support.sites import Sites
from tests.support.system import GivenServers, System, system, until

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.xdist_group("cluster")]

FRONT = ("projector", "gateway")
WORKERS = ("verifier", "ingest", "investigator", "validator")
ACK_WAIT_S = "25"
"""Longer than a cluster takes to choose a leader, so that no worker at a paid call gives it up meanwhile."""
SMALL_DISK_MB = 96
PAUSE_S = 8.0
DAY_S = 86_400
SMALL = 3
"""The node whose disk can be filled, and whose lines to the others can be slow."""


@dataclass
class World:
    """The system over the cluster."""

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


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> AsyncIterator[World]:
    """Two processes of ours over three brokers."""
    require_root()
    folder: Path = tmp_path_factory.mktemp("cluster")
    option = request.config.getoption
    with ExitStack() as stack, Network() as network:
        disk = stack.enter_context(small_disk(network, SMALL, SMALL_DISK_MB))
        servers = stack.enter_context(GivenServers(folder / "servers"))
        async with AsyncExitStack() as lines:
            others = [node for node in range(1, NODES + 1) if node != SMALL]
            wires = [await lines.enter_async_context(Wire(network, other)) for other in others]
            routes = {(SMALL, other): wire.url for other, wire in zip(others, wires, strict=True)}
            cluster = Cluster(folder / "nodes", network, stores={SMALL: disk}, routes=routes)
            stack.enter_context(cluster)
            await cluster.healthy()
            await cluster.led()
            clock = JumpingClock(folder)
            async with Sites() as sites:
                sites.pages["/source"] = PageAnswer(200, {"content-type": "text/html"}, b"<p>It is otherwise.</p>")
                provider = await lines.enter_async_context(openai_server(Provider(f"{sites.url}/source")))
                assert isinstance(provider, Provider)
                settings = {
                    **servers.settings,
                    **disturbed(sites),
                    **clock.settings,
                    "OPENERRATA_NATS_URL": cluster.url,
                    "OPENERRATA_NATS_MONITOR_URL": cluster.monitors,
                    "OPENERRATA_NATS_REPLICAS": str(NODES),
                    "OPENERRATA_ACK_WAIT_S": ACK_WAIT_S,
                    "OPENERRATA_MODEL": "openai_responses:gpt-test",
                    "OPENERRATA_VALIDATOR_PAGE_ORIGIN": sites.url,
                    "OPENAI_API_KEY": "sk-test-the-instance-0000000000000",
                    "OPENAI_BASE_URL": provider.url,
                }
                async with system(folder / "system", **settings) as running:
                    applied = await running.run("topology", "apply")
                    assert applied.code == 0, applied.err
                    assert (await running.run("keys", "add", "tests", "--key", KEY)).code == 0
                    for services in (FRONT, WORKERS):
                        running.spawn(*services)
                    await asyncio.gather(*(process.started() for process in running.processes.values()))
                    async with oracle(running.database_url, cluster.url) as looking:
                        writers, runs = option("--writers", 3), option("--runs", 6)
                        yield World(running, cluster, provider, looking, disk, wires, clock, writers, runs)


async def test_nodes_are_killed_and_one_stands_still(world: World) -> None:
    """A leader, a follower, a leader; then the leader is paused, with all its connections open."""
    waited = []
    async with world.load() as asking:
        await asking.goes_on(world.runs)
        for whom in ("leader", "follower", "leader"):
            leader = await world.cluster.leader(ERRATA.name)
            node = leader if whom == "leader" else leader % NODES + 1
            world.cluster.kill(node)
            waited.append(await asking.goes_on(world.runs))
            world.cluster.start(node)
            await world.cluster.healthy()
        node = await world.cluster.leader(ERRATA.name)
        world.cluster.pause(node)
        over = monotonic() + PAUSE_S
        waited.append(await asking.goes_on(world.runs))
        await until(lambda: after(over), "it has stood still for long", within_s=2 * PAUSE_S)
        world.cluster.resume(node)
        await world.cluster.healthy()
        await asking.goes_on(world.runs)
    tell("killed and paused", asking, waited)
    await holds(asking, world.provider, world.oracle)


async def test_a_node_and_then_two_are_cut_off(world: World) -> None:
    """Without one node all goes on. Without two nothing can be stored: readers read so, and no model is asked twice."""
    waited = []
    async with world.load() as asking:
        await asking.goes_on(world.runs)
        first = await world.cluster.leader(ERRATA.name)
        second = first % NODES + 1
        with world.cluster.network.without(first):
            waited.append(await asking.goes_on(world.runs))
        await world.cluster.healthy()
        with world.cluster.network.without(first, second):
            refused = asking.refused
            await until(lambda: asking.refuses(refused + 1), "requests are refused", within_s=60)
        waited.append(await asking.goes_on(world.runs))
        await world.cluster.healthy()
    tell("cut off", asking, waited)
    await holds(asking, world.provider, world.oracle, refused=1)


async def test_the_line_to_a_node_is_slow_and_loses_much(world: World) -> None:
    async with world.load() as asking:
        await asking.goes_on(world.runs)
        for wire in world.wires:
            wire.delay_s, wire.loss = 0.05, 0.1
        waited = await asking.goes_on(2 * world.runs)
        for wire in world.wires:
            wire.delay_s, wire.loss = 0.0, 0.0
        await world.cluster.healthy()
    tell("a slow line", asking, [waited])
    await holds(asking, world.provider, world.oracle)


async def test_the_disk_of_a_node_is_full(world: World) -> None:
    """The others go on; the node is restarted when it has space again."""
    async with world.load() as asking:
        await asking.goes_on(world.runs)
        with filled(world.disk):
            waited = await asking.goes_on(2 * world.runs)
        world.cluster.kill(SMALL)
        world.cluster.start(SMALL)
        await world.cluster.healthy()
        await asking.goes_on(world.runs)
    tell("a full disk", asking, [waited])
    await holds(asking, world.provider, world.oracle)


async def test_the_clocks_of_the_services_jump_by_a_day(world: World) -> None:
    waited = []
    async with world.load() as asking:
        await asking.goes_on(world.runs)
        for offset_s in (DAY_S, -DAY_S, 0):
            world.clock.jump(offset_s)
            waited.append(await asking.goes_on(world.runs))
    tell("clocks", asking, waited)
    await holds(asking, world.provider, world.oracle)


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
