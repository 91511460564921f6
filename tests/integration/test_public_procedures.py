"""The older names of the public record: the same rows, without a version gate, with nothing where there is nothing."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from kit.database import Database
from services.gateway.record.repository import PublicRecord
from tests.integration.readmodel_tables import fill, prepare, store_at
from tests.support.servers import Prepare
from tests.unit.gateway.fakes import Bench
from tests.unit.projector.histories import Page, Tape

pytest_plugins = ["tests.support.servers"]

FLAGGED = Page("en:1", "Wrong sentence 0. Wrong sentence 2.")
TWEET = Page("77", "Only readers saw this.", platform="X", provenance="CLIENT_FALLBACK")


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return prepare


@pytest.fixture
async def http(database_url: str) -> AsyncIterator[httpx.AsyncClient]:
    tape = Tape()
    tape.add(FLAGGED.registered(), *FLAGGED.investigated(), TWEET.registered(), TWEET.requested(), TWEET.started())
    tape.add(TWEET.drafted(), TWEET.completed())
    views = Tape("VIEWS")
    views.add(*(TWEET.viewed(network, network=network) for network in ("one", "two", "three")))
    store = store_at(database_url)
    await fill(store, tape.records)
    await fill(store, views.records)
    await store.close()
    database = Database(database_url, role="reader")
    bench = Bench(record=PublicRecord(database))
    del bench.http.headers["x-openerrata-extension-version"]
    async with bench.http as client:
        yield client
    await database.close()


async def ask(http: httpx.AsyncClient, name: str, question: object) -> tuple[int, Any]:
    response = await http.get(f"/trpc/public.{name}", params={"input": json.dumps(question)})
    body = response.json()
    return response.status_code, body["result"]["data"] if "result" in body else body["error"]["data"]["code"]


async def test_one_investigation(http: httpx.AsyncClient) -> None:
    status, answer = await ask(http, "getInvestigation", {"investigationId": str(FLAGGED.investigation_id)})
    assert (status, set(answer)) == (200, {"investigation", "post", "claims"})
    assert set(answer["investigation"]) == {
        "id",
        "corroborationCount",
        "checkedAt",
        "promptVersion",
        "provider",
        "model",
        "origin",
    }
    assert set(answer["post"]) == {"platform", "externalId", "url"}
    assert set(answer["claims"][0]) == {"id", "text", "context", "summary", "reasoning", "sources"}
    assert set(answer["investigation"]["origin"]) == {"provenance", "serverVerifiedAt"}
    _, tweet = await ask(http, "getInvestigation", {"investigationId": str(TWEET.investigation_id)})
    assert tweet["investigation"]["origin"] == {"provenance": "CLIENT_FALLBACK"}
    assert await ask(http, "getInvestigation", {"investigationId": "x"}) == (200, None)


async def test_a_post_and_a_list(http: httpx.AsyncClient) -> None:
    _, answer = await ask(http, "getPostInvestigations", {"platform": "WIKIPEDIA", "externalId": "en:1"})
    assert set(answer["investigations"][0]) == {
        "id",
        "contentHash",
        "origin",
        "corroborationCount",
        "checkedAt",
        "claimCount",
        "claimSummaries",
    }
    nothing: dict[str, object] = {"post": None, "investigations": []}
    assert (await ask(http, "getPostInvestigations", {"platform": "X", "externalId": "0"}))[1] == nothing
    _, listed = await ask(http, "searchInvestigations", {"limit": 1})
    assert [row["externalId"] for row in listed["investigations"]] == ["77"]
    assert listed["hasMore"] is True
    _, listed = await ask(http, "searchInvestigations", {"query": "SENTENCE", "platform": "WIKIPEDIA"})
    assert [row["externalId"] for row in listed["investigations"]] == ["en:1"]


async def test_metrics(http: httpx.AsyncClient) -> None:
    expected = {"totalInvestigatedPosts": 2, "investigatedPostsWithFlags": 1, "factCheckIncidence": 0.5}
    assert await ask(http, "getMetrics", {}) == (200, expected)
    window = {"windowStart": "2026-01-02T00:00:00Z", "windowEnd": "2026-01-01T00:00:00Z"}
    assert await ask(http, "getMetrics", window) == (400, "BAD_REQUEST")


@pytest.mark.parametrize("question", [{"limit": 0}, {"limit": 101}, {"offset": -1}, {"query": " "}, {"other": 1}])
async def test_what_cannot_be_asked(http: httpx.AsyncClient, question: object) -> None:
    assert await ask(http, "searchInvestigations", question) == (400, "BAD_REQUEST")


async def test_graphql_stands_beside_them(http: httpx.AsyncClient) -> None:
    response = await http.post("/graphql", json={"query": "{ publicMetrics { totalInvestigatedPosts } }"})
    assert response.json() == {"data": {"publicMetrics": {"totalInvestigatedPosts": 2}}}
    assert response.headers["access-control-allow-origin"] == "*"
