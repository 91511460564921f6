"""What the services of audits take from the machine while nobody uses them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from statistics import median
from time import perf_counter, sleep
from typing import Final, NamedTuple

from kit.servers_in_use import Servers
from services.commands.process import SERVICES
from tests.bench.audit_client import prepare
from tests.bench.cost import tree_cpu_s, tree_memory
from tests.bench.report import Report, at_most
from tests.bench.rig import start

AUDITS: Final = ("auditor", "curator")
MIB: Final = 1024 * 1024
SETTLE_S: Final = 4.0
REST_S: Final = 15.0
ROUNDS: Final = 3


class _Rest(NamedTuple):
    memory: int
    cpu: float


def measure(found: Servers, folder: Path, report: Report) -> None:
    """One process of services at rest, with the two and without them, by turns."""
    asyncio.run(prepare(found))
    others = [name for name in SERVICES if name not in AUDITS]
    more = []
    for _ in range(ROUNDS):
        before, after = (_look(found, folder / "services.log", services) for services in (others, SERVICES))
        more.append(_Rest(after.memory - before.memory, after.cpu - before.cpu))
    report.line("memory (PSS)", median(each.memory for each in more) / MIB, "MiB", target=at_most(60))
    report.line("CPU, servers too", median(each.cpu for each in more) * 100, "% of a core", target=at_most(1))


def _look(found: Servers, log: Path, services: list[str] | tuple[str, ...]) -> _Rest:
    assert found.stack is not None, "the servers are embedded"
    servers = list(found.stack.pids.values())
    with start(found, log, *services) as process:
        process.hear()
        sleep(SETTLE_S)
        used, at = _cpu_s([process.pid, *servers]), perf_counter()
        sleep(REST_S)
        used = _cpu_s([process.pid, *servers]) - used
        return _Rest(tree_memory(process.pid).pss, used / (perf_counter() - at))


def _cpu_s(pids: list[int]) -> float:
    return sum(tree_cpu_s(pid) for pid in pids)
