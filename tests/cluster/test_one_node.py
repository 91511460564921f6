"""One broker, without copies: it dies, stands still and runs out of space, and what was acknowledged still ends.

While it is away nothing can be stored, so readers are refused; how many is for the closing of each test to say.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from time import monotonic

import pytest
import pytest_asyncio

from tests.cluster import world as worlds
from tests.cluster.load import holds
from tests.cluster.world import DAY_S, PAUSE_S, World, after, filled, tell
from tests.support.system import until

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.xdist_group("cluster-one")]

NODE = 1
KILLED = 3


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> AsyncIterator[World]:
    """One broker with one copy of everything."""
    async with worlds.world(tmp_path_factory.mktemp("one"), request.config, alone=True) as made:
        yield made


async def test_the_node_is_killed_and_comes_back_at_once(world: World) -> None:
    waited = []
    async with world.load() as asking:
        await asking.goes_on(world.runs)
        for _ in range(KILLED):
            world.cluster.kill(NODE)
            world.cluster.start(NODE)
            waited.append(await asking.goes_on(world.runs))
    tell("killed", asking, waited)
    await holds(asking, world.provider, world.oracle)


async def test_the_node_stands_still(world: World) -> None:
    async with world.load() as asking:
        await asking.goes_on(world.runs)
        world.cluster.pause(NODE)
        over = monotonic() + PAUSE_S
        await until(lambda: after(over), "it has stood still for long", within_s=2 * PAUSE_S)
        world.cluster.resume(NODE)
        waited = await asking.goes_on(world.runs)
    tell("paused", asking, [waited])
    await holds(asking, world.provider, world.oracle, refused=1)


async def test_the_clocks_of_the_services_jump_by_a_day(world: World) -> None:
    waited = []
    async with world.load() as asking:
        await asking.goes_on(world.runs)
        for offset_s in (DAY_S, -DAY_S, 0):
            world.clock.jump(offset_s)
            waited.append(await asking.goes_on(world.runs))
    tell("clocks", asking, waited)
    await holds(asking, world.provider, world.oracle)


async def test_its_disk_is_full(world: World) -> None:
    """What cannot be stored is refused; the node is restarted when it has space again."""
    async with world.load() as asking:
        await asking.goes_on(world.runs)
        with filled(world.disk):
            refused = asking.refused
            await until(lambda: asking.refuses(refused + 1), "requests are refused", within_s=60)
        world.cluster.kill(NODE)
        world.cluster.start(NODE)
        waited = await asking.goes_on(world.runs)
    tell("a full disk", asking, [waited])
    await holds(asking, world.provider, world.oracle, refused=1)
