"""How fast the projector is: live (broker, decode, tables, ledger, position) over a backlog, and rebuilding.

The raw limit is COPY of the same bytes into an unlogged table.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time

from prometheus_client import CollectorRegistry, Gauge

from contracts.topology import STREAMS
from kit.bus import Bus, connect
from kit.database import migrate
from kit.embedded import EmbeddedStack
from kit.ordered import StoredMessage
from kit.publisher import Outgoing
from kit.telemetry import configure_logging
from services.commands.shared import run
from services.projector.adapters import BusLog
from services.projector.follow import Follower, Metrics
from services.projector.rebuild.rebuild import rebuild
from tests.bench.pace import Speed, quietest
from tests.bench.report import Report, at_least
from tests.integration.readmodel_tables import ANALYSES, NoTexts, everything, owner, store_at
from tests.unit.projector.histories import mixed

LIVE_TARGET = 2_300
REBUILD_TARGET = 8_000
REBUILDS = 6
POSTS = 600
IN_FLIGHT = 256


@dataclass(frozen=True)
class Pass:
    """One pass over all facts."""

    facts: int
    took_s: float
    cpu_s: float


async def raw_limit(url: str, records: Sequence[StoredMessage]) -> float:
    """Facts per second of COPY in batches of 500, each its own transaction."""
    async with await owner(url) as db:
        await db.execute("CREATE UNLOGGED TABLE IF NOT EXISTS staging (sequence bigint, subject text, envelope bytea)")
        began = perf_counter()
        for start in range(0, len(records), 500):
            async with db.cursor().copy("COPY staging FROM STDIN (FORMAT BINARY)") as copy:
                copy.set_types(("int8", "text", "bytea"))
                for record in records[start : start + 500]:
                    await copy.write_row((record.sequence, record.subject, record.data))
        return len(records) / (perf_counter() - began)


async def publish(bus: Bus, records: Sequence[StoredMessage]) -> None:
    """Store the records on their streams as they are, many under way at once."""
    for start in range(0, len(records), IN_FLIGHT):
        futures = [
            await bus.send(Outgoing(record.subject, record.data, {})) for record in records[start : start + IN_FLIGHT]
        ]
        for future in futures:
            await bus.wait_for_receipt(future)


async def follow(bus: Bus, url: str, ends: dict[str, int]) -> tuple[float, float]:
    """Seconds and CPU seconds of this process until both streams are applied to their ends."""
    metrics = Metrics(CollectorRegistry(), Gauge("position", "", ("stream",), registry=None))
    look = store_at(url)
    began, spent = perf_counter(), process_time()
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(Follower(stream, store_at(url), BusLog(bus), metrics).run()) for stream in ends]
        for stream, end in ends.items():
            while await look.position(stream) < end:  # noqa: ASYNC110 (the database tells nobody)
                await asyncio.sleep(0.005)
        for task in tasks:
            task.cancel()
    await look.close()
    return perf_counter() - began, process_time() - spent


async def measure(nats_url: str, database_url: str, report: Report) -> None:
    """Fill a log, follow it, and rebuild from the ledger."""
    await migrate(database_url)
    errata, views = mixed(POSTS, 1)
    records = [*errata.records, *views.records]
    raw = await raw_limit(database_url, records)
    async with connect(nats_url, name="bench") as bus:
        for stream in STREAMS:
            await bus.jetstream.add_stream(name=stream.name, subjects=list(stream.subjects))
        await publish(bus, records)
        ends = {"ERRATA": len(errata.records), "VIEWS": len(views.records)}
        with report.watched() as speed:
            took, cpu = await follow(bus, database_url, ends)
    _tell(report, "live, over a backlog", Pass(len(records), took, cpu), raw, LIVE_TARGET, speed)
    before = await everything(database_url)
    passes = [await _rebuilt(database_url, report) for _ in range(REBUILDS)]
    speed, again = quietest(passes)
    _tell(report, f"rebuild, the quietest of {REBUILDS}", again, raw, REBUILD_TARGET, speed)
    size = sum(len(record.data) for record in records) // len(records)
    report.line(f"raw COPY of {len(records):,} facts of {size:,} bytes", raw, "facts/s")
    if await everything(database_url) != before:
        raise RuntimeError("the rebuilt read model differs from the live one")


async def _rebuilt(url: str, report: Report) -> tuple[Speed, Pass]:
    with report.watched() as speed:
        began, spent = perf_counter(), process_time()
        facts = await rebuild(url, NoTexts(), analyses=ANALYSES)
        took_s, cpu_s = perf_counter() - began, process_time() - spent
    return speed, Pass(facts, took_s, cpu_s)


def _tell(report: Report, name: str, done: Pass, raw: float, target: float, speed: Speed) -> None:
    rate = done.facts / done.took_s
    report.line(name, rate, "facts/s", ratio=rate / raw, target=at_least(target), speed=speed)
    report.line("  CPU of the projector", done.cpu_s / done.facts * 1e6, "us each")


def bench(folder: Path, report: Report) -> None:
    """Live and rebuild."""
    report.head("projector")
    configure_logging((folder / "services.log").open("a"))
    with EmbeddedStack(folder / "data", services=("nats", "postgres")) as stack:
        run(measure(stack.endpoints.nats_url, stack.endpoints.database_url, report))
