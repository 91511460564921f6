"""A pooled connection that the server has ended is replaced unnoticed, and none is asked whether it lives."""

from __future__ import annotations

import asyncio
import gc

import psycopg.waiting
import pytest
from sqlalchemy.exc import TimeoutError as PoolTimeout

from kit.database import Database
from kit.failure_policy import classify
from tests.integration.readmodel_tables import owner, prepare
from tests.support.servers import Prepare
from tests.support.system import until

pytest_plugins = ["tests.support.servers"]


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return prepare


async def backend(database: Database) -> int:
    async with database.connect() as connection:
        pid: int = (await connection.exec_driver_sql("SELECT pg_backend_pid()")).scalar_one()
    return pid


async def test_a_session_that_was_ended_is_replaced(database_url: str) -> None:
    database = Database(database_url, role="reader", pool_size=1)
    try:
        first = await backend(database)
        assert await backend(database) == first
        async with await owner(database_url) as db:
            await db.execute("SELECT pg_terminate_backend(%s)", (first,))

            async def gone() -> bool:
                found = await db.execute("SELECT FROM pg_stat_activity WHERE pid = %s", (first,))
                return await found.fetchone() is None

            await until(gone, "the session ends")
        assert await backend(database) != first
        async with database.transaction() as connection:
            await connection.exec_driver_sql("SELECT 1")
    finally:
        await database.close()


async def test_a_pool_whose_connections_all_wait_for_a_slow_server_is_an_outage(database_url: str) -> None:
    """Else messages would become dead letters while a table is locked for some minutes."""
    database = Database(database_url, role="reader", pool_size=1, wait_s=0.01)
    try:
        async with database.connect():
            with pytest.raises(PoolTimeout) as caught:
                await backend(database)
    finally:
        await database.close()
    assert classify(caught.value, delivery_count=1) == "outage"


async def test_a_checkout_asks_the_server_nothing(database_url: str) -> None:
    database = Database(database_url, role="reader", pool_size=1)
    try:
        pid = await backend(database)
        async with database.connect(), await owner(database_url) as db:
            found = await db.execute("SELECT query FROM pg_stat_activity WHERE pid = %s", (pid,))
            assert await found.fetchone() == ("SELECT pg_backend_pid()",)
    finally:
        await database.close()


async def test_whoever_leaves_while_a_transaction_opens_gives_the_connection_back(
    database_url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As a client that disconnects: the moments at which a driver with much to do gives way to others are all met."""
    monkeypatch.setattr(psycopg.waiting, "MAX_BUSY_TIME", 0)
    database = Database(database_url, role="reader", pool_size=1)

    async def ask() -> None:
        async with database.transaction() as connection:
            await connection.exec_driver_sql("SELECT 1")

    try:
        for turns in range(12):
            await backend(database)
            asking = asyncio.create_task(ask())
            for _ in range(turns):
                await asyncio.sleep(0)
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
            del asking
            gc.collect()
        assert [record.getMessage() for record in caplog.records if record.name.startswith("sqlalchemy.pool")] == []
    finally:
        await database.close()


async def test_a_transaction_is_kept_as_a_whole_or_not_at_all(database_url: str) -> None:
    database = Database(database_url, role="reader", pool_size=1)
    try:
        async with database.connect() as connection:
            await connection.exec_driver_sql("CREATE TEMP TABLE kept (number int)")
        with pytest.raises(LookupError):
            async with database.transaction() as connection:
                await connection.exec_driver_sql("INSERT INTO pg_temp.kept VALUES (1)")
                raise LookupError
        async with database.transaction() as connection:
            await connection.exec_driver_sql("INSERT INTO pg_temp.kept VALUES (2)")
            isolation = (await connection.exec_driver_sql("SHOW transaction_isolation")).scalar_one()
        async with database.connect() as connection:
            kept = (await connection.exec_driver_sql("SELECT number FROM pg_temp.kept")).scalars().all()
        assert (isolation, kept) == ("read committed", [2])
    finally:
        await database.close()
