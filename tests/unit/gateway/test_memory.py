"""Bounded memory, and allowances."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.gateway.memory import Allowance, Memory
from tests.unit.gateway.fakes import StillClock


@given(st.lists(st.tuples(st.integers(0, 5), st.binary(max_size=8)), max_size=50))
def test_memory_never_outgrows_its_capacity(entries: list[tuple[int, bytes]]) -> None:
    memory: Memory[int, bytes] = Memory(StillClock(), capacity=10, weigh=len)
    for key, value in entries:
        memory.put(key, value)
        held = [kept for kept in map(memory.get, range(6)) if kept is not None]
        assert sum(map(len, held)) <= 10
        assert memory.get(key) == value


def test_what_is_used_stays() -> None:
    memory: Memory[str, int] = Memory(StillClock(), capacity=2)
    memory.put("a", 1)
    memory.put("b", 2)
    memory.get("a")
    memory.put("c", 3)
    assert (memory.get("a"), memory.get("b"), memory.get("c")) == (1, None, 3)


def test_nothing_is_remembered_without_room() -> None:
    memory: Memory[str, int] = Memory(StillClock(), capacity=0)
    memory.put("a", 1)
    assert memory.get("a") is None


def test_what_is_old_is_forgotten() -> None:
    clock = StillClock()
    memory: Memory[str, int] = Memory(clock, capacity=2, ttl_s=5)
    memory.put("a", 1)
    clock.pass_by(5)
    assert memory.get("a") is None
    assert len(memory) == 0


DAY_S = 86_400.0


@pytest.mark.parametrize("jump_s", [DAY_S, -DAY_S])
def test_a_clock_that_jumps_makes_nothing_older_or_younger(jump_s: float) -> None:
    clock = StillClock()
    memory: Memory[str, int] = Memory(clock, capacity=2, ttl_s=5)
    allowance = Allowance(clock, burst=1, every_s=10)
    memory.put("a", 1)
    assert allowance.take("a")
    clock.jump(jump_s)
    assert (memory.get("a"), allowance.take("a")) == (1, False)
    clock.pass_by(5)
    assert (memory.get("a"), allowance.take("a")) == (None, False)
    clock.pass_by(5)
    clock.jump(-jump_s)
    assert (memory.get("a"), allowance.take("a")) == (None, True)


def test_an_allowance_fills_up_again_but_not_beyond_its_burst() -> None:
    clock = StillClock()
    allowance = Allowance(clock, burst=2, every_s=10)
    assert [allowance.take("a") for _ in range(3)] == [True, True, False]
    assert allowance.take("b")
    clock.pass_by(10)
    assert [allowance.take("a") for _ in range(2)] == [True, False]
    clock.pass_by(1_000)
    assert [allowance.take("a") for _ in range(3)] == [True, True, False]
