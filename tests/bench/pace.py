"""How fast the cores were while something was measured: on shared hardware that may change by half within seconds.

A small fixed computation is repeated beside the measurement and its own processor time is taken: whatever makes the
same instructions take longer shows. The fastest tenth that was seen stands for full speed. It is a rough measure, which
our own load moves by up to a tenth in either direction.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from statistics import mean, quantiles
from time import monotonic, sleep, thread_time
from types import TracebackType
from typing import Self, TypeVar

from tests.bench.child import Child

EVERY_S = 0.1
WARM_UP_S = 2.0
STEPS = 6_000


@dataclass(frozen=True, slots=True)
class Sample:
    """When, on the clock that all processes share, and how long the computation took."""

    at: float
    took_s: float


T = TypeVar("T")


@dataclass
class Speed:
    """The share of their full speed that the cores had during a measurement; known when it is over."""

    of_full: float = 1.0

    def __str__(self) -> str:
        return f"the cores had {self.of_full:.2f} of their pace"


class Pace:
    """Watches the cores from a process of its own; costs less than a hundredth of one."""

    def __init__(self) -> None:
        self._watcher = Child(_watch)
        sleep(WARM_UP_S)

    @contextmanager
    def watched(self) -> Iterator[Speed]:
        """The speed that the cores have inside."""
        began, speed = monotonic(), Speed()
        yield speed
        speed.of_full = speed_between(self._watcher.ask("samples"), began, monotonic())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._watcher.stop()


def quietest(rounds: Sequence[tuple[Speed, T]]) -> tuple[Speed, T]:
    """Of rounds of the same measurement, the one during which the cores were fastest, whatever its result."""
    return max(rounds, key=lambda each: each[0].of_full)


def speed_between(samples: Sequence[Sample], began: float, ended: float) -> float:
    """How fast the computation was meanwhile, relative to the fastest tenth ever seen; 1 without samples."""
    meanwhile = [sample.took_s for sample in samples if began <= sample.at <= ended]
    if not meanwhile or len(samples) < 2:
        return 1.0
    fastest = quantiles((sample.took_s for sample in samples), n=10)[0]
    return min(1.0, fastest / mean(meanwhile))


def _watch(pipe: Connection) -> None:
    samples: list[Sample] = []
    threading.Thread(target=_sample, args=(samples,), daemon=True).start()
    while True:
        pipe.recv()
        pipe.send(list(samples))


def _sample(samples: list[Sample]) -> None:
    cores = sorted(os.sched_getaffinity(0))
    while True:
        for core in cores:
            os.sched_setaffinity(threading.get_native_id(), {core})
            samples.append(Sample(monotonic(), _computed_s()))
            sleep(EVERY_S)


def _computed_s() -> float:
    """The first tenth warms up what a sleeping core has forgotten."""
    made: dict[str, int] = {}
    began = 0.0
    for n in range(-STEPS // 10, STEPS):
        if n == 0:
            began = thread_time()
        made[str(n % 500)] = n
    return thread_time() - began
