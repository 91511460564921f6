"""Allowances."""

from __future__ import annotations

import pytest

from services.gateway.rate_limit import TokenBuckets
from tests.support.fakes import StillClock

DAY_S = 86_400.0


@pytest.mark.parametrize("jump_s", [DAY_S, -DAY_S])
def test_a_clock_that_jumps_fills_no_allowance(jump_s: float) -> None:
    clock = StillClock()
    allowance = TokenBuckets(clock, burst=1, every_s=10)
    assert allowance.take("a")
    clock.jump(jump_s)
    assert not allowance.take("a")
    clock.pass_by(10)
    clock.jump(-jump_s)
    assert allowance.take("a")


def test_an_allowance_fills_up_again_but_not_beyond_its_burst() -> None:
    clock = StillClock()
    allowance = TokenBuckets(clock, burst=2, every_s=10)
    assert [allowance.take("a") for _ in range(3)] == [True, True, False]
    assert allowance.take("b")
    clock.pass_by(10)
    assert [allowance.take("a") for _ in range(2)] == [True, False]
    clock.pass_by(1_000)
    assert [allowance.take("a") for _ in range(3)] == [True, True, False]
