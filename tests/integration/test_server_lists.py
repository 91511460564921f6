"""Of several servers in one setting any may be down when a process starts, in whichever way it is down."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from sqlalchemy import make_url

from kit import topology
from kit.bus import connect
from kit.database import Database, is_current, open_session
from kit.embedded import EmbeddedStack
from kit.servers import database_url as accepted
from tests.integration.readmodel_tables import prepare
from tests.support.servers import Prepare, nats_server

pytest_plugins = ["tests.support.delivering"]

CLOSED = "127.0.0.1:9"
"""Nobody listens there."""
SOON_S = 8.0


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return prepare


@pytest_asyncio.fixture
async def silent() -> AsyncIterator[str]:
    """A host that takes connections and says nothing, as one whose process is stopped."""
    over = asyncio.Event()

    async def hold(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await over.wait()
        writer.close()

    async with await asyncio.start_server(hold, "127.0.0.1", 0) as server:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        over.set()


@pytest.mark.parametrize("last", [False, True])
async def test_a_broker_of_a_list_is_found_whatever_the_others_do(
    server: EmbeddedStack, silent: str, *, last: bool
) -> None:
    alive = server.endpoints.nats_url
    who = alive.rpartition("@")[0]
    down = [f"{who}@{CLOSED}", f"{who}@{silent}"]
    began = time.monotonic()
    async with connect(",".join([*down, alive] if last else [alive, *down]), name="test") as bus:
        assert (await bus.jetstream.account_info()) is not None
    assert time.monotonic() - began < SOON_S


async def test_each_monitoring_address_that_answers_counts(tmp_path: Path, server: EmbeddedStack) -> None:
    dead, careless = f"http://{CLOSED}", server.endpoints.nats_monitor_url
    with nats_server(tmp_path, durable=True) as own:
        async with connect(own.endpoints.nats_url, name="test") as bus:
            await topology.apply(bus)
            careful = own.endpoints.nats_monitor_url
            await topology.require_durable(bus, f"{dead}, {careful}")
            with pytest.raises(topology.UnsafeBroker, match="before it has written"):
                await topology.require_durable(bus, f"{careful},{careless}")
            with pytest.raises(topology.UnsafeBroker, match="does not answer"):
                await topology.require_durable(bus, f"{dead},{dead}")


async def test_a_database_of_a_list_is_found_beside_a_dead_one(database_url: str) -> None:
    at = make_url(database_url)
    query = dict(at.query)
    hosts = [f"127.0.0.1:{CLOSED.rpartition(':')[2]}", f"{query.pop('host')}:{query.pop('port')}"]
    for order in (hosts, hosts[::-1]):
        both = at.set(query={**query, "host": order, "target_session_attrs": "read-write"})
        url = accepted(both.render_as_string(hide_password=False))
        assert await is_current(url)
        async with await open_session(url) as db:
            assert await (await db.execute("SELECT 1")).fetchone() == (1,)
        database = Database(url, role="reader")
        try:
            async with database.connect() as connection:
                assert (await connection.exec_driver_sql("SELECT 1")).scalar_one() == 1
        finally:
            await database.close()
