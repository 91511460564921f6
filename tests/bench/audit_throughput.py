"""Jobs through the whole pipeline: from requests in the log to their tables, with a model that costs nothing."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Final

from kit.servers_in_use import Servers
from tests.bench.audit_jobs import Jobs
from tests.bench.audit_model import fresh_article, write_article
from tests.bench.cost import Cost, measured
from tests.bench.pace import Speed, quietest
from tests.bench.raw_pipeline import RawPipeline
from tests.bench.report import Report, at_least
from tests.bench.rig import system

AT_ONCE: Final = 50
COUNT: Final = 100
ROUNDS: Final = 4
JOBS_PER_S: Final = 20


async def measure(found: Servers, report: Report) -> None:
    """Jobs whose claims are all new, and jobs whose claims are all cached."""
    async with system(found) as host:
        jobs = Jobs(host.bus)
        await jobs.open()
        known = partial(write_article, "known")
        raws: list[RawPipeline] = []
        for write in (fresh_article, known):
            await jobs.audit(write())
            raw = RawPipeline(host.bus, await jobs.facts_of(write()), f"SCRATCH{len(raws)}")
            await raw.open()
            raws.append(raw)
        await _compare("three new claims", fresh_article, jobs, raws[0], found, report)
        await _compare("three cached claims", known, jobs, raws[1], found, report)


async def _compare(
    name: str, write: Callable[[], str], jobs: Jobs, raw: RawPipeline, found: Servers, report: Report
) -> None:
    rounds: list[tuple[Speed, tuple[Cost, Cost]]] = []
    for _ in range(ROUNDS):
        with report.watched() as speed, measured(found.stack) as cost:
            await jobs.audit_many(COUNT, AT_ONCE, write)
        with measured(found.stack) as least:
            await raw.run(COUNT, AT_ONCE)
        rounds.append((speed, (cost, least)))
    speed, (cost, least) = quietest(rounds)
    rate, limit = COUNT / cost.wall_s, COUNT / least.wall_s
    report.line(name, rate, "jobs/s", ratio=rate / limit, target=at_least(JOBS_PER_S), speed=speed)
    report.line(
        "  CPU, all processes", cost.ms_each(COUNT), "ms each", ratio=cost.ms_each(COUNT) / least.ms_each(COUNT)
    )
    report.note(f"  of which {cost.split(COUNT)}")
    report.note(f"  raw: the same facts stored, delivered and read, {limit:.0f}/s, {least.split(COUNT)}")
    middle = median(COUNT / each.wall_s for _, (each, _) in rounds)
    report.note(f"  this is the quietest of {ROUNDS} rounds ({speed}); the middle one had {middle:.0f}/s")
