"""What browsers are told: who may read an answer, and that it is nothing but what it says it is."""

from __future__ import annotations

import pytest

from services.gateway.procedure import Procedure
from tests.unit.gateway.fakes import VERSION, Bench

ALLOW = "access-control-allow-origin"
VIEW = "post.recordViewAndGetStatus"
MUTATIONS = ("post.registerObservedVersion", VIEW, "post.investigateNow", "post.hint")
EXTENSIONS = (
    "chrome-extension://abcdefghijklmnopabcdefghijklmnop",
    "moz-extension://01a2055e-ec69-71f8-b2b3-0b924fc2b061",
    "safari-web-extension://01A2055E-EC69-71F8-B2B3-0B924FC2B061",
)
STRANGERS = (
    "https://evil.example",
    "https://chrome-extension.example",
    "null",
    "http://errata.example",
    "https://errata.example.evil.example",
)
PATHS = (
    "/",
    "/corrections",
    "/how-it-works",
    "/robots.txt",
    "/static/icon.svg",
    "/health",
    "/ready",
    "/openapi.json",
    "/asyncapi.json",
    "/graphql?query={__typename}",
    "/trpc/post.validateSettings",
    "/trpc/post.nothing",
    "/events?type=nonsense",
    "/investigations/x.json",
    "/nothing",
)


def mutations(bench: Bench) -> set[str]:
    table: dict[str, Procedure] = bench.app.rpc._table  # type: ignore[assignment]  # private, and asked on purpose
    return {name for name, procedure in table.items() if procedure.kind == "mutation"}


@pytest.mark.parametrize("origin", [*EXTENSIONS, "https://errata.example"])
async def test_extensions_and_chosen_origins_may_change_things(origin: str) -> None:
    bench = Bench(cors_origins="https://errata.example,https://other.example")
    assert mutations(bench) == set(MUTATIONS)
    for name in MUTATIONS:
        asked = await bench.http.options(f"/trpc/{name}", headers={"origin": origin})
        assert (asked.status_code, asked.headers[ALLOW], asked.headers["vary"]) == (204, origin, "origin")
        assert "x-api-key" in asked.headers["access-control-allow-headers"]
    answered = await bench.mutate(VIEW, {"postVersionId": str(VERSION)}, origin=origin)
    assert (answered.status_code, answered.headers[ALLOW]) == (200, origin)
    assert answered.headers["vary"] == "trpc-accept, origin"


@pytest.mark.parametrize("origin", STRANGERS)
async def test_pages_of_other_sites_may_not(origin: str) -> None:
    bench = Bench(cors_origins="https://errata.example")
    for name in MUTATIONS:
        assert ALLOW not in (await bench.http.options(f"/trpc/{name}", headers={"origin": origin})).headers
        assert ALLOW not in (await bench.mutate(name, {}, origin=origin)).headers


async def test_without_an_origin_nothing_is_asked() -> None:
    assert (await Bench().mutate(VIEW, {"postVersionId": str(VERSION)})).status_code == 200


@pytest.mark.parametrize("path", ["/trpc/post.getInvestigation", "/trpc/post.batchStatus", "/graphql", "/events"])
async def test_everybody_may_read(path: str) -> None:
    for method in ("OPTIONS", "GET"):
        response = await Bench(events_clients=0).http.request(method, path, headers={"origin": STRANGERS[0]})
        assert response.headers[ALLOW] == "*"


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "OPTIONS"])
async def test_nothing_is_sniffed(method: str) -> None:
    bench = Bench(events_clients=0)
    for path in PATHS:
        response = await bench.http.request(method, path)
        assert response.headers.get_list("x-content-type-options") == ["nosniff"], path


async def test_a_host_that_a_client_names_is_its_own_affair() -> None:
    for bench, host, varies in (
        (Bench(), "evil.example", True),
        (Bench(public_url="https://errata.example"), "errata.example", False),
    ):
        response = await bench.http.get("/robots.txt", headers={"host": "evil.example"})
        assert f"://{host}/sitemap.xml" in response.text
        assert ("host" in response.headers.get("vary", "").lower().split(", ")) is varies
