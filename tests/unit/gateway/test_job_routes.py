"""The job API over HTTP: off by default, errors in both shapes, estimates refused before they are computed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, Never
from uuid import UUID

import httpx
import pytest
from structlog.testing import capture_logs

from contracts.jobs.answers import Health
from contracts.jobs.problems import PROBLEMS, ProblemCode, ProblemDocument, slug_of
from services.gateway.domain import Account
from tests.unit.gateway.fakes import Bench

ALICE: Final = Account(UUID(int=7), "reader", "free", None, has_webhook_secret=False)
KEY: Final = "oe_of-alice"
URL: Final = "https://example.org/article"
ARTICLE: Final = {"input_url": URL}
ROUTES: Final = [
    ("POST", "/v1/analyze"),
    ("POST", "/v1/estimate"),
    ("GET", "/v1/jobs/01KBC0D2M4N6P8R0S2T4V6W8Y0"),
    ("DELETE", "/v1/jobs/01KBC0D2M4N6P8R0S2T4V6W8Y0"),
    ("GET", "/v1/jobs/01KBC0D2M4N6P8R0S2T4V6W8Y0/result"),
    ("GET", "/v1/user/credit"),
    ("GET", "/v1/health"),
    ("POST", "/admin/v1/llm/configure"),
    ("GET", "/admin/v1/llm/config"),
    ("POST", "/v1/rights/invalidate"),
    ("GET", "/v1/rights/withdrawals"),
    ("GET", "/problems/not-found"),
    ("GET", "/.well-known/openerrata-receipts.json"),
]


def opened(account: Account = ALICE, **settings: Any) -> Bench:
    """A gateway whose job API is on, and a key that opens it."""
    bench = Bench(jobs=True, **settings)
    bench.key_table.add(KEY, "audit", account=account)
    return bench


async def estimate(bench: Bench, body: object = ARTICLE, **headers: str) -> httpx.Response:
    sent = {"authorization": f"Bearer {KEY}", "content-type": "application/json"}
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return await bench.http.post("/v1/estimate", content=content, headers=sent)


def problem(response: httpx.Response, code: ProblemCode, status: int | None = None) -> Mapping[str, Any]:
    """The details of an error, whose body must have both shapes."""
    assert response.headers["content-type"] == "application/problem+json"
    document = ProblemDocument.model_validate_json(response.content)
    assert (document.error.code, document.status) == (code, response.status_code), response.text
    assert response.status_code == (status or PROBLEMS[code].statuses[0])
    assert document.instance == f"urn:uuid:{response.headers['x-correlation-id']}"
    assert document.type == f"http://gateway/problems/{slug_of(code)}"
    return document.error.details


@pytest.mark.requirement("FH-178")
@pytest.mark.parametrize(("method", "path"), ROUTES)
async def test_nothing_of_it_is_there_by_default(method: str, path: str) -> None:
    """FH-178: Everything here is off by default: `OPENERRATA_GATEWAY_JOBS=off`, every route of D is 404.

    FH-178: Audits are off by default.
    """
    bench = Bench()
    bench.key_table.add(KEY, "audit", account=ALICE)
    response = await bench.http.request(method, path, headers={"authorization": f"Bearer {KEY}"})
    assert response.status_code == 404


@pytest.mark.requirement("FH-178")
async def test_nothing_of_it_is_described_by_default() -> None:
    """FH-178: Everything here is off by default: `OPENERRATA_GATEWAY_JOBS=off`, every route of D is 404.

    FH-178: Audits are off by default.
    """
    paths = (await Bench().http.get("/openapi.json")).json()["paths"]
    assert [each for each in paths if each.startswith(("/v1", "/admin", "/problems"))] == [
        "/v1/appeals",
        "/v1/appeals/{appeal_id}/proof",
    ], "for readers"


@pytest.mark.requirement("FH-21")
async def test_health_needs_no_key() -> None:
    """FH-21: `GET /v1/health` is 200 without credentials.

    FH-21: Health is answered without credentials.
    """
    response = await opened().http.get("/v1/health")
    assert (response.status_code, response.json()) == (200, {"status": "ok"})
    Health.model_validate_json(response.content)


@pytest.mark.requirement("FH-30", "FH-27")
@pytest.mark.parametrize("authorization", ["", "Bearer oe_another", "Basic YTpi"])
async def test_without_a_key_of_an_account_it_is_401(authorization: str) -> None:
    """FH-30: Job, credit and admin routes need `Authorization: Bearer`; another account's job is 404.
    FH-27: Admin routes need role admin: 401 without credentials, 403 for another role. A change holds for jobs not
    yet started and is a fact.

    FH-30: Jobs, credit and admin routes need a key, and a job belongs to its account.
    FH-27: Admin routes need the role, and a change holds for jobs not yet started.
    """
    bench = opened()
    response = await estimate(bench, authorization=authorization)
    problem(response, "UNAUTHENTICATED")
    assert response.headers["www-authenticate"].startswith("Bearer")
    assert bench.jobs.facts == []


@pytest.mark.requirement("FH-30")
async def test_an_instance_key_in_its_own_header_opens_nothing_here() -> None:
    """FH-30: Job, credit and admin routes need `Authorization: Bearer`; another account's job is 404.

    FH-30: Jobs, credit and admin routes need a key, and a job belongs to its account.
    """
    bench = opened()
    bench.key_table.add("instance-key")
    problem(await estimate(bench, authorization="", x_api_key=KEY), "UNAUTHENTICATED")
    problem(await estimate(bench, authorization="Bearer instance-key"), "UNAUTHENTICATED")


@pytest.mark.requirement("FH-115")
async def test_a_key_without_the_right_is_403() -> None:
    """FH-115: Roles reader (default), contributor, moderator; admin for operators. Roles are given by people, never by
    a score. A key carries rights of its own.
    """
    bench = opened()
    bench.key_table.add("oe_for-readers", "investigate", account=ALICE)
    problem(await estimate(bench, authorization="Bearer oe_for-readers"), "FORBIDDEN")


@pytest.mark.requirement("FH-2", "FH-5", "FH-6", "FH-7", "FH-9")
@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({}, ""),
        ({"input_url": URL, "input_text": "words"}, ""),
        ({"input_url": URL, "input_type": "text"}, ""),
        (ARTICLE | {"options": {"max_claims": 0}}, "options.max_claims"),
        (ARTICLE | {"options": {"max_claims": 11}}, "options.max_claims"),
        (ARTICLE | {"options": {"max_claims": 2.5}}, "options.max_claims"),
        (ARTICLE | {"options": {"max_claims": "5"}}, "options.max_claims"),
        (ARTICLE | {"options": {"scenarios_per_claim": 6}}, "options.scenarios_per_claim"),
        (ARTICLE | {"options": {"max_evidence_per_scenario": 2}}, "options.max_evidence_per_scenario"),
        (ARTICLE | {"options": {"cache_preference": "never"}}, "options.cache_preference"),
        (ARTICLE | {"options": {"max_claim": 1}}, "options.max_claim"),
        ({"input_text": "  \n "}, "input_text"),
        ({"input_url": "ftp://example.org/"}, "input_url"),
        (b"{", ""),
        (b"[]", ""),
        (b'{"input_text": "\\u0000"}', ""),
        (b"\xff", ""),
    ],
)
async def test_a_body_that_is_not_valid_is_400_and_says_where(body: object, path: str) -> None:
    """FH-2: Exactly one of `input_url`, `input_text` is filled; `input_type` may be absent and is then inferred. Both,
    neither or a mismatch is 400.
    FH-5: `options.max_claims` integer 1…10, default 5; out of range is 400, never clamped.
    FH-6: `options.scenarios_per_claim` integer 1…5, default 2.
    FH-7: `options.max_evidence_per_scenario` integer 3…10, default 6.
    FH-9: `options.cache_preference` is `prefer_cache` (default), `allow_partial`, `skip_cache`, `cache_only`.

    FH-2: Exactly one of address and text is given; a missing input type is inferred.
    FH-5: `max_claims` is 1 to 10, 5 by default, and never clamped.
    FH-6: `scenarios_per_claim` is 1 to 5, 2 by default.
    FH-7: `max_evidence_per_scenario` is 3 to 10, 6 by default.
    FH-9: `cache_preference` is one of four words.
    """
    bench = opened()
    details = problem(await estimate(bench, body), "VALIDATION_ERROR")
    assert details["issues"][0]["path"] == path
    assert bench.jobs.facts == []


@pytest.mark.requirement("FH-29")
@pytest.mark.parametrize(
    "body",
    [
        {"input_text": "words of the article", "Words of the article": 1},
        {"input_text": ["words of the article"]},
        {"input_url": "words of the article"},
        {"input_text": "words", "options": {"depth": "words of the article"}},
        {"input_text": "words", "client": {"words of the article": "words of the article"}},
        b'{"input_text": "words of the article',
        {"input_text": "words of the article " * 3_000},
    ],
)
async def test_an_error_never_repeats_the_article(body: object) -> None:
    """FH-29: Errors but 402 have `{"error": {"code", "message", "details"}}`; `details` never holds an article's words.

    Nor does anything else in the answer.

    FH-29: Errors have one shape and never hold an article's words.
    """
    response = await estimate(opened(), body)
    assert response.status_code == 400
    assert "words of the article" not in response.text.lower()


@pytest.mark.requirement("FH-173")
@pytest.mark.parametrize(("words", "accepted"), [(1, True), (10_000, True), (10_001, False)])
async def test_a_text_has_at_most_10_000_words(words: int, accepted: bool) -> None:
    """FH-173: `input_text` and a fetched article have at most 10,000 words.

    FH-173: An article has at most 10,000 words.
    """
    bench = opened()
    response = await estimate(bench, {"input_text": "word " * words})
    if accepted:
        assert response.status_code == 200
    else:
        assert problem(response, "INPUT_TOO_LONG") == {"words": words, "limit": 10_000}


@pytest.mark.parametrize("characters", [100_000, 100_001])
async def test_a_text_without_spaces_has_its_limit_too(characters: int) -> None:
    response = await estimate(opened(), {"input_text": "x" * characters})
    if characters == 100_000:
        assert response.status_code == 200
    else:
        assert problem(response, "INPUT_TOO_LONG") == {"characters": characters, "limit": 100_000}


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/",
        "http://2130706433/",
        "http://[::1]/",
        "http://10.1.2.3/",
        "http://169.254.169.254/latest",
        "http://[::ffff:10.0.0.1]/",
        "http://localhost:8080/",
        "http://printer.local/",
        "https://reader:secret@example.org/",
        "https://reader@example.org/",
    ],
)
@pytest.mark.parametrize("field", ["input_url", "webhook_url"])
async def test_an_address_that_is_not_public_is_refused_at_once(url: str, field: str) -> None:
    bench = opened(replace(ALICE, has_webhook_secret=True))
    url = url.replace("http://", "https://") if field == "webhook_url" else url
    body = {"input_url": url} if field == "input_url" else ARTICLE | {"client": {field: url}}
    details = problem(await estimate(bench, body), "VALIDATION_ERROR")
    assert details["issues"][0]["path"] == (field if field == "input_url" else f"client.{field}")


async def test_a_webhook_needs_a_secret() -> None:
    body = ARTICLE | {"client": {"webhook_url": "https://example.org/hook"}}
    problem(await estimate(opened(), body), "NO_WEBHOOK_SECRET")
    assert (await estimate(opened(replace(ALICE, has_webhook_secret=True)), body)).status_code == 200


@pytest.mark.requirement("FH-29", "FH-149")
async def test_other_errors_are_in_both_shapes_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """FH-29: Errors but 402 have `{"error": {"code", "message", "details"}}`; `details` never holds an article's words.
    FH-149: Every error body also has the RFC 9457 members `type`, `title`, `status`, `detail`, `instance`; content
    type `application/problem+json`; the flat 402 keeps its fields.

    FH-29: Errors have one shape and never hold an article's words.
    FH-149: Errors are problem details.
    """
    bench = opened()
    problem(await bench.http.get("/v1/nowhere"), "NOT_FOUND")
    problem(await bench.http.get("/admin/v1/nowhere"), "NOT_FOUND")
    wrong = await bench.http.get("/v1/estimate")
    problem(wrong, "METHOD_NOT_ALLOWED")
    assert wrong.headers["allow"] == "POST"
    problem(await estimate(bench, b"x" * 524_289), "PAYLOAD_TOO_LARGE")
    problem(await estimate(bench, content_type="text/plain"), "UNSUPPORTED_MEDIA_TYPE")
    bench.jobs.broken = True
    outage = await estimate(bench)
    problem(outage, "SERVICE_UNAVAILABLE")
    assert outage.headers["retry-after"] == "3"
    assert "broker" not in outage.text
    bench.jobs.broken = False

    async def fail(*subjects: str, current: bool = False) -> Never:
        raise RuntimeError("hunter2")

    monkeypatch.setattr(bench.jobs, "latest", fail)
    with capture_logs() as logs:
        broken = await estimate(bench)
    problem(broken, "INTERNAL")
    assert any(each["event"] == "internal error" for each in logs)
    assert "hunter2" not in f"{broken.text} {logs}"


@pytest.mark.requirement("FH-151")
async def test_counts_fall_and_the_last_is_429() -> None:
    """FH-151: `RateLimit-Policy` and `RateLimit` (structured fields) on every `/v1` answer with a limit; `Retry-After`
    on 429, 503 and on 202.

    FH-151: Rate limits are stated in headers.
    """
    bench = opened(estimates_rate="2/60")
    first, second, third = [await estimate(bench) for _ in range(3)]
    assert first.headers["ratelimit-policy"] == '"estimates";q=2;w=60'
    assert (first.headers["ratelimit"], second.headers["ratelimit"]) == ('"estimates";r=1;t=30', '"estimates";r=0;t=60')
    problem(third, "RATE_LIMITED")
    assert (third.headers["retry-after"], third.headers["ratelimit"]) == ("30", '"estimates";r=0;t=60')
    bench.clock.pass_by(30)
    assert (await estimate(bench, {})).headers["ratelimit"] == '"estimates";r=0;t=60', "errors are counted as well"


@pytest.mark.requirement("FH-161")
async def test_every_answer_names_its_version() -> None:
    """FH-161: Header `OpenErrata-Version: <date>` selects the dated API version, absent means the oldest supported;
    every answer names the one used; an unknown date is 400.

    FH-161: A header selects the version of the interface.
    """
    bench = opened()
    for response in (
        await bench.http.get("/v1/health"),
        await bench.http.get("/v1/health", headers={"openerrata-version": "2026-12-01"}),
        await estimate(bench),
        await estimate(bench, {}),
        await bench.http.get("/v1/nowhere"),
    ):
        assert response.headers["openerrata-version"] == "2026-12-01"
    unknown = await estimate(bench, openerrata_version="2020-01-01")
    assert problem(unknown, "UNKNOWN_VERSION") == {"versions": ["2026-12-01"]}
    problem(await bench.http.get("/v1/health", headers={"openerrata-version": "1"}), "UNKNOWN_VERSION")


async def test_any_page_may_use_it_and_read_its_headers() -> None:
    bench = opened()
    asked = {"origin": "https://elsewhere.example", "access-control-request-method": "DELETE"}
    preflight = await bench.http.options("/v1/estimate", headers=asked)
    assert preflight.status_code == 204
    assert "DELETE" in preflight.headers["access-control-allow-methods"]
    for name in ("Authorization", "Idempotency-Key", "Last-Event-ID", "Prefer", "OpenErrata-Version"):
        assert name in preflight.headers["access-control-allow-headers"]
    answer = await estimate(bench, origin="https://elsewhere.example")
    assert answer.headers["access-control-allow-origin"] == "*"
    for name in ("Location", "Retry-After", "RateLimit", "Idempotent-Replayed", "Preference-Applied"):
        assert name in answer.headers["access-control-expose-headers"]
    other = await bench.http.options("/trpc/post.getInvestigation", headers=asked)
    assert "DELETE" not in other.headers["access-control-allow-methods"]
    assert "Authorization" not in other.headers["access-control-allow-headers"]


async def test_the_headers_alone() -> None:
    bench = opened()
    head, whole = await bench.http.head("/v1/health"), await bench.http.get("/v1/health")
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-type"] == whole.headers["content-type"]


@pytest.mark.requirement("FH-149")
@pytest.mark.parametrize("code", PROBLEMS)
async def test_the_type_of_an_error_leads_to_a_page_that_explains_it(code: ProblemCode) -> None:
    """FH-149: Every error body also has the RFC 9457 members `type`, `title`, `status`, `detail`, `instance`; content
    type `application/problem+json`; the flat 402 keeps its fields.

    FH-149: Errors are problem details.
    """
    response = await opened().http.get(f"/problems/{slug_of(code)}")
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/html")
    assert code in response.text
    assert response.headers["content-security-policy"]


async def test_a_route_has_one_path() -> None:
    assert (await opened().http.get("/v1/health")).status_code == 200
    assert (await opened().http.get("/v1/health/")).status_code == 404


@pytest.mark.parametrize("slug", ["nothing", "NOT_FOUND", "%00"])
async def test_other_problems_have_no_page(slug: str) -> None:
    assert (await opened().http.get(f"/problems/{slug}")).status_code == 404


@pytest.mark.requirement("FH-166")
async def test_the_routes_are_described() -> None:
    """FH-166: Accounts are made by the operator (`openerrata accounts`); there is no sign-up route."""
    document = (await opened().http.get("/openapi.json")).json()
    paths = {path for path in document["paths"] if path.startswith(("/v1/", "/admin/"))}
    job = "/v1/jobs/{job_id}"
    assert paths == {
        "/v1/appeals",
        "/v1/appeals/{appeal_id}/proof",
        "/v1/health",
        "/v1/analyze",
        "/v1/estimate",
        job,
        f"{job}/result",
        f"{job}/report",
        f"{job}/events",
        "/v1/user/credit",
        "/admin/v1/llm/configure",
        "/admin/v1/llm/config",
        "/v1/rights/invalidate",
        "/v1/rights/withdrawals",
    }
    rights = document["paths"]["/v1/rights/invalidate"]["post"]
    assert rights["security"] == []
    assert set(rights["responses"]) == {"202", "400", "408", "413", "415", "429", "503"}
    assert "RateLimit" in rights["responses"]["202"]["headers"]
    assert rights["requestBody"]["content"]["application/json"]["schema"]["$ref"].endswith("/WithdrawalRequest")
    assert not [path for path in document["paths"] if "account" in path or "sign" in path]
    operation = document["paths"]["/v1/estimate"]["post"]
    assert operation["security"] == [{"account": []}]
    assert document["components"]["securitySchemes"]["account"]["scheme"] == "bearer"
    assert operation["requestBody"]["content"]["application/json"]["schema"]["$ref"].endswith("/AnalyzeRequest")
    assert set(operation["responses"]) == {"200", "400", "401", "403", "408", "413", "415", "429", "503"}
    assert {each["name"] for each in operation["parameters"]} == {"OpenErrata-Version"}
    assert "RateLimit" in operation["responses"]["200"]["headers"]
    schemas = document["components"]["schemas"]
    assert schemas["Options"]["properties"]["max_claims"] == {
        "default": 5,
        "maximum": 10,
        "minimum": 1,
        "title": "Max Claims",
        "type": "integer",
    }
    assert "#/components/schemas/ProblemDocument" in _references(document)


@pytest.mark.parametrize("catalogue", [False, True])
async def test_every_document_that_a_route_names_is_described(catalogue: bool) -> None:
    """What makes a client of the document fails on a name without a meaning."""
    document = (await opened(catalogue=catalogue).http.get("/openapi.json")).json()
    assert ("/v1/claims/{entry_id}/evidence" in document["paths"]) is catalogue
    names = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
    assert set(_references(document)) - names == set()


async def test_what_the_job_api_describes_takes_no_name_of_the_public_record() -> None:
    """Two documents of one name would leave the description of one of them."""
    alone, beside = [
        (await Bench(jobs=jobs, catalogue=True).http.get("/openapi.json")).json()["components"]["schemas"]
        for jobs in (False, True)
    ]
    assert {name for name in alone if alone[name] != beside[name]} == set()


def _references(part: object) -> list[str]:
    if isinstance(part, dict):
        own = [part["$ref"]] if isinstance(part.get("$ref"), str) else []
        return own + [each for value in part.values() for each in _references(value)]
    return [each for value in part for each in _references(value)] if isinstance(part, list) else []


async def test_the_page_of_routes_describes_them() -> None:
    bench = opened()
    page = (await bench.http.get("/docs")).text
    document = (await bench.http.get("/openapi.json")).json()
    assert "<code>/v1/estimate</code>" in page
    for name in document["components"]["schemas"]:
        assert f'id="{name}"' in page


async def test_requests_are_counted_by_route() -> None:
    bench = opened()
    await estimate(bench)
    await bench.http.get("/v1/whatever-a-client-sends")
    assert 'procedure="/v1/estimate",status="200"' in bench.metrics
    assert 'procedure="unknown",status="404"' in bench.metrics


@pytest.mark.parametrize(
    ("path", "allowed"), [("/v1/jobs/01ARZ3NDEKTSV4RRFFQ69G5FAV", "DELETE, GET, HEAD"), ("/v1/analyze", "POST")]
)
async def test_another_method_is_answered_with_all_that_an_address_takes(path: str, allowed: str) -> None:
    response = await opened().http.patch(path)
    problem(response, "METHOD_NOT_ALLOWED")
    assert response.headers["allow"] == allowed
