"""A PostgreSQL that stops, or a connection to it that dies without a word: statements fail soon and work goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from sqlalchemy.exc import OperationalError

from kit.database import Database, migrate
from kit.embedded import EmbeddedStack
from kit.sessions import Session, SuccessiveSessions
from tests.support.line import Line
from tests.support.suspended import suspended
from tests.support.system import until

RECOVERED_S = 10.0
REFUSED_S = 3.0


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedStack]:
    folder: Path = tmp_path_factory.mktemp("postgres")
    with EmbeddedStack(folder, durable=False, services=("postgres",)) as running:
        asyncio.run(migrate(running.endpoints.database_url))
        yield running


async def answers(database: Database) -> bool:
    try:
        async with asyncio.timeout(RECOVERED_S), database.connect() as connection:
            await connection.exec_driver_sql("SELECT 1")
    except (OperationalError, TimeoutError):
        return False
    return True


async def refused_s(database: Database) -> float:
    began = asyncio.get_running_loop().time()
    assert not await answers(database)
    return asyncio.get_running_loop().time() - began


async def test_a_server_that_was_stopped_is_used_again_at_once(server: EmbeddedStack) -> None:
    """Statements of the pool, more of them than it has places, and one of a session that was under way."""
    database = Database(server.endpoints.database_url, role="reader", pool_size=2)
    try:
        assert await answers(database)
        session = await database.session()
        asked = asyncio.create_task(session.execute("SELECT pg_sleep(60)"))
        with suspended(server):
            waited_s = max(await asyncio.gather(*(refused_s(database) for _ in range(6))))
            assert waited_s < REFUSED_S
            with pytest.raises(psycopg.OperationalError):
                await asked
            assert await refused_s(database) < waited_s / 4, "while it is known to be silent no request waits"
        await until(lambda: answers(database), "the database answers", within_s=RECOVERED_S)
    finally:
        await database.close()


async def test_a_connection_that_was_closed_meanwhile_hides_no_silence(server: EmbeddedStack) -> None:
    """Until the driver notices, its statement is waited for like the others."""
    database = Database(server.endpoints.database_url, role="reader", pool_size=1)
    try:
        assert await answers(database), "a connection is open before the silence"
        session = await database.session()
        assert isinstance(session, Session)
        assert session.watch is not None
        session.watch.begin(session)
        session.pgconn.finish()
        with suspended(server):
            assert await refused_s(database) < REFUSED_S
    finally:
        await database.close()


async def test_half_open_connections_are_replaced(server: EmbeddedStack) -> None:
    """The server answers others: it has ended, or never got, what we wait for."""
    url = server.endpoints.database_url
    async with Line(url) as line:
        database = Database(line.url, role="reader", pool_size=1)
        try:
            assert await answers(database)
            line.fail("half-open")
            line.heal()
            assert await refused_s(database) < REFUSED_S
            assert await answers(database)
        finally:
            await database.close()


async def test_what_a_lost_session_had_locked_is_free_for_the_next(server: EmbeddedStack) -> None:
    """Nobody tells the server that the way to it is broken: something between the two still answers for us."""
    locks = "SELECT pg_try_advisory_lock(11)"
    async with Line(server.endpoints.database_url) as line:
        database = Database(line.url, role="projector")
        connect = SuccessiveSessions(database.session)
        other = await Database(server.endpoints.database_url, role="projector").session()
        try:
            before = await connect()
            assert await (await before.execute(locks)).fetchone() == (True,)
            line.fail("half-open")
            line.heal()
            assert await (await other.execute(locks)).fetchone() == (False,)
            async with await connect() as after:
                assert await (await after.execute(locks)).fetchone() == (True,)
                assert await (await other.execute("SELECT 1")).fetchone() == (1,), "nobody else is touched"
            await before.close()
        finally:
            await other.close()
            await database.close()


async def test_a_long_statement_is_left_alone(server: EmbeddedStack) -> None:
    """It, and one that waits for a lock."""
    database = Database(server.endpoints.database_url, role="projector", pool_size=2)
    try:
        async with database.transaction() as holder, database.transaction() as other:
            await holder.exec_driver_sql("SELECT pg_advisory_xact_lock(7)")
            waiting = asyncio.create_task(other.exec_driver_sql("SELECT pg_advisory_xact_lock(7)"))
            await holder.exec_driver_sql("SELECT pg_sleep(3)")
            await holder.rollback()
            await waiting
    finally:
        await database.close()
