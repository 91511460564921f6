"""How audits slow posts: investigations and observations with and without jobs beside them, by turns."""

from __future__ import annotations

import asyncio
import os
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Final

from kit.blobs import Blobs
from kit.bus import connect
from kit.servers_in_use import Servers
from services.commands.process import SERVICES
from tests.bench import audit_pace, load
from tests.bench.audit_client import prepare
from tests.bench.audit_throughput import JOBS_PER_S
from tests.bench.bench_gateway import observations
from tests.bench.bench_pipeline import Driver, investigate_many, open_raw
from tests.bench.child import Child
from tests.bench.cost import Cost, measured_processes
from tests.bench.load import Plan, Round
from tests.bench.raw_pipeline import RawPipeline
from tests.bench.report import Report, of_raw
from tests.bench.rig import start

AUDITS: Final = ("auditor", "curator")
SHARED: Final = ("projector",)
"""It follows both streams, so what it costs is measured with neither."""
INVESTIGATIONS: Final = 150
AT_ONCE: Final = 50
OBSERVATIONS: Final = 60
ROUNDS: Final = 4


def measure(found: Servers, folder: Path, report: Report) -> None:
    """Posts in one process, audits in another, what both need in a third."""
    asyncio.run(prepare(found))
    log = folder / "services.log"
    posts = [name for name in SERVICES if name not in (*AUDITS, *SHARED)]
    with ExitStack() as processes:
        for services in (AUDITS, SHARED):
            processes.enter_context(start(found, log, *services)).hear()
        errata = processes.enter_context(start(found, log, *posts))
        address = errata.hear()
        jobs = processes.enter_context(Child(audit_pace.main, found.nats_url))
        sender = processes.enter_context(Child(load.main))
        asyncio.run(_compare(found, errata, address, jobs, sender, report))


async def _compare(
    found: Servers, errata: Child, address: tuple[str, int], jobs: Child, sender: Child, report: Report
) -> None:
    rates, costs, limits, waits, paces, speeds = [], [], [], [], [], []
    async with connect(found.nats_url, name="bench") as bus:
        driver = Driver(bus, Blobs(found.blobs))
        await driver.open()
        first = await driver.register(INVESTIGATIONS)
        await investigate_many(driver, first, AT_ONCE)
        raw = await open_raw(bus, first[0][1])
        _observe(sender, address)
        for _ in range(ROUNDS):
            with report.watched() as free:
                alone, alone_s = await _investigate(driver, errata), _observe(sender, address)
                least_alone = await _run_raw(raw)
            before, began = jobs.ask(JOBS_PER_S), perf_counter()
            with report.watched() as shared:
                beside, beside_s = await _investigate(driver, errata), _observe(sender, address)
                least_beside = await _run_raw(raw)
            paces.append((jobs.ask(JOBS_PER_S) - before) / (perf_counter() - began))
            jobs.ask(0)
            rates.append(alone.wall_s / beside.wall_s)
            costs.append(alone.total_s / beside.total_s)
            limits.append(least_alone.total_s / least_beside.total_s)
            waits.append(alone_s / beside_s)
            speeds.append(shared.of_full / free.of_full)
            last = beside, beside_s
    beside, beside_s = last
    each_ms = beside.ms_each(INVESTIGATIONS)
    report.note(
        f"raw: the same without jobs; {median(paces):.0f} jobs/s ended meanwhile, "
        f"and the cores had {median(speeds):.2f} of the pace they had without"
    )
    report.note(
        f"a bare client that stores and reads the same facts has {median(limits):.2f} of raw CPU beside the same jobs"
    )
    report.line("CPU of an investigation beside jobs", each_ms, "ms each", ratio=median(costs), target=of_raw(0.9))
    report.line("investigations", INVESTIGATIONS / beside.wall_s, "inv/s", ratio=median(rates), target=of_raw(0.9))
    report.line("new observation, p50", beside_s * 1e3, "ms", ratio=median(waits), target=of_raw(0.9))
    report.note("the last two need a core for the jobs besides those that posts keep busy")


async def _investigate(driver: Driver, errata: Child) -> Cost:
    """What the process of the posts' services takes for some investigations."""
    versions = await driver.register(INVESTIGATIONS)
    with measured_processes({"errata": errata.pid}) as cost:
        await investigate_many(driver, versions, AT_ONCE)
    return cost


async def _run_raw(raw: RawPipeline) -> Cost:
    """What this process takes for the facts of as many investigations."""
    with measured_processes({"raw": os.getpid()}) as cost:
        await raw.run(INVESTIGATIONS, AT_ONCE)
    return cost


def _observe(sender: Child, address: tuple[str, int]) -> float:
    """The middle of the seconds that new observations take, one after another."""
    plan = Plan(address, list(islice(observations(), OBSERVATIONS)), 60, 1)
    round_: Round = sender.ask(plan)
    return median(round_.latencies)
