"""Three brokers with three copies of everything, and each of them dies, stalls, is cut off or runs out of space.

Readers go on asking for runs all the time. Whatever happens, what was acknowledged ends as on a quiet day: each run
with its finding once, for one price, with no dead letter, and a ledger that is the log.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from time import monotonic

import pytest
import pytest_asyncio

from contracts.topology import ERRATA
from tests.cluster import world as worlds
from tests.cluster.load import holds
from tests.cluster.world import DAY_S, PAUSE_S, SMALL, World, after, filled, tell
from tests.support.cluster import NODES
from tests.support.system import until

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.xdist_group("cluster")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> AsyncIterator[World]:
    """Three brokers with three copies of everything."""
    async with worlds.world(tmp_path_factory.mktemp("cluster"), request.config, alone=False) as made:
        yield made


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
