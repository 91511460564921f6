"""Whether work grows linearly with its input, measured in CPU time, so that other load hardly matters."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import TypeVar

import pytest
from coverage import Coverage

TIMES = 8
MOST = 24.0
"""Linear work takes 8 times as long, quadratic 64 times; between them lies what caches and collectors add."""
TRIES = 2

T = TypeVar("T")


def cpu_s(work: Callable[[], object], tries: int = TRIES, *, below_s: float = 0.0) -> float:
    """Seconds of CPU, the best of a few tries, without collecting the garbage of the tests before.

    A try that takes less than `below_s` is the last: a better one says nothing more. While coverage traces lines, the
    work is run once and not measured.
    """
    if Coverage.current() is not None:
        work()
        pytest.skip("lines are traced, so time says nothing")
    best = float("inf")
    was_on = gc.isenabled()
    gc.disable()
    try:
        for _ in range(tries):
            began = time.process_time()
            work()
            best = min(best, time.process_time() - began)
            if best < below_s:
                break
    finally:
        if was_on:
            gc.enable()
    return best


def assert_linear(work: Callable[[T], object], make: Callable[[int], T], size: int) -> None:
    """Fail if input of 8 times the size costs far more than 8 times the time."""
    small, large = make(size), make(TIMES * size)
    # A millisecond of grace: what takes less is all overhead.
    less = max(cpu_s(lambda: work(small)), 0.001)
    more = cpu_s(lambda: work(large), below_s=MOST * less)
    assert more < MOST * less, f"{TIMES} times the input took {more / less:.0f} times as long: {more:.3f} s"
