"""What a measurement costs: CPU time and memory of processes and of everything they started."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from time import perf_counter

import psutil

from kit.embedded import EmbeddedStack


@dataclass
class Cost:
    """CPU seconds by process name, and wall seconds."""

    cpu_s: dict[str, float]
    wall_s: float = 0.0

    @property
    def total_s(self) -> float:
        return sum(self.cpu_s.values())

    def ms_each(self, count: int) -> float:
        """CPU milliseconds for each of `count`."""
        return self.total_s / count * 1e3

    def split(self, count: int) -> str:
        """The same, by process."""
        return "  ".join(f"{name} {seconds / count * 1e3:.2f}" for name, seconds in self.cpu_s.items())


@dataclass(frozen=True)
class Memory:
    """Units: bytes. `pss` divides what processes share among them, `rss` counts it for each."""

    pss: int
    rss: int


@contextmanager
def measured(stack: EmbeddedStack | None) -> Iterator[Cost]:
    """Count the CPU time of this process and of each server with all its processes."""
    trees = dict(stack.pids) if stack else {}

    def look() -> dict[str, float]:
        return {"python": _own(psutil.Process()), **{name: tree_cpu_s(pid) for name, pid in trees.items()}}

    with _counted(look) as cost:
        yield cost


@contextmanager
def measured_processes(pids: Mapping[str, int]) -> Iterator[Cost]:
    """Count the CPU time of processes, without their children."""
    with _counted(lambda: {name: _own(psutil.Process(pid)) for name, pid in pids.items()}) as cost:
        yield cost


@contextmanager
def _counted(look: Callable[[], dict[str, float]]) -> Iterator[Cost]:
    before, began, cost = look(), perf_counter(), Cost({})
    yield cost
    cost.wall_s = perf_counter() - began
    after = look()
    cost.cpu_s = {name: after[name] - before[name] for name in after}


def tree_cpu_s(pid: int) -> float:
    """CPU seconds of a process and its descendants, those that ended included."""
    total = 0.0
    for process in tree(pid):
        with suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            total += times.user + times.system + times.children_user + times.children_system
    return total


def tree_memory(pid: int) -> Memory:
    """Memory of a process and its descendants."""
    pss = rss = 0
    for process in tree(pid):
        with suppress(psutil.NoSuchProcess):
            info = process.memory_full_info()
            pss += info.pss
            rss += info.rss
    return Memory(pss, rss)


def tree(pid: int) -> list[psutil.Process]:
    """A process and all its descendants."""
    process = psutil.Process(pid)
    return [process, *process.children(recursive=True)]


def _own(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)
