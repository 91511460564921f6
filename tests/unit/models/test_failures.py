"""Failures are read from the wire; what a provider says of its own accord shows no key."""

from __future__ import annotations

import json
from uuid import UUID

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from contracts.transcript import Call
from contracts.v1 import RunFailed
from kit.models.failures import from_code, from_wire, parse_error_body, redact, retry_after_s

NOW = "Fri, 20 Nov 2026 12:00:00 GMT"
KEY = "key-of-some-server"


@pytest.mark.parametrize(
    ("headers", "wait_s"),
    [
        ({}, None),
        ({"retry-after": "30"}, 30.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "1e12"}, 86_400.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "Fri, 20 Nov 2026 12:01:30 GMT", "date": NOW}, 90.0),
        ({"retry-after": "Fri, 20 Nov 2026 11:00:00 GMT", "date": NOW}, 0.0),
        ({"retry-after": "Fri, 20 Nov 2026 12:01:30 GMT"}, None),
        ({"retry-after": "Fri, 20 Nov 2026 12:01:30 -0000", "date": NOW}, None),
        ({"retry-after": "Fri, 20 Nov 99999999999 12:01:30 GMT", "date": NOW}, None),
    ],
)
def test_how_long_to_wait(headers: dict[str, str], wait_s: float | None) -> None:
    assert retry_after_s(headers) == wait_s


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"", (None, "no message")),
        (b"<html>", (None, "no message")),
        (b"[]", (None, "no message")),
        (b"{}", (None, "no message")),
        (b'{"error": "busy"}', (None, "busy")),
        (b'{"error": {"message": "m", "code": "c"}}', ("c", "m")),
        (b'{"error": {"message": "m", "type": "t", "code": null}}', ("t", "m")),
        (b'{"type": "error", "error": {"type": "overloaded_error", "message": "m"}}', ("overloaded_error", "m")),
        (b'{"error": {"message": 1, "code": 2}}', (None, "no message")),
        (b'{"message": "m"}', (None, "m")),
        (b"[" * 100_000, (None, "no message")),
    ],
)
def test_error_bodies_of_all_forms_are_read(body: bytes, expected: tuple[str | None, str]) -> None:
    assert parse_error_body(body) == expected


def test_a_status_that_http_does_not_have_is_named_and_not_a_status() -> None:
    failed = from_wire(Call(request={}, status=600, ending="complete"), b"[" * 100_000, KEY)
    assert (failed.name, failed.status_code) == ("Http600", None)


@given(st.binary(max_size=60), st.integers(300, 599))
def test_any_error_status_has_a_class_and_a_reason(body: bytes, status: int) -> None:
    failed = from_wire(Call(request={}, status=status, ending="complete"), body, KEY)
    assert failed.status_code == status
    assert failed.reason
    assert (failed.failure == "NON_RETRYABLE") == (status in (400, 401, 403, 404, 422))


@given(st.text(max_size=40), st.text(max_size=40))
def test_a_key_is_struck_wherever_it_stands(before: str, after: str) -> None:
    body = json.dumps({"error": {"message": f"{before}{KEY}{after}", "code": KEY}}).encode()
    failed = from_wire(Call(request={}, status=400, ending="complete"), body, KEY)
    assert KEY not in failed.reason + failed.name


@given(st.text(max_size=120))
@example("Internal Server Error")
@example("x" * 101)
@example(KEY)
def test_any_code_makes_a_name_that_facts_take(code: str) -> None:
    failed = from_code(code, "m", KEY)
    fact = RunFailed(
        run_id=UUID(int=1), attempt=1, failure=failed.failure, reason="model_unavailable", error_name=failed.name
    )
    assert fact.error_name == failed.name


def test_a_placeholder_is_no_key() -> None:
    assert redact("ollama has no model one", "one") == "ollama has no model one"


@pytest.mark.requirement("3.7-03", "3.7-07")
@pytest.mark.parametrize(
    ("status", "code", "expected"),
    [
        (401, "invalid_api_key", True),
        (402, None, True),
        (403, None, True),
        (404, "model_not_found", True),
        (429, "insufficient_quota", True),
        (400, "billing_not_active", True),
        (429, "rate_limit_exceeded", False),
        (400, "invalid_request_error", False),
        (500, "server_error", False),
    ],
)
def test_what_is_said_of_whoever_pays_is_not_said_of_the_post(status: int, code: str | None, expected: bool) -> None:
    """3.7-03: A refused key or request fails at once.
    3.7-07: A reader's key that is gone fails the run.
    """
    body = json.dumps({"error": {"message": "m", "code": code}}).encode()
    assert from_wire(Call(request={}, status=status, ending="complete"), body, KEY).about_the_key is expected
    if code is not None:
        assert from_code(code, "m", KEY).about_the_key is expected
