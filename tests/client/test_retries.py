"""When a request is sent again, without sockets: exchanges are generators."""

from __future__ import annotations

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openerrata_client import ApiConnectionError, ApiError, JobTimeoutError, RetryPolicy
from openerrata_client.errors import RETRYABLE, read_error
from openerrata_client.exchanges import Call, Pause, request, wait_for_end
from openerrata_client.rate_limits import read_rate_limits

CALL = Call("GET", "/v1/health")
failures = st.one_of(
    st.builds(
        httpx.Response,
        st.integers(400, 599),
        headers=st.dictionaries(st.just("retry-after"), st.text("0123456789x", max_size=5)),
    ),
    st.builds(httpx.ConnectError, st.just("no"), request=st.just(httpx.Request("GET", "http://a.example"))),
)


@given(outcomes=st.lists(failures, max_size=8), retries=st.integers(0, 5), jitter=st.floats(0, 1))
def test_it_ends_and_never_waits_longer_than_it_may(
    outcomes: list[httpx.Response | httpx.TransportError], retries: int, jitter: float
) -> None:
    policy = RetryPolicy(retries, longest_s=20, jitter=lambda: jitter)
    exchange = request(CALL, policy)
    assert next(exchange) == CALL
    for tries, outcome in enumerate(outcomes, 1):
        try:
            step = exchange.send(outcome)
        except (ApiError, ApiConnectionError) as error:
            allowed = not isinstance(error, ApiError) or error.status in RETRYABLE
            stated = error.retry_after_s if isinstance(error, ApiError) else None
            assert tries > retries or not allowed or (stated is not None and stated > 20)
            return
        assert tries <= retries
        assert isinstance(step, Pause)
        assert not isinstance(outcome, httpx.Response) or outcome.status_code in RETRYABLE
        assert 0 <= step.seconds <= 20
        assert next(exchange) == CALL
    with pytest.raises(StopIteration) as end:
        exchange.send(httpx.Response(204))
    assert end.value.value.status_code == 204


@pytest.mark.parametrize(("took_s", "paused_s"), [(0.0, 10), (3.0, 7), (40.0, 0)])
def test_waiting_for_a_server_in_trouble_ends_with_its_time(took_s: float, paused_s: float) -> None:
    moments = iter([0.0, 0.0, took_s])
    exchange = wait_for_end("A", 10, lambda: next(moments), RetryPolicy())
    next(exchange)
    assert exchange.send(httpx.Response(503, headers={"Retry-After": "41"})) == Pause(paused_s)
    with pytest.raises(JobTimeoutError, match="503"):
        exchange.send(None)


@given(st.text(max_size=60), st.text(max_size=60))
def test_headers_that_cannot_be_read_say_nothing(policy: str, state: str) -> None:
    raw = [(b"ratelimit-policy", policy.encode()), (b"ratelimit", state.encode())]
    assert isinstance(read_rate_limits(httpx.Headers(raw)), dict)


def test_a_wait_below_zero_says_nothing() -> None:
    refused = httpx.Response(429, headers={"RateLimit": '"a";r=0;t=-5'})
    assert read_error(refused).retry_after_s is None


@pytest.mark.parametrize(
    ("until", "wait_s"),
    [
        ("Tue, 01 Dec 2026 10:00:20 GMT", 20),
        ("Tue, 01 Dec 2026 09:00:00 GMT", 0),
        ("Tue, 01 Dec 2026 10:00:20 -0000", None),
        ("Tue, 01 Dec 99999999999 10:00:20 GMT", None),
        ("soon", None),
    ],
)
def test_a_server_may_name_the_moment_when_to_try_again(until: str, wait_s: float | None) -> None:
    headers = {"Retry-After": until, "Date": "Tue, 01 Dec 2026 10:00:00 GMT"}
    for status in (429, 503):
        assert read_error(httpx.Response(status, headers=headers)).retry_after_s == wait_s
    del headers["Date"]
    assert read_error(httpx.Response(503, headers=headers)).retry_after_s is None


def test_a_redirect_is_named_with_its_address() -> None:
    moved = httpx.Response(301, headers={"Location": "https://errata.example/v1/health"})
    assert "redirects to https://errata.example/v1/health;" in str(read_error(moved))


def test_an_instance_without_the_job_api_is_named_as_one() -> None:
    page = httpx.Response(404, html="<h1>There is no such page</h1>")
    assert "its operator has not turned this interface on" in str(read_error(page))


def test_limits_are_read_by_policy() -> None:
    limits = read_rate_limits(
        httpx.Headers({"RateLimit-Policy": '"a";q=60;w=3600, "b";q=5', "RateLimit": '"a";r=0;t=9, "b";r=4'})
    )
    assert [(each.name, each.quota, each.window_s, each.remaining, each.reset_s) for each in limits.values()] == [
        ("a", 60, 3600, 0, 9),
        ("b", 5, None, 4, None),
    ]
