"""Three brokers with three copies of everything, and each of them dies, stalls, is cut off or runs out of space.

Readers go on asking for runs all the time. Whatever happens, what was acknowledged ends as on a quiet day: each run
with its finding once, for one price, with no dead letter, and a ledger that is the log.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio

from contracts.topology import ERRATA
from tests.chaos.conftest import KEY, disturbed
from tests.cluster.load import Load, Provider, holds, load
from tests.support.cluster import NODES, Cluster, Network, require_root, small_disk
from tests.support.openai_server import openai_server
from tests.support.oracle import Oracle, oracle
from tests.support.sites import Answer as PageAnswer
from tests.support.sites import Sites
from tests.support.system import GivenServers, System, system

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.xdist_group("cluster")]

FRONT = ("projector", "gateway")
WORKERS = ("verifier", "ingest", "investigator", "validator")
ACK_WAIT_S = "15"
"""Longer than a cluster takes to choose a leader, so that no worker at a paid call gives it up meanwhile."""
SMALL_DISK_MB = 64
SMALL = 3
"""The node whose disk can be filled."""


@dataclass
class World:
    """The system over the cluster."""

    system: System
    cluster: Cluster
    provider: Provider
    oracle: Oracle
    disk: Path
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
    with ExitStack() as stack:
        network = stack.enter_context(Network())
        disk = stack.enter_context(small_disk(network, SMALL, SMALL_DISK_MB))
        servers = stack.enter_context(GivenServers(folder / "servers"))
        cluster = stack.enter_context(Cluster(folder / "nodes", network, stores={SMALL: disk}))
        await cluster.healthy()
        await cluster.led()
        async with Sites() as sites:
            sites.pages["/source"] = PageAnswer(200, {"content-type": "text/html"}, b"<p>It is otherwise.</p>")
            provider = Provider(f"{sites.url}/source")
            async with openai_server(provider):
                settings = {
                    **servers.settings,
                    **disturbed(sites),
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
                    await running.up(*FRONT)
                    await running.up(*WORKERS)
                    async with oracle(running.database_url, cluster.url) as looking:
                        yield World(
                            running, cluster, provider, looking, disk, option("--writers", 3), option("--runs", 6)
                        )


@pytest.mark.parametrize("whom", ["leader", "follower"])
async def test_a_node_is_killed(world: World, whom: str) -> None:
    async with world.load() as asking:
        await asking.goes_on(world.runs)
        leader = await world.cluster.leader(ERRATA.name)
        node = leader if whom == "leader" else leader % NODES + 1
        world.cluster.kill(node)
        waited = await asking.goes_on(world.runs)
        world.cluster.start(node)
        await world.cluster.healthy()
        await asking.goes_on(world.runs)
    print(f"{whom} killed: {len(asking.acknowledged)} runs, {asking.refused} of {asking.asked} refused, {waited:.1f} s")
    await holds(asking, world.provider, world.oracle)
