"""The envelope around every procedure: statuses, headers, sizes, and the order in which a request is refused."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from uuid import UUID

import pytest

from services.gateway.http import BODY_BYTES
from services.gateway.ports import Unavailable
from tests.unit.gateway.fakes import Bench, data, error, post_on_x

VIEW = "post.recordViewAndGetStatus"
LOOK = "post.getInvestigation"


async def test_a_success_has_the_envelope_and_its_headers() -> None:
    response = await Bench().query(LOOK, {"investigationId": "nobody-knows"})
    assert response.json() == {
        "result": {"data": {"investigationState": "NOT_INVESTIGATED", "priorInvestigationResult": None}}
    }
    assert response.headers["content-type"] == "application/json"
    assert response.headers["vary"] == "trpc-accept"
    assert response.headers["cache-control"] == "no-store"
    assert response.headers["access-control-allow-origin"] == "*"


async def test_an_unknown_procedure_is_not_found() -> None:
    response = await Bench().query("post.nothing")
    assert response.status_code == 404
    assert error(response) == {"code": "NOT_FOUND", "httpStatus": 404, "path": "post.nothing"}
    assert response.json()["error"]["code"] == -32004


@pytest.mark.parametrize("path", ["%ED%A0%80", "a/b", "", "%00", "post.getInvestigation/"])
async def test_odd_paths_are_not_found(path: str) -> None:
    response = await Bench().http.get(f"/trpc/{path}")
    assert response.status_code == 404
    assert error(response)["code"] == "NOT_FOUND"


async def test_the_wrong_method_is_refused() -> None:
    bench = Bench()
    assert (await bench.query(VIEW, {"postVersionId": "x"})).status_code == 405
    assert error(await bench.mutate(LOOK, {"investigationId": "x"}))["code"] == "METHOD_NOT_SUPPORTED"
    assert (await bench.http.put(f"/trpc/{LOOK}")).status_code == 405


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", "/v1/appeals", "POST"),
        ("DELETE", f"/v1/appeals/{UUID(int=7)}/proof", "POST"),
        ("POST", "/log/v1/checkpoint", "GET, HEAD"),
        ("POST", "/events", "GET"),
    ],
)
async def test_a_wrong_method_is_answered_with_the_right_ones(method: str, path: str, allowed: str) -> None:
    answer = await Bench().http.request(method, path)
    assert (answer.status_code, answer.headers.get("allow")) == (405, allowed)


@pytest.mark.parametrize("content_type", [None, "text/plain", "multipart/form-data", "application/octet-stream"])
async def test_only_json_is_read(content_type: str | None) -> None:
    bench = Bench()
    headers = {} if content_type is None else {"content-type": content_type}
    response = await bench.http.post(f"/trpc/{VIEW}", content=b"{}", headers=headers)
    assert response.status_code == 415
    assert error(response) == {"code": "UNSUPPORTED_MEDIA_TYPE", "httpStatus": 415}


async def test_json_may_name_its_charset() -> None:
    response = await Bench().mutate(VIEW, {"postVersionId": "x"}, content_type="application/json; charset=utf-8")
    assert response.status_code == 200


@pytest.mark.parametrize("body", [b"", b"{", b"[" * 50_000, b"null", b"1", b'"\xff"', b'{"postVersionId":"\\ud800"}'])
async def test_an_unreadable_body_is_a_bad_request(body: bytes) -> None:
    response = await Bench().mutate(VIEW, body)
    assert error(response)["code"] == "BAD_REQUEST"
    assert response.json()["error"]["code"] == -32600


async def test_deep_nesting_in_a_query_is_a_bad_request() -> None:
    response = await Bench().http.get(f"/trpc/{LOOK}", params={"input": '{"a":' * 5_000})
    assert response.status_code == 400


async def test_a_query_without_input_is_a_bad_request() -> None:
    assert (await Bench().query(LOOK)).status_code == 400
    assert (await Bench().http.get(f"/trpc/{LOOK}?input=%FF%FE")).status_code == 400


async def test_head_is_empty() -> None:
    response = await Bench().http.head(f"/trpc/{LOOK}")
    assert (response.status_code, response.content) == (204, b"")


@pytest.mark.parametrize("path", ["/trpc/post.investigateNow", "/health", "/graphql", "/anything"])
async def test_preflight_allows_every_header_that_the_extension_sends(path: str) -> None:
    response = await Bench().http.options(path, headers={"origin": "chrome-extension://abcdefgh"})
    assert response.status_code == 204
    allowed = {name.strip().lower() for name in response.headers["access-control-allow-headers"].split(",")}
    assert allowed == {
        "content-type",
        "x-api-key",
        "x-openai-api-key",
        "x-openerrata-signature",
        "x-openerrata-extension-version",
    }
    assert response.headers["access-control-allow-methods"] == "GET, POST, OPTIONS"
    assert response.headers["access-control-max-age"] == "86400"


@pytest.mark.requirement("3.3-09")
@pytest.mark.parametrize(
    ("version", "status"),
    [
        *[
            ("0.2", 200),
            ("0.2.0.0", 200),
            ("1", 200),
            ("0.3.3", 200),
            ("0.000000002", 200),
            (" 0.3.3 ", 200),
            (f"{0:05000}.3", 200),
        ],
        *[("0.1.9", 412), ("", 412), ("0", 412), (" ", 412)],
        *[
            ("abc", 400),
            ("0.2.0.0.0", 400),
            ("0.65536", 400),
            ("-1", 400),
            ("0.2.", 400),
            ("٢", 400),
            ("65536" * 1_000, 400),
        ],
    ],
)
async def test_the_version_gate(version: str, status: int) -> None:
    """3.3-09: Extensions that are too old are refused."""
    bench = Bench()
    response = await bench.http.post(
        f"/trpc/{VIEW}",
        content=b'{"postVersionId":"x"}',
        headers={b"content-type": b"application/json", b"x-openerrata-extension-version": version.encode()},
    )
    assert response.status_code == status
    if status == 412:
        assert error(response) == {
            "code": "PRECONDITION_FAILED",
            "httpStatus": 412,
            "path": VIEW,
            "openerrataCode": "UPGRADE_REQUIRED",
            "minimumSupportedExtensionVersion": "0.2.0",
            "receivedExtensionVersion": version.strip() or None,
        }
    if status == 400:
        assert error(response)["openerrataCode"] == "MALFORMED_EXTENSION_VERSION"
        assert "minimumSupportedExtensionVersion" not in error(response)


async def test_the_gate_speaks_before_the_input_is_parsed() -> None:
    response = await Bench().mutate(VIEW, b"{not json", x_openerrata_extension_version="0.1")
    assert response.status_code == 412


async def test_a_body_that_is_too_large_is_told_so() -> None:
    response = await Bench().mutate("post.registerObservedVersion", b"x" * (BODY_BYTES + 1))
    assert response.status_code == 413
    assert error(response)["openerrataCode"] == "PAYLOAD_TOO_LARGE"


async def test_the_largest_allowed_body_is_read() -> None:
    question = post_on_x()
    question["metadata"]["mediaUrls"] = ["https://example.org/" + "a" * 200_000] * 2
    body = json.dumps(question).encode()
    response = await Bench().mutate("post.registerObservedVersion", body + b" " * (524_288 - len(body)))
    assert response.status_code == 200


async def _raw(
    bench: Bench, headers: list[tuple[bytes, bytes]], messages: list[dict[str, Any]], path: str = f"/trpc/{VIEW}"
) -> list[dict[str, Any]]:
    scope = {
        "type": "http",
        "method": "POST",
        "path": path,
        "query_string": b"",
        "headers": [(b"content-type", b"application/json"), (b"x-openerrata-extension-version", b"0.3.3"), *headers],
        "client": None,
    }
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return messages.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)

    await bench.app(scope, receive, send)
    return sent


async def test_a_lying_content_length_changes_nothing() -> None:
    chunk = {"type": "http.request", "body": b"x" * 300_000, "more_body": True}
    last = {"type": "http.request", "body": b"", "more_body": False}
    sent = await _raw(Bench(), [(b"content-length", b"10")], [chunk, chunk, last])
    assert sent[0]["status"] == 413


async def test_an_announced_flood_is_refused_unread() -> None:
    messages = [{"type": "http.request", "body": b"", "more_body": False}]
    sent = await _raw(Bench(), [(b"content-length", b"9" * 30)], messages)
    assert sent[0]["status"] == 413
    assert messages


@pytest.mark.parametrize("path", [f"/trpc/{VIEW}", "/graphql"])
async def test_a_body_that_breaks_off_is_a_bad_request(path: str) -> None:
    """A server tells an application only that the body ends; the client may still be there."""
    begun: dict[str, Any] = {"type": "http.request", "body": b"{", "more_body": True}
    gone: dict[str, Any] = {"type": "http.disconnect"}
    for messages in ([gone], [begun, gone]):
        sent = await _raw(Bench(), [(b"content-type", b"application/json")], list(messages), path)
        assert sent[0]["status"] == 400


@pytest.mark.parametrize("timeout", ["body_timeout_s", "body_silence_s"])
async def test_a_body_that_never_comes_times_out(timeout: str) -> None:
    settings: dict[str, Any] = {timeout: 0.01}
    bench = Bench(**settings)
    sent: list[dict[str, Any]] = []

    async def never() -> dict[str, Any]:
        await asyncio.Event().wait()
        raise AssertionError

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": f"/trpc/{VIEW}", "query_string": b"", "headers": headers}
    async with asyncio.timeout(5):
        await bench.app(scope, never, send)
    assert sent[0]["status"] == 408


async def test_a_bug_shows_nothing_of_itself() -> None:
    bench = Bench()
    bench.reads.error = RuntimeError("password=hunter2 at /srv/secret")
    response = await bench.query(LOOK, {"investigationId": "00000000-0000-4000-8000-0000000000cc"})
    assert error(response) == {"code": "INTERNAL_SERVER_ERROR", "httpStatus": 500, "path": LOOK}
    assert response.json()["error"]["message"] == "Internal error"
    assert response.headers["x-correlation-id"]
    assert "hunter2" not in response.text


async def test_an_outage_says_try_again() -> None:
    bench = Bench()
    bench.reads.error = Unavailable("database: at 10.0.0.1")
    response = await bench.query(LOOK, {"investigationId": "00000000-0000-4000-8000-0000000000cc"})
    assert (response.status_code, response.headers["cache-control"]) == (503, "no-store")
    assert error(response)["code"] == "SERVICE_UNAVAILABLE"
    assert "10.0.0.1" not in response.text


@pytest.mark.requirement("2.13-01")
@pytest.mark.parametrize(
    ("signature", "counted"),
    [
        (None, "absent"),
        ("0" * 64, "invalid"),
        ("é", "invalid"),
        ("bf37584cf99eea4829e685896878b4b872937f3612db0fadfa4b3874a62eca28", "valid"),
    ],
)
async def test_a_signature_is_counted_and_never_needed(signature: str | None, counted: str) -> None:
    """2.13-01: Attestation accepted, never required."""
    bench = Bench()
    headers: dict[str, Any] = {"content-type": "application/json"}
    if signature is not None:
        headers["x-openerrata-signature"] = signature.encode("latin-1")
    response = await bench.http.post(f"/trpc/{VIEW}", content=b'{"postVersionId":"abc"}', headers=headers)
    assert data(VIEW, response) == {"investigationState": "NOT_INVESTIGATED", "priorInvestigationResult": None}
    assert f'openerrata_gateway_attested_total{{signature="{counted}"}} 1.0' in bench.metrics


async def test_metrics_name_only_known_procedures() -> None:
    bench = Bench()
    await bench.query("post.invented-by-a-stranger")
    text = bench.metrics
    assert 'procedure="unknown",status="404"' in text
    assert "stranger" not in text
