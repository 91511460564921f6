"""What answers mean: whether to ask again, when, and how long an outcome is believed."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.v1.pages import CanonicalPage
from contracts.v1.parts import PostRef, TextRef
from platforms.base import REFUSALS
from services.verifier.domain import (
    Budget,
    Failure,
    Lifetimes,
    Overloaded,
    Unavailable,
    classify_error,
    classify_status,
    defer_or_refuse,
    delay_before_retry,
    lifetime_s,
    make_budget,
    retry_after_s,
    share_of_slots,
)

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("status", "reason", "passing"),
    [
        (429, "rate_limited", True),
        (500, "server_error", True),
        (503, "server_error", True),
        (404, "not_found", False),
        (410, "not_found", False),
        (403, "forbidden", False),
        (400, "unexpected_status", False),
        (204, "unexpected_status", False),
        (304, "unexpected_status", False),
    ],
)
def test_statuses(status: int, reason: str, passing: bool) -> None:
    failure = classify_status(status, {}, NOW, frozenset({404, 410}))
    assert failure is not None
    assert (failure.reason, failure.is_transient) == (reason, passing)


def test_200_is_no_failure() -> None:
    assert classify_status(200, {"retry-after": "5"}, NOW) is None


def test_a_missing_address_is_a_missing_page_only_where_each_page_has_an_address() -> None:
    failure = classify_status(404, {}, NOW)
    assert failure is not None
    assert failure.reason == "unexpected_status"


@pytest.mark.parametrize("kind", ["connection_failed", "timeout", "bad_response", "bad_encoding", "unresolvable"])
def test_exchanges_worth_another_try(kind: str) -> None:
    assert classify_error(kind, "").is_transient


@pytest.mark.parametrize("kind", ["blocked_address", "too_large", "too_many_redirects", "malformed_url", "bad_scheme"])
def test_exchanges_not_worth_another_try(kind: str) -> None:
    assert not classify_error(kind, "").is_transient


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("0", 0.0),
        (" 120 ", 120.0),
        (format_datetime(NOW + timedelta(seconds=7), usegmt=True), 7.0),
        (format_datetime(NOW - timedelta(seconds=7), usegmt=True), 0.0),
        ("Fri, 02 Jan 2026 03:04:15 -0000", 10.0),
        ("", None),
        ("-1", None),
        ("soon", None),
        ("1.5", None),
        ("٣", None),
    ],
)
def test_retry_after(header: str, seconds: float | None) -> None:
    assert retry_after_s(header, NOW) == seconds


@given(st.text())
def test_any_retry_after_is_read_or_ignored(header: str) -> None:
    found = retry_after_s(header, NOW)
    assert found is None or found >= 0


def delay(failure: Failure, tries: int, remaining_s: float = 8.0) -> float | None:
    return delay_before_retry(failure, tries, retries=3, base_s=0.2, remaining_s=remaining_s)


def test_delays_double_and_end() -> None:
    failure = Failure("server_error", "", is_transient=True)
    assert [delay(failure, tries) for tries in (1, 2, 3, 4)] == [0.2, 0.4, 0.8, None]


def test_what_will_not_pass_is_not_tried_again() -> None:
    assert delay(Failure("not_found", "", is_transient=False), 1) is None


def test_what_the_site_asks_for_is_granted_if_there_is_time() -> None:
    failure = Failure("rate_limited", "", is_transient=True, retry_after_s=3.0)
    assert delay(failure, 1) == 3.0
    assert delay(failure, 1, remaining_s=3.0) is None
    assert delay(Failure("rate_limited", "", is_transient=True, retry_after_s=0.0), 2) == 0.4


def test_how_long_outcomes_are_believed() -> None:
    lifetimes = Lifetimes(page_s=300.0, failure_s=5.0, refusal_s=120.0)
    text = TextRef(sha256="0" * 64, size_bytes=0, inline="")
    post = PostRef(platform="LESSWRONG", external_id="a")
    page = CanonicalPage(post=post, source_url="https://a.example/", html=text, fetched_at=NOW)
    assert lifetime_s(page, lifetimes, immutable=False) == 300.0
    assert lifetime_s(page, lifetimes, immutable=True) == math.inf
    assert lifetime_s(Unavailable("timeout"), lifetimes, immutable=True) == 5.0
    assert lifetime_s(Unavailable("site_busy"), lifetimes, immutable=True) == 0.0
    assert {lifetime_s(Unavailable(reason), lifetimes, immutable=True) for reason in REFUSALS} == {120.0}


@pytest.mark.parametrize(
    ("attempt", "time"),
    [
        (1, Budget(5.5, 8.0, 8.0)),
        (2, Budget(5.25, 7.75, 7.75)),
        (5, Budget(1.75, 5.0, 4.25)),
        (6, Budget(0.0, 5.0, 0.25)),
        (7, Budget(0.0, 5.0, 5.0)),
        (60, Budget(0.0, 5.0, 5.0)),
    ],
)
def test_what_is_left_of_a_readers_patience(attempt: int, time: Budget) -> None:
    assert make_budget(attempt, deadline_s=8.0, timeout_s=5.0) == time


def test_a_crowd_comes_back_ever_later_while_it_could_still_be_served() -> None:
    told = [
        defer_or_refuse(attempt, make_budget(attempt, deadline_s=8.0, timeout_s=5.0), under_way=False)
        for attempt in range(1, 6)
    ]
    assert told[:4] == [Overloaded(after_s) for after_s in (0.25, 0.5, 1.0, 2.0)]
    assert isinstance(told[4], Unavailable)


def test_whose_page_is_under_way_comes_back_for_it_but_not_for_ever() -> None:
    late = Budget(0.0, 5.0, 0.25)
    assert defer_or_refuse(5, late, under_way=True) == Overloaded(4.0)
    assert isinstance(defer_or_refuse(6, late, under_way=True), Unavailable)
    assert isinstance(defer_or_refuse(5, late, under_way=False), Unavailable)


@given(slots=st.integers(2, 1_000), sites=st.integers(1, 10))
def test_slow_sites_together_leave_a_slot_where_there_are_enough(slots: int, sites: int) -> None:
    share = share_of_slots(slots, sites)
    assert share >= 1
    assert sites * share < slots or slots <= sites
