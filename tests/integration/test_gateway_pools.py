"""Slow searches keep nobody waiting but those who search."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest

from services.gateway.record import connection
from tests.integration.readmodel_tables import owner
from tests.support.gateway import VIEW, Running, migrated, serving
from tests.support.servers import Prepare
from tests.support.system import until
from tests.unit.gateway.fakes import data, post_on_x

pytest_plugins = ["tests.support.servers"]

SEARCHES = 8
POOL = 5


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return migrated


@asynccontextmanager
async def slow_searches(running: Running, database_url: str) -> AsyncIterator[list[asyncio.Task[httpx.Response]]]:
    """As many of each kind as do not fit its pool; none ends before this block does, but what is refused."""
    ask = {"query": '{ search(query: "walk") { edges { cursor } } }'}
    async with await owner(database_url) as session:
        await session.execute("BEGIN; LOCK TABLE search_document IN ACCESS EXCLUSIVE MODE")
        searches = [asyncio.create_task(running.http.get("/corrections?q=walk")) for _ in range(SEARCHES)]
        searches += [asyncio.create_task(running.http.post("/graphql", json=ask)) for _ in range(SEARCHES)]
        try:

            async def waiting() -> bool:
                found = await session.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
                row = await found.fetchone()
                return row is not None and row[0] >= 2 * POOL

            await until(waiting, "searches wait for the table")
            yield searches
        finally:
            await session.execute("ROLLBACK")
            await asyncio.gather(*searches)


async def test_views_do_not_wait_for_searches(
    nats_url: str, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No search is given up meanwhile, so a view that waited for one would get no answer."""
    monkeypatch.setattr(connection, "_READING", connection._READING.replace(str(connection.TIMEOUT_MS), "60000"))
    async with serving(nats_url, database_url) as running:
        question = {"postVersionId": str(await running.version(post_on_x()))}
        async with slow_searches(running, database_url):
            for _ in range(POOL):
                data(VIEW, await running.mutate(VIEW, question))


async def test_a_search_that_finds_no_free_connection_is_refused_soon(nats_url: str, database_url: str) -> None:
    async with serving(nats_url, database_url, page_wait_s=0.1) as running:
        async with slow_searches(running, database_url) as searches:

            async def refused() -> bool:
                return sum(each.done() for each in searches) == 2 * (SEARCHES - POOL)

            await until(refused, "those for whom there is no connection are answered")
            answers = [each.result() for each in searches if each.done()]
            assert {answer.status_code for answer in answers} == {503}
            assert {answer.headers["retry-after"] for answer in answers} == {"3"}
        assert {each.result().status_code for each in searches if each.result() not in answers} == {200}
