"""What is not a procedure: health that tells the truth, the public JSON, and documentation that covers everything."""

from __future__ import annotations

import html
import json
import re
import shlex

import pytest
from graphql import parse, validate
from starlette.routing import Route
from structlog.testing import capture_logs

from contracts.rpc.public import Origin, PublicInvestigation, PublicPost, PublicResult
from contracts.rpc.status import claim_out
from contracts.topology import ANALYST_SUBJECTS
from services.gateway.ports import Unavailable
from services.gateway.public.graphql.schema import make_schema
from services.gateway.public.site.answers import POLICY
from tests.unit.gateway.fakes import INVESTIGATION, NOW, Bench, claim
from tests.unit.gateway.shapes import ANSWERS

RESULT = PublicResult(
    investigation=PublicInvestigation(
        id=str(INVESTIGATION),
        content_hash="a" * 64,
        origin=Origin(provenance="CLIENT_FALLBACK", server_verified_at=None),
        corroboration_count=2,
        checked_at=NOW,
        prompt_version="v1",
        provider="demo",
        model="demo-catalogue",
    ),
    post=PublicPost(platform="X", external_id="1", url="https://x.com/a/status/1"),
    claims=(claim_out(claim()),),
)


async def test_the_root_says_what_this_is() -> None:
    body = (await Bench().http.get("/")).json()
    assert list(body) == ["message"]


@pytest.mark.requirement("2.3-01")
async def test_one_server_answers_the_extension_and_the_public() -> None:
    """2.3-01: The server answers procedures and public GraphQL."""
    bench = Bench()
    asked = await bench.query("post.getInvestigation", {"investigationId": str(INVESTIGATION)})
    read = await bench.http.post("/graphql", json={"query": "{ __typename }"})
    assert (asked.status_code, read.status_code, read.json()) == (200, 200, {"data": {"__typename": "Query"}})


async def test_health_is_ok_while_readers_can_be_served() -> None:
    response = await Bench().http.get("/health")
    assert response.status_code == 200
    assert response.json() == {"status": "ok", "minimumSupportedExtensionVersion": "0.2.0"}
    assert response.headers["access-control-allow-origin"] == "*"


@pytest.mark.parametrize("name", ["broker", "database", "projector"])
async def test_health_names_what_is_broken_and_notices_when_it_is_back(name: str) -> None:
    bench = Bench()
    bench.health.names = (name,)
    response = await bench.http.get("/health")
    assert response.status_code == 503
    assert response.json()["status"] != "ok"
    assert response.json()["broken"] == [name]
    assert (await bench.http.get("/ready")).json() == {"ready": False, "broken": [name]}
    bench.health.names = ()
    bench.clock.pass_by(1)
    assert (await bench.http.get("/ready")).status_code == 200


async def test_without_a_blob_store_readers_are_served_but_better_elsewhere() -> None:
    bench = Bench()
    bench.health.helpful = ("blobs",)
    assert (await bench.http.get("/health")).json()["status"] == "ok"
    assert bench.health.helpful_asked == 0, "a blob store that says nothing would delay the answer"
    response = await bench.http.get("/ready")
    assert (response.status_code, response.json()) == (503, {"ready": False, "broken": ["blobs"]})


@pytest.mark.parametrize("path", ["/health", "/ready", "/openapi.json", "/"])
async def test_the_headers_alone(path: str) -> None:
    bench = Bench()
    head, whole = await bench.http.head(path), await bench.http.get(path)
    assert (head.status_code, head.content) == (whole.status_code, b"")
    assert head.headers["content-type"] == whole.headers["content-type"]


@pytest.mark.parametrize(
    "path", ["/health", "/ready", "/openapi.json", "/asyncapi.json", "/figures", "/feeds/all.json"]
)
async def test_another_method_is_answered_with_those_that_a_path_takes(path: str) -> None:
    response = await Bench().http.post(path)
    assert response.status_code == 405
    assert "GET" in response.headers["allow"].split(", ")


@pytest.mark.parametrize("path", ["/nowhere", "/health/", "/figures/"])
async def test_an_unknown_path_is_missing_by_any_method(path: str) -> None:
    bench = Bench()
    for method in ("GET", "POST"):
        response = await bench.http.request(method, path)
        assert (response.status_code, response.headers["content-type"]) == (404, "text/html; charset=utf-8")


async def test_health_costs_one_look_a_second() -> None:
    bench = Bench()
    for _ in range(50):
        await bench.http.get("/health")
    assert bench.health.asked == 1


async def test_the_public_json_of_an_investigation() -> None:
    bench = Bench()
    bench.reads.published[INVESTIGATION] = RESULT
    response = await bench.http.get(f"/investigations/{INVESTIGATION}.json")
    assert response.status_code == 200
    body = response.json()
    assert body["investigation"] == {
        "id": str(INVESTIGATION),
        "contentHash": "a" * 64,
        "origin": {"provenance": "CLIENT_FALLBACK", "serverVerifiedAt": None, "corroboratedAt": None},
        "corroborationCount": 2,
        "checkedAt": "2026-03-04T05:06:07.089Z",
        "promptVersion": "v1",
        "provider": "demo",
        "model": "demo-catalogue",
    }
    assert body["post"] == {"platform": "X", "externalId": "1", "url": "https://x.com/a/status/1"}
    assert body["claims"][0]["sources"][0]["url"] == "https://example.org/1"


@pytest.mark.parametrize("name", [str(INVESTIGATION), "nonsense", "%00", "a" * 60])
async def test_no_finished_investigation_is_404_in_json(name: str) -> None:
    response = await Bench().http.get(f"/investigations/{name}.json")
    assert response.status_code == 404
    assert response.json()["message"]


@pytest.mark.parametrize(("error", "status"), [(Unavailable("10.0.0.1"), 503), (RuntimeError("hunter2"), 500)])
async def test_trouble_shows_nothing_of_itself(error: Exception, status: int) -> None:
    bench = Bench()
    bench.reads.error = error
    with capture_logs() as logs:
        response = await bench.http.get(f"/investigations/{INVESTIGATION}.json")
    assert response.status_code == status
    assert [line["reason"] for line in logs] == (["10.0.0.1"] if status == 503 else [])
    assert "hunter2" not in response.text
    assert "10.0.0.1" not in response.text


async def test_every_procedure_is_documented() -> None:
    document = (await Bench().http.get("/openapi.json")).json()
    for procedure in ANSWERS:
        operations = document["paths"][f"/trpc/{procedure}"]
        for operation in operations.values():
            assert operation["description"]
            assert operation["responses"]["200"]["content"]["application/json"]["schema"]["required"] == ["result"]
    assert set(document["paths"]["/trpc/post.batchStatus"]) == {"get", "post"}
    assert "ClaimOut" in document["components"]["schemas"]
    shape = document["components"]["schemas"]["XMetadata"]
    assert shape["properties"]["likeCount"]["type"] == "integer"
    assert shape["additionalProperties"] is False


async def test_the_refusals_of_a_document_are_documented() -> None:
    bench = Bench()
    path = "/investigations/{investigation_id}.json"
    described = (await bench.http.get("/openapi.json")).json()["paths"][path]["get"]["responses"]
    missing = await bench.http.get(path.format(investigation_id=INVESTIGATION))
    bench.reads.error = Unavailable("the database")
    unavailable = await bench.http.get(path.format(investigation_id=INVESTIGATION))
    for answer, status in ((missing, "404"), (unavailable, "503")):
        assert str(answer.status_code) == status
        assert answer.json().keys() == set(described[status]["content"]["application/json"]["schema"]["required"])


async def test_the_asyncapi_document_is_served() -> None:
    response = await Bench().http.get("/asyncapi.json")
    assert (response.status_code, response.headers["content-type"]) == (200, "application/json")
    assert response.json()["asyncapi"] == "3.0.0"
    assert "claim.approved" in response.json()["channels"]


HOLE = re.compile(r"\{[a-z0-9_]+(?::path)?\}")


async def test_every_page_of_the_assembled_gateway_is_guarded() -> None:
    bench = Bench()
    paths = [HOLE.sub("x", route.path) for route in bench.app.shell.routes if isinstance(route, Route)]
    assert {"/docs", "/api", "/investigations/x"} <= set(paths)
    pages = 0
    for path in [*paths, "/redoc", "/metrics", "/nowhere"]:
        response = await bench.http.get(path, headers={"accept": "text/html"})
        if response.headers.get("content-type", "").startswith("text/html"):
            pages += 1
            assert response.headers["content-security-policy"] == POLICY, path
            assert response.headers["x-content-type-options"] == "nosniff", path
            assert not re.search(
                r"<script(?! type=\"application/ld)|src=\"http|<link[^>]+href=\"http", response.text
            ), path
    assert pages > 10


async def test_the_routes_are_described_on_a_page() -> None:
    bench = Bench()
    page = (await bench.http.get("/docs")).text
    document = (await bench.http.get("/openapi.json")).json()
    for path in document["paths"]:
        assert f"<code>{path}</code>" in page
    for name in document["components"]["schemas"]:
        assert f'id="{name}"' in page
    for name in re.findall(r'href="#([^"]+)"', page):
        assert f'id="{name}"' in page
    assert len(page) < 100_000


async def test_the_page_of_routes_is_for_those_who_call_them() -> None:
    page = (await Bench(jobs=True, catalogue=True).http.get("/docs")).text
    headings = re.findall(r"<h2[^>]*>([^<]+)</h2>", page)
    assert headings == [
        "The public record",
        "The browser extension",
        "Audits of articles",
        "The service itself",
        "Shapes",
    ]
    assert "Raises:" not in page
    routes = re.findall(r'<section class="route">(.*?)</section>', page, re.DOTALL)
    silent = [each for each in routes if "<dt>Answers" not in each]
    assert silent == []


async def test_the_api_page_lists_what_can_be_followed_and_says_what_everything_is() -> None:
    page = (await Bench().http.get("/api")).text
    assert "errata.v1.claim.approved" in page
    assert "errata.v1.observation.received" not in page
    assert "<td></td>" not in page


async def test_the_question_on_the_api_page_can_be_asked_as_it_stands() -> None:
    page = (await Bench().http.get("/api")).text
    commands = [shlex.split(html.unescape(each)) for each in re.findall(r"<code>(curl [^<]+)</code>", page)]
    (asked,) = (each[each.index("--data") + 1] for each in commands if "--data" in each)
    assert validate(make_schema(), parse(json.loads(asked)["query"])) == []


async def test_the_api_page_names_no_subject_that_the_broker_refuses_to_analysts() -> None:
    page = html.unescape((await Bench().http.get("/api")).text)
    followed = re.findall(r"errata\.v1\.[a-z_.]+>", page)
    assert followed
    assert set(followed) <= set(ANALYST_SUBJECTS)
