"""When a consumer stops by itself: only when giving up outweighs success, and only within the window."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.circuit import Circuit, StopLimit

LIMIT = StopLimit(dead_letters=4, within_s=10.0, share=0.5)


def test_it_stops_at_the_limit_and_counts_anew() -> None:
    circuit = Circuit(LIMIT)
    assert [circuit.count_failure(now) for now in range(8)] == [False, False, False, True, False, False, False, True]


def test_old_letters_do_not_count() -> None:
    circuit = Circuit(LIMIT)
    assert not any(circuit.count_failure(now * 4.0) for now in range(50))


@pytest.mark.parametrize(("good", "stops"), [(3, True), (4, True), (5, False), (50, False)])
def test_poison_among_sound_messages_stops_nobody(good: int, stops: bool) -> None:
    circuit = Circuit(LIMIT)
    told = [circuit.count_failure(0.0) for _ in range(3)]
    for _ in range(good):
        circuit.count_success(1.0)
    assert [*told, circuit.count_failure(2.0)] == [False, False, False, stops]


def test_it_can_be_switched_off() -> None:
    circuit = Circuit(StopLimit(dead_letters=0))
    assert not any(circuit.count_failure(0.0) for _ in range(1000))


@given(st.lists(st.tuples(st.booleans(), st.floats(0, 100)), max_size=200))
def test_it_never_stops_below_the_limit(told: list[tuple[bool, float]]) -> None:
    circuit = Circuit(LIMIT)
    since_stop: list[float] = []
    for good, now in sorted(told, key=lambda each: each[1]):
        if good:
            circuit.count_success(now)
            continue
        since_stop.append(now)
        stopped = circuit.count_failure(now)
        recent = [at for at in since_stop if at >= now - LIMIT.within_s]
        assert not stopped or len(recent) >= LIMIT.dead_letters
        if stopped:
            since_stop = []
