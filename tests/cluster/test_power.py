"""The power goes, everywhere at once: what was acknowledged is there when it is back.

Each node's streams lie in a file system of their own inside a file. All its processes are killed and the file is taken
as it is, without what the kernel would still have written: exactly what was synced is left.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from uuid import uuid4

import pytest

from contracts.topology import ERRATA
from kit import topology
from kit.bus import Bus, connect
from kit.cancelling import cancel_and_wait
from kit.publisher import BusError
from tests.support.cluster import Cluster, Disk, Network, require_root
from tests.support.delivering import observed
from tests.support.system import until

pytestmark = pytest.mark.xdist_group("cluster-power")

WRITERS = 4
BEFORE_THE_CUT = 60


@pytest.fixture(scope="module")
def network() -> Iterator[Network]:
    require_root()
    with Network() as made:
        yield made


class Written:
    """Facts whose storing was acknowledged, by the sequence that was said."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self.acknowledged: dict[int, str] = {}

    async def write(self) -> None:
        """Store facts until nobody confirms any more."""
        while True:
            event = observed()
            try:
                receipt = await self._bus.publish(event, correlation=uuid4())
            except BusError:
                return
            self.acknowledged[receipt.sequence] = event.subject()

    async def lost(self, bus: Bus) -> list[int]:
        """What was acknowledged and is not there."""
        # An election leaves a request without an answer.
        info = await until(lambda: bus.jetstream.stream_info(ERRATA.name), "the stream answers")
        last = info.state.last_seq
        found = {}
        for sequence in self.acknowledged:
            if sequence <= last:
                found[sequence] = (await bus.jetstream.get_msg(ERRATA.name, sequence)).subject
        return [sequence for sequence, subject in self.acknowledged.items() if found.get(sequence) != subject]


@asynccontextmanager
async def cut(
    folder: Path, network: Network, *, alone: bool, jetstream: dict[str, str] | None = None
) -> AsyncIterator[tuple[Written, Bus]]:
    """A cluster after a power cut in the middle of writing: what was acknowledged, and a connection to what is left."""
    with ExitStack() as stack:
        nodes = (1,) if alone else (1, 2, 3)
        disks = {node: stack.enter_context(Disk(folder, network, node)) for node in nodes}
        stores = {node: disk.at for node, disk in disks.items()}
        made = Cluster(folder / "nodes", network, stores=stores, jetstream=jetstream, alone=alone)
        cluster = stack.enter_context(made)
        await cluster.healthy()
        await cluster.led()
        async with connect(cluster.url, name="writers") as bus:
            await topology.apply(bus, replicas=len(nodes))
            written = Written(bus)
            writers = [asyncio.create_task(written.write()) for _ in range(WRITERS)]

            async def enough() -> bool:
                return len(written.acknowledged) >= BEFORE_THE_CUT

            await until(enough, "facts are written", within_s=60)
            cluster.kill(*nodes)
            left = {node: disk.freeze() for node, disk in disks.items()}
            await cancel_and_wait(writers)
        for node, disk in disks.items():
            disk.restore(left[node])
            cluster.start(node)
        await cluster.healthy()
        await cluster.led()
        async with connect(cluster.url, name="reader") as bus:
            yield written, bus


@pytest.mark.parametrize("nodes", [1, 3])
async def test_what_was_acknowledged_survives_a_power_cut(network: Network, tmp_path: Path, nodes: int) -> None:
    async with cut(tmp_path, network, alone=nodes == 1) as (written, bus):
        assert await written.lost(bus) == []
        receipt = await bus.publish(observed(), correlation=uuid4())
        assert receipt.sequence > max(written.acknowledged)


async def test_a_broker_that_writes_later_loses_what_it_acknowledged(network: Network, tmp_path: Path) -> None:
    """So the model of a power cut is one: this is what the refused settings cost."""
    async with cut(tmp_path, network, alone=True, jetstream={}) as (written, bus):
        await topology.apply(bus)
        assert len(await written.lost(bus)) > len(written.acknowledged) // 2


async def test_three_nodes_that_write_later_are_refused_and_named(network: Network, tmp_path: Path) -> None:
    """Replicas are copies in memory until they are written."""
    with Cluster(tmp_path, network, jetstream={}) as cluster:
        await cluster.healthy()
        await cluster.led()
        async with connect(cluster.url, name="test") as bus:
            await topology.apply(bus, replicas=3)
            with pytest.raises(topology.UnsafeBroker, match="before it has written to disk") as refusal:
                await topology.require_durable(bus, cluster.monitors)
            assert all(cluster.monitor(node) in str(refusal.value) for node in cluster.nodes)
            with pytest.raises(topology.UnsafeBroker, match="cannot tell"):
                await topology.require_durable(bus, None)
