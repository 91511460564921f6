"""A full disk under a server: nothing acknowledged is lost, health says so, and it is over when space is free."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from uuid import uuid4

import httpx
import psycopg
import pytest
from sqlalchemy.exc import OperationalError
from structlog.testing import capture_logs
from structlog.typing import EventDict

from contracts.topology import ERRATA
from kit import topology
from kit.blob_settings import BlobSettings
from kit.blobs import Blobs, BlobsUnavailable
from kit.bus import Bus, connect
from kit.database import Database, migrate, open_session
from kit.embedded import EmbeddedStack, ServiceName
from kit.publisher import BusError
from services.commands.process import restart_when_stuck
from tests.support.delivering import observed, until
from tests.support.system import GivenServers, system

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 and os.environ.get("CI") != "true", reason="mounts a small file system, which only root may do"
)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system that an empty database nearly half fills."""
    folder = tmp_path / "small"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=192m", "tmpfs", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.fixture
def said() -> Iterator[list[EventDict]]:
    """What is logged."""
    with capture_logs() as lines:
        yield lines


def fill(file: Path) -> None:
    """Leave no byte free."""
    for size in (1 << 20, 4096):
        with suppress(OSError), file.open("ab", buffering=0) as ballast:
            while True:
                ballast.write(bytes(size))


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
            reopening = asyncio.create_task(restart_when_stuck(server, "nats", bus.writes.refusal))

            async def well() -> bool:
                return await bus.writes.problem() is None

            await until(well, 60.0)
            reopening.cancel()
            acknowledged += await publishes(bus)
            state = (await bus.jetstream.stream_info(ERRATA.name)).state
            assert acknowledged >= 21
            assert state.messages >= acknowledged


async def test_a_blob_store_refuses_says_so_and_takes_everything_again(small_disk: Path) -> None:
    """A folder whose index met the full disk refuses until SeaweedFS is restarted; an embedded one is."""
    with EmbeddedStack(small_disk / "data", services=("s3",)) as server:
        at = server.endpoints
        settings = BlobSettings(
            at.s3_endpoint.removeprefix("http://"), at.s3_access_key, at.s3_secret_key, at.s3_bucket
        )
        blobs = Blobs(settings)
        try:
            stored = {number: await blobs.put_text(long_text(number)) for number in range(8)}
            assert await blobs.problem() is None

            async def refused() -> bool:
                fill(small_disk / "ballast")  # again: it lets go of files of its own
                number = len(stored)
                try:
                    stored[number] = await blobs.put_text(long_text(number))
                except BlobsUnavailable:
                    return True
                return False

            await until(refused)
            other = Blobs(settings)
            assert "its disk" in str(await other.problem()), "whoever has just come"
            assert await other.get_text(stored[0]) == long_text(0), "what is there can be read"
            (small_disk / "ballast").unlink()
            reopening = asyncio.create_task(restart_when_stuck(server, "s3", blobs.problem))

            async def accepted() -> bool:
                try:
                    stored[-1] = await blobs.put_text(long_text(-1))
                except BlobsUnavailable:
                    return False
                return await other.problem() is None

            await until(accepted, 60.0)
            reopening.cancel()
            for number, ref in stored.items():
                assert await Blobs(settings).get_text(ref) == long_text(number)
            other.close()
        finally:
            blobs.close()


def long_text(number: int) -> str:
    return f"{number} " + "So they say. " * 2_000


async def written(url: str, numbers: range) -> list[int]:
    """Those of the rows whose commit was confirmed."""
    confirmed = []
    for number in numbers:
        with suppress(psycopg.OperationalError):
            async with await open_session(url) as session:
                await session.execute("INSERT INTO told VALUES (%s, repeat(md5(%s), 60))", (number, str(number)))
            confirmed.append(number)
    return confirmed


@pytest.mark.parametrize("log_too", [False, True], ids=["tables", "log"])
async def test_a_database_refuses_says_so_and_takes_everything_again(
    small_disk: Path, said: list[EventDict], *, log_too: bool
) -> None:
    """It refuses while tables cannot grow. Where its log cannot, it ends; an embedded one is started again."""
    with EmbeddedStack(small_disk / "data", services=("postgres",)) as server:
        url = server.endpoints.database_url
        await migrate(url)
        database = Database(url, role="projector")
        watching = asyncio.create_task(server.watch())
        try:
            async with await open_session(url) as session:
                await session.execute("CREATE TABLE told (number integer, filling text)")
            confirmed = await written(url, range(40))
            assert len(confirmed) == 40
            await database.write()
            fill(small_disk / "ballast")
            with pytest.raises(OperationalError, match="No space left"):
                await database.write()
            confirmed += await written(url, range(40, 60))
            async with await open_session(url) as session:
                assert await (await session.execute("SELECT count(*) FROM told")).fetchone() == (len(confirmed),)
                if log_too:
                    with pytest.raises(psycopg.OperationalError):
                        while True:
                            await session.execute("SELECT pg_logical_emit_message(false, 'told', repeat('x', 1000000))")
            if log_too:  # what ends beside free space is not restarted
                await until(lambda: "waiting for space" in str(said))
            (small_disk / "ballast").unlink()

            async def well() -> bool:
                with suppress(OperationalError):
                    await database.write()
                    return True
                return False

            await until(well, 30.0)
            confirmed += await written(url, range(60, 70))
            async with await open_session(url) as session:
                found = await (await session.execute("SELECT number FROM told")).fetchall()
            assert {number for (number,) in found} >= set(confirmed)
            assert confirmed[-10:] == list(range(60, 70))
            assert not watching.done()
        finally:
            watching.cancel()
            await database.close()


async def alarming(url: str) -> bool:
    """Whether the metrics that alerts look at say so."""
    async with httpx.AsyncClient(base_url=url, trust_env=False, verify=False) as operator:
        said = (await operator.get("/metrics")).text
    return all(f'openerrata_check_failing{{check="{name}"}} 1.0' in said for name in ("broker", "database", "blobs"))


async def test_readiness_and_the_doctor_say_whose_disk_is_full(tmp_path: Path, small_disk: Path) -> None:
    """And nothing of ours is restarted for it to be over."""
    (tmp_path / "servers").symlink_to(small_disk)
    with GivenServers(tmp_path / "servers") as servers:
        async with system(tmp_path / "system", OPENERRATA_MODEL="demo", **servers.settings) as running:
            assert (await running.run("topology", "apply")).code == 0
            projector = await running.up("projector")
            url = projector.operations_url

            async def problems() -> dict[str, str]:
                async with httpx.AsyncClient(base_url=url, trust_env=False, verify=False) as operator:
                    found: dict[str, str] = (await operator.get("/ready")).json()["problems"]
                    return found

            async def full() -> bool:
                fill(small_disk / "ballast")
                return {"database", "blobs", "broker"} <= (await problems()).keys()

            await until(full, 60.0)
            assert "No space left" in (await problems())["database"]
            await until(partial(alarming, url), 30.0)
            exporter = await running.run("doctor")
            assert exporter.code == 1
            for name in ("broker", "database", "blobs"):
                assert re.search(rf"BAD +{name} +it stores nothing", exporter.out), exporter.out
            (small_disk / "ballast").unlink()
            restarted: tuple[ServiceName, ...] = ("nats", "s3")
            for each in restarted:  # they refuse until somebody does this
                servers.kill(each)
                servers.start(each)

            async def well() -> bool:
                return await problems() == {}

            await until(well, 30.0)
            assert projector.alive
