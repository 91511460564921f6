"""Two writers of one event, over three brokers, which check its id before what it follows."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from unittest.mock import AsyncMock
from uuid import uuid4

import pytest
import pytest_asyncio
from nats.aio.msg import Msg

from kit import topology
from kit.bus import Bus, connect
from kit.positions import Positions
from kit.publisher import BusError, PublishConflict, Receipt
from services.gateway.adapters import BusFacts
from tests.support.cluster import NODES, Cluster, Network, require_root
from tests.support.factories import failed, started

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.xdist_group("cluster-writers")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def bus(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Bus]:
    require_root()
    with Network() as network, Cluster(tmp_path_factory.mktemp("writers"), network) as cluster:
        await cluster.healthy()
        await cluster.led()
        async with connect(cluster.url, name="test") as found:
            await topology.apply(found, replicas=NODES)
            yield found


async def test_an_attempt_that_another_worker_began_is_not_taken_for_ones_own(bus: Bus) -> None:
    """Both were delivered the same request; the second would buy the model's answer again."""
    first = started(investigation_id=uuid4())
    await bus.publish(first, correlation=uuid4())
    with pytest.raises(PublishConflict):
        await bus.publish(first.model_copy(update={"worker": "worker-2"}), correlation=uuid4())


async def test_an_attempt_whose_receipt_was_lost_is_ones_own(bus: Bus, monkeypatch: pytest.MonkeyPatch) -> None:
    wait_for_receipt, lost = Bus.wait_for_receipt, [1]

    async def lose(bus: Bus, future: asyncio.Future[Msg]) -> Receipt:
        receipt = await wait_for_receipt(bus, future)
        if lost:
            raise BusError(f"no receipt {lost.pop()}")
        return receipt

    monkeypatch.setattr(Bus, "wait_for_receipt", lose)
    assert (await bus.publish(started(investigation_id=uuid4()), correlation=uuid4())).duplicate
    assert not lost


async def test_who_came_second_hears_at_once_what_was_stored(bus: Bus) -> None:
    """A replica that lags does not know yet."""
    facts = BusFacts(bus, Positions(bus, AsyncMock()), answer_timeout_s=5, catch_up_timeout_s=5)
    for _ in range(200):
        first = failed(investigation_id=uuid4())
        await bus.publish(first, correlation=uuid4())
        second = first.model_copy(update={"reason": "another"})
        assert (await facts.publish_once(second, uuid4())).event == first
