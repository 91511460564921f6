"""What the broker and the disk say of the room they have left."""

from __future__ import annotations

import shutil
from math import inf
from pathlib import Path

import pytest

from contracts.topology import ERRATA
from kit import topology
from kit.bus import connect
from kit.topology import stream_config
from services.gateway.adapters import ServerSpace
from services.gateway.ports import Unavailable
from tests.support.servers import nats_server

pytest_plugins = ["tests.support.servers"]


async def test_room_is_the_least_of_disk_and_limits(tmp_path: Path) -> None:
    with nats_server(tmp_path) as broker:
        async with connect(broker.endpoints.nats_url, name="test") as bus:
            await topology.apply(bus)
            assert await ServerSpace(bus, None).free_bytes() == inf
            free = shutil.disk_usage(tmp_path).free
            assert abs(await ServerSpace(bus, tmp_path).free_bytes() - free) < 1_000_000_000
            limited = stream_config(ERRATA, 1)
            limited.max_bytes = 5_000_000
            await bus.jetstream.update_stream(limited)
            assert 4_900_000 < await ServerSpace(bus, tmp_path).free_bytes() <= 5_000_000


async def test_a_broker_without_our_streams_is_an_outage(tmp_path: Path) -> None:
    with nats_server(tmp_path) as broker:
        async with connect(broker.endpoints.nats_url, name="test") as bus:
            with pytest.raises(Unavailable):
                await ServerSpace(bus, None).free_bytes()
