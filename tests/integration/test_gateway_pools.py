"""Slow searches keep nobody waiting but those who search."""

from __future__ import annotations

import asyncio
from time import monotonic

import pytest

from tests.integration.readmodel_tables import owner
from tests.support.gateway import VIEW, migrated, serving
from tests.support.servers import Prepare
from tests.support.system import until
from tests.unit.gateway.fakes import data, post_on_x

pytest_plugins = ["tests.support.servers"]

SEARCHES = 8
WITHIN_S = 1.0


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return migrated


async def test_views_do_not_wait_for_searches(nats_url: str, database_url: str) -> None:
    async with serving(nats_url, database_url) as running, await owner(database_url) as session:
        question = {"postVersionId": str(await running.version(post_on_x()))}
        await session.execute("BEGIN; LOCK TABLE search_document IN ACCESS EXCLUSIVE MODE")
        ask = {"query": '{ search(query: "walk") { edges { cursor } } }'}
        searches = [asyncio.create_task(running.http.get("/corrections?q=walk")) for _ in range(SEARCHES)]
        searches += [asyncio.create_task(running.http.post("/graphql", json=ask)) for _ in range(SEARCHES)]
        try:

            async def waiting() -> bool:
                found = await session.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
                row = await found.fetchone()
                return row is not None and row[0] >= 5

            await until(waiting, "searches wait for the table")
            took = []
            for _ in range(5):
                began = monotonic()
                data(VIEW, await running.mutate(VIEW, question))
                took.append(monotonic() - began)
            assert max(took) < WITHIN_S, took
        finally:
            await session.execute("ROLLBACK")
            await asyncio.gather(*searches)
