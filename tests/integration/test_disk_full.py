"""A full disk under the broker: nothing acknowledged is lost, health says so, and it is over when space is free."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import pytest

from contracts.topology import ERRATA
from kit import topology
from kit.bus import Bus, BusError, connect
from kit.embedded import EmbeddedStack
from services.commands.process import reopen
from tests.support.delivering import observed, until

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 and os.environ.get("CI") != "true", reason="mounts a small file system, which only root may do"
)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 MiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(file: Path) -> None:
    """Leave no byte free."""
    with suppress(OSError), file.open("wb", buffering=0) as ballast:
        while True:
            ballast.write(bytes(4096))


async def publishes(bus: Bus) -> bool:
    try:
        await bus.publish(observed(), correlation=uuid4())
    except BusError:
        return False
    return True


async def test_health_says_that_nothing_is_stored_and_the_broker_is_restarted(small_disk: Path) -> None:
    with EmbeddedStack(small_disk / "data", services=("nats",)) as server:
        async with connect(server.endpoints.nats_url, name="test") as bus:
            await topology.apply(bus)
            acknowledged = 0
            for _ in range(20):
                acknowledged += await publishes(bus)
            assert await bus.writes.problem() is None
            fill(small_disk / "ballast")

            async def refused() -> str | None:
                return await bus.writes.problem()

            assert "restarted" in await until(refused)
            acknowledged += await publishes(bus)
            (small_disk / "ballast").unlink()
            reopening = asyncio.create_task(reopen(server, bus))

            async def well() -> bool:
                return await bus.writes.problem() is None

            await until(well, 30.0)
            reopening.cancel()
            acknowledged += await publishes(bus)
            state = (await bus.jetstream.stream_info(ERRATA.name)).state
            assert acknowledged >= 21
            assert state.messages >= acknowledged
