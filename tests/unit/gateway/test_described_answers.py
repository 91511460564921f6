"""The OpenAPI document lists each status that a route answers with, and the errors that come with it as they are."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import reduce
from typing import Any

import httpx
import pytest
from starlette.routing import Route

from services.gateway.http import BODY_BYTES
from services.gateway.ports import Unavailable
from services.gateway.public.appeals import PATH as APPEALS
from services.gateway.public.decision_log import PREFIX as DECISION_LOG
from services.gateway.public.described_reads import describe_reads
from services.gateway.public.graphql.http import PATH as GRAPHQL
from services.gateway.public.lookups import PREFIX as LOOKUPS
from services.gateway.public.stream.endpoint import PATH as EVENTS
from tests.unit.gateway.fakes import INVESTIGATION, Bench

VIEW = "post.recordViewAndGetStatus"
LOOK = "post.getInvestigation"


async def problems(bench: Bench, response: httpx.Response) -> list[str]:
    """What the document does not say of an answer, or says otherwise."""
    document = (await bench.http.get("/openapi.json")).json()
    operation = document["paths"][response.request.url.path][response.request.method.lower()]
    described = operation["responses"].get(str(response.status_code), {}).get("content", {})
    media_type = response.headers["content-type"].partition(";")[0]
    if list(described) != [media_type]:
        return [f"{response.status_code} with {media_type}"]
    schema = described[media_type]["schema"]
    if "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return list(misfits(schema, response.text if media_type == "text/plain" else response.json()))


def misfits(schema: dict[str, Any], value: Any) -> Iterator[str]:
    """Keys of objects, at any depth, that are missing or are not described; words that are none of an enumeration."""
    if "enum" in schema and value not in schema["enum"]:
        yield f"{value!r} is none of {schema['enum']}"
    if "properties" in schema:
        yield from sorted({*schema["required"]} - value.keys())
        yield from sorted(value.keys() - schema["properties"].keys())
        for key in value.keys() & schema["properties"].keys():
            yield from misfits(schema["properties"][key], value[key])


@pytest.mark.parametrize(
    ("status", "procedure", "body", "headers"),
    [
        (400, VIEW, b"{", {}),
        (401, "post.investigateNow", json.dumps({"postVersionId": "x"}).encode(), {}),
        (412, VIEW, b"{}", {"x_openerrata_extension_version": "0.1.0"}),
        (412, VIEW, b"{}", {"x_openerrata_extension_version": ""}),
        (413, VIEW, b" " * (BODY_BYTES + 1), {}),
        (415, VIEW, b"{}", {"content_type": "text/html"}),
    ],
)
async def test_refusals_of_procedures(status: int, procedure: str, body: bytes, headers: dict[str, str]) -> None:
    bench = Bench()
    response = await bench.mutate(procedure, body, **headers)
    assert response.status_code == status
    assert await problems(bench, response) == []


async def test_too_many_requests_and_servers_that_are_silent() -> None:
    bench = Bench()
    hint = {"platform": "LESSWRONG", "externalId": "1"}
    for _ in range(20):
        await bench.mutate("post.hint", hint)
    many = await bench.mutate("post.hint", hint)
    bench.reads.error = Unavailable("the database")
    silent = await bench.query(LOOK, {"investigationId": str(INVESTIGATION)})
    assert (many.status_code, silent.status_code) == (429, 503)
    assert await problems(bench, many) == await problems(bench, silent) == []


async def test_a_parameter_of_the_events_and_health() -> None:
    bench = Bench()
    wrong = await bench.http.get("/events", params={"after": "x"})
    bench.health.names = ("broker",)
    sick, unready = await bench.http.get("/health"), await bench.http.get("/ready")
    assert (wrong.status_code, sick.status_code, unready.status_code) == (400, 503, 503)
    for each in (wrong, sick, unready):
        assert await problems(bench, each) == []


@pytest.mark.parametrize(("route", "media_type"), [("report", "text/markdown"), ("events", "text/event-stream")])
async def test_a_text_is_of_one_type(route: str, media_type: str) -> None:
    document = (await Bench(jobs=True).http.get("/openapi.json")).json()
    keys = ("paths", f"/v1/jobs/{{job_id}}/{route}", "get", "responses", "200", "content")
    content: dict[str, Any] = reduce(lambda part, key: part[key], keys, document)
    assert list(content) == [media_type]


@pytest.mark.parametrize("unknown", ["x", "x" * 100])
async def test_an_id_of_another_form_is_that_of_no_investigation(unknown: str) -> None:
    bench = Bench()
    response = await bench.http.get(f"/investigations/{unknown}.json")
    document = (await bench.http.get("/openapi.json")).json()
    described = document["paths"]["/investigations/{investigation_id}.json"]["get"]["responses"]
    assert (response.status_code, response.json()) == (
        404,
        {"message": "There is no finished investigation with this id."},
    )
    assert sorted(described) == ["200", "404", "503"]


async def test_each_operation_has_an_id_of_its_own() -> None:
    document = (await Bench(jobs=True, catalogue=True).http.get("/openapi.json")).json()
    ids = [operation.get("operationId") for path in document["paths"].values() for operation in path.values()]
    assert None not in ids
    assert len(ids) == len(set(ids))


FOR_PEOPLE = {
    *(
        "/",
        "/corrections",
        "/retractions",
        "/log",
        "/authors",
        "/figures",
        "/accuracy",
        "/how-it-works",
        "/api",
        "/docs",
    ),
    *("/corrections/{}", "/appeals/{}", "/investigations/{}", "/investigations/{}/text", "/investigations/{}/audit"),
    *("/posts/{}/{}", "/authors/{}", "/problems/{}", "/publishers/{}", "/claims", "/claims/{}"),
}
FOR_BROWSERS_AND_CRAWLERS = {"/sitemap.xml", "/sitemaps/{}.xml", "/robots.txt", "/static/icon.svg", "/static/{}.css"}


async def test_every_route_that_programs_read_is_described() -> None:
    bench = Bench(jobs=True, catalogue=True)
    document = (await bench.http.get("/openapi.json")).json()
    routes = [route.path for route in bench.app.shell.routes if isinstance(route, Route)]
    known = {re.sub(r"\{[^}]+\}|(?<=/)[0-9a-f]{12}(?=\.css)", "{}", path) for path in (*routes, GRAPHQL, EVENTS)}
    described = {re.sub(r"\{[^}]+\}", "{}", path) for path in document["paths"]}
    assert known - described == {*FOR_PEOPLE, *FOR_BROWSERS_AND_CRAWLERS, "/openapi.json"}
    for prefix in (DECISION_LOG, LOOKUPS, APPEALS):
        assert any(path.startswith(prefix) for path in described), prefix


@pytest.mark.parametrize("path", [path for path, _ in describe_reads()])
async def test_what_is_described_as_read_is_answered_as_described(path: str) -> None:
    """The database of this gateway does not answer, and a page that says that nothing is there would be no route."""
    bench = Bench()
    operation = (await bench.http.get("/openapi.json")).json()["paths"][path]["get"]
    given = {"id": str(INVESTIGATION), "sha256": "a" * 64, "day": "2026-01-01", "name": "all", "kind": "atom"}
    given |= {"number": "000", "level": "0", "index": "0", "layout": "b0", "prefix": "all"}
    response = await bench.http.get(path.format(**given), params={"query": "{__typename}"})
    assert "There is no such page" not in response.text
    assert list(operation["responses"][str(response.status_code)]["content"]) == [
        response.headers["content-type"].partition(";")[0]
    ]


async def test_a_form_of_another_site_is_refused_as_described() -> None:
    bench = Bench()
    headers = {"content-type": "application/x-www-form-urlencoded", "sec-fetch-site": "cross-site"}
    response = await bench.http.post("/v1/appeals", content=b"text=x", headers=headers)
    assert response.status_code == 403
    assert await problems(bench, response) == []
