"""The gateway on a real socket: long addresses, floods, keys that come and go, and what health and readiness tell."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from kit.database import Database
from tests.support.gateway import (
    BATCH,
    LOOK,
    REGISTER,
    VIEW,
    Running,
    add_key,
    migrated,
    revoke_key,
    serving,
)
from tests.support.servers import Prepare, nats_server
from tests.support.system import until
from tests.unit.gateway.fakes import data, error, post_on_x

pytest_plugins = ["tests.support.servers"]


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return migrated


@pytest.fixture
async def running(nats_url: str, database_url: str) -> AsyncIterator[Running]:
    async with serving(nats_url, database_url) as gateway_and_client:
        yield gateway_and_client


async def test_a_key_works_when_it_is_added_and_stops_when_it_is_revoked(running: Running, database_url: str) -> None:
    async def accepted() -> bool:
        response = await running.http.get("/trpc/post.validateSettings", headers={"x-api-key": "another-key"})
        return bool(data("post.validateSettings", response)["instanceApiKeyAccepted"])

    async def refused() -> bool:
        return not await accepted()

    assert await refused()
    await add_key(database_url, "another-key")
    assert await accepted()
    await revoke_key(database_url, "another-key")
    await until(refused, "the key is refused", within_s=5)


async def test_views_are_stored_and_counted(running: Running, database_url: str) -> None:
    version = await running.version(post_on_x())
    for _ in range(3):
        await running.mutate(VIEW, {"postVersionId": str(version)})
    reader = Database(database_url, role="reader")

    async def counted() -> bool:
        async with reader.connect() as connection:
            return (await connection.execute(text("SELECT view_count, unique_view_score FROM post"))).one() == (3, 1)

    await until(counted, "the views are counted")
    await reader.close()


async def test_a_real_socket_takes_long_urls_and_refuses_floods(running: Running) -> None:
    posts = [{"platform": "LESSWRONG", "externalId": "é" * 24, "versionHash": f"{n:064}"} for n in range(100)]
    response = await running.query(BATCH, {"posts": posts})
    assert len(response.request.url.raw_path) > 32_000
    assert len(data(BATCH, response)["statuses"]) == 100
    for body in (b"x" * 600_000, b"x" * 5_000_000):
        flood = await running.http.post(f"/trpc/{REGISTER}", content=body, headers={"content-type": "application/json"})
        assert flood.status_code == 413
        assert error(flood)["openerrataCode"] == "PAYLOAD_TOO_LARGE"
    too_old = {"content-type": "application/json", "x-openerrata-extension-version": "0.1"}
    outdated = await running.http.post(f"/trpc/{REGISTER}", content=b"x" * 500_000, headers=too_old)
    assert outdated.status_code == 412


async def test_health_over_a_real_socket(running: Running) -> None:
    assert (await running.http.get("/health")).json()["status"] == "ok"
    assert (await running.http.get("/ready")).json() == {"ready": False, "broken": ["blobs"]}, "none is here"
    assert b"openerrata_gateway_request_seconds" in running.host.telemetry.render()
    assert (await running.http.get("/metrics")).status_code == 404
    head = await running.http.head(f"/trpc/{LOOK}")
    assert (head.status_code, head.content) == (204, b"")


async def test_health_tells_when_the_broker_is_gone(tmp_path: Path, database_url: str) -> None:
    with nats_server(tmp_path) as broker:
        async with serving(broker.endpoints.nats_url, database_url) as running:
            version = await running.version(post_on_x())
            broker.stop()

            async def broken() -> Any:
                response = await running.http.get("/health")
                return response.json() if response.status_code == 503 else None

            assert (await until(broken, "the gateway says so"))["broken"] == ["broker"]
            response = await running.mutate(VIEW, {"postVersionId": str(version)})
            assert error(response)["code"] == "SERVICE_UNAVAILABLE"
            broker.start()

            async def well() -> bool:
                return (await running.http.get("/health")).status_code == 200

            await until(well, "all is well again")
            assert (await running.mutate(VIEW, {"postVersionId": str(version)})).status_code == 200
