"""A host that keeps failing is left alone, then tried by one."""

from __future__ import annotations

from services.verifier.breaker import MAX_PAUSE_S, Breaker


def opened() -> Breaker:
    breaker = Breaker(failures=3, pause_s=10.0)
    for _ in range(3):
        breaker.record_failure(0.0)
    return breaker


def test_closed_until_enough_failures_in_a_row() -> None:
    breaker = Breaker(failures=3, pause_s=10.0)
    breaker.record_failure(0.0)
    breaker.record_failure(0.0)
    assert breaker.admit(0.0)
    breaker.record_success(0.0)
    breaker.record_failure(0.0)
    breaker.record_failure(0.0)
    assert breaker.admit(0.0)
    breaker.record_failure(0.0)
    assert not breaker.admit(0.0)


def test_after_the_pause_one_may_try() -> None:
    breaker = opened()
    assert breaker.is_open(9.9)
    assert not breaker.is_open(10.0)
    assert breaker.admit(10.0)
    assert not breaker.admit(10.0)


def test_the_try_decides() -> None:
    breaker = opened()
    assert breaker.admit(10.0)
    breaker.record_success(10.5)
    assert breaker.admit(10.5)
    breaker = opened()
    assert breaker.admit(10.0)
    breaker.record_failure(11.0)
    assert not breaker.admit(20.9)
    assert breaker.admit(21.0)


def test_a_try_that_never_ends_does_not_keep_it_open_for_ever() -> None:
    breaker = opened()
    assert breaker.admit(10.0)
    assert breaker.admit(20.0)


def test_a_host_that_asks_for_a_pause_gets_it_at_once_within_reason() -> None:
    breaker = Breaker(failures=3, pause_s=10.0)
    assert breaker.record_pause_request(0.0, 3_600.0)
    assert breaker.is_open(3_599.9)
    assert not breaker.is_open(3_600.0)
    breaker.record_pause_request(10_000.0, 1e9)
    assert not breaker.is_open(10_000.0 + MAX_PAUSE_S)


def test_after_a_pause_that_was_asked_for_one_may_try() -> None:
    breaker = Breaker(failures=3, pause_s=10.0)
    assert breaker.record_pause_request(0.0, 3.0)
    assert not breaker.record_pause_request(0.1, 3.0), "others in flight are told the same"
    assert breaker.admit(3.1)
    assert not breaker.admit(3.1)
    breaker.record_success(3.2)
    assert breaker.is_clean
    assert breaker.admit(3.3)
    assert breaker.admit(3.3)


def test_an_answer_from_before_the_pause_does_not_end_it() -> None:
    breaker = Breaker(failures=3, pause_s=10.0)
    breaker.record_pause_request(0.0, 3.0)
    breaker.record_success(1.0)
    assert breaker.is_open(2.9)
