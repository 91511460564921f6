"""The decision log: how many decisions enter it a second, what a proof costs, and how soon a decision is signed.

Services, broker, database and blob store are real; nobody witnesses, since a witness's pace is its own.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from statistics import quantiles
from time import perf_counter

import httpx

from contracts.v1 import Event, LogChanged
from kit import topology
from kit.bus import Bus, connect
from kit.database import migrate
from kit.servers_in_use import Servers
from tests.bench import load
from tests.bench.bench_projector import publish
from tests.bench.child import Child
from tests.bench.cost import measured_processes
from tests.bench.report import Report, at_least, at_most
from tests.bench.rig import servers, start
from tests.integration.readmodel_tables import owner
from tests.unit.projector.histories import Page, Tape
from tlog.keys import Algorithm, SigningKey

LEAVES = 4_000
PROOFS = 2_000
SIGNED = 60
EVERY_S = 0.5
BATCH = 500
POLL_S = 0.05
ORIGIN = "errata.example/log/v1"


def bench(folder: Path, report: Report) -> None:
    """A backlog of decisions, proofs of them one after another, and decisions that come meanwhile."""
    report.head(f"log, {LEAVES:,} decisions")
    key = SigningKey(ORIGIN, Algorithm.ED25519, secrets.token_bytes(32))
    os.environ["OPENERRATA_NOTARY_KEY"] = key.secret()
    try:
        with servers(folder) as found, ExitStack() as processes:
            _measure(found, key, folder / "services.log", processes, report)
    finally:
        del os.environ["OPENERRATA_NOTARY_KEY"]


def _measure(found: Servers, key: SigningKey, log: Path, processes: ExitStack, report: Report) -> None:
    decided = [_page(number) for number in range(LEAVES)]
    asyncio.run(_fill(found, key, decided, processes, log))
    with report.watched() as speed:
        processes.enter_context(start(found, log, "notary")).hear()
        rate, raw = asyncio.run(_entered(found.database_url))
    report.line("raw INSERT of the same leaves", raw, "leaves/s")
    report.line("leaves", rate, "leaves/s", ratio=rate / raw, target=at_least(500), speed=speed)
    process = processes.enter_context(start(found, log, "gateway"))
    gateway = process.hear()
    sender = processes.enter_context(Child(load.main))
    url = f"http://{gateway[0]}:{gateway[1]}"
    asyncio.run(_until_proven(url, decided[-1]))
    asked = [_request(page) for page in decided[:: LEAVES // PROOFS]]
    with report.watched() as speed, measured_processes({"gateway": process.pid}) as cost:
        proofs: load.Round = sender.ask(load.Plan(gateway, asked, 60.0, connections=1))
    if proofs.failures:
        report.fail(f"{proofs.failures} proofs failed, the first with {proofs.failure}")
    report.line("proof of a decision, one at a time, p50", proofs.percentile_ms(50), "ms")
    report.line("  CPU of the gateway's process", cost.ms_each(len(asked)), "ms each")
    report.line("  p99", proofs.percentile_ms(99), "ms", target=at_most(5), speed=speed)
    waited = asyncio.run(_signed(found, url))
    report.line("fact to signed note, p50", quantiles(waited, n=100)[49], "s")
    report.line("  p95", quantiles(waited, n=100)[94], "s", target=at_most(15))


def _page(number: int) -> Page:
    return Page(f"en:{number}", f"Post {number} says that the moon is made of cheese.")


def _facts(page: Page) -> tuple[Event, ...]:
    """A run that finds nothing: five facts and one decision."""
    return (page.registered(), page.requested(), page.started(), page.drafted(), page.completed())


async def _fill(found: Servers, key: SigningKey, pages: Sequence[Page], processes: ExitStack, log: Path) -> None:
    """Tables that hold all decisions, and a log that is announced and empty."""
    await migrate(found.database_url)
    tape = Tape()
    tape.add(LogChanged(origin=ORIGIN, what="OPENED", keys=(str(key.verifier),)))
    for page in pages:
        tape.add(*_facts(page))
    async with connect(found.nats_url, name="bench") as bus:
        await topology.apply(bus)
        processes.enter_context(start(found, log, "projector")).hear()
        await publish(bus, tape.records)
    async with await owner(found.database_url) as db:
        while True:
            position = await (await db.execute("SELECT sequence FROM position WHERE stream = 'ERRATA'")).fetchone()
            if position is not None and position[0] >= len(tape.records):
                return
            await asyncio.sleep(POLL_S)


async def _entered(url: str) -> tuple[float, float]:
    """Leaves a second until all are in the log, and of INSERTs of the same bytes in transactions of their own."""
    began, seen = 0.0, 0
    async with await owner(url) as db:
        while seen <= LEAVES:
            row = await (await db.execute("SELECT count(*) FROM log.leaf")).fetchone()
            assert row is not None
            if row[0] and not began:
                began, first = perf_counter(), row[0]
            seen = row[0]
            await asyncio.sleep(0.01)
        rate = (seen - first) / (perf_counter() - began)
        await db.execute("CREATE TABLE raw_leaf (index bigint PRIMARY KEY, data bytea)")
        rows = await (await db.execute("SELECT index, data FROM log.leaf ORDER BY index")).fetchall()
        began, left = perf_counter(), iter(rows)
        while some := list(islice(left, BATCH)):
            async with db.transaction(), db.cursor() as cursor:
                await cursor.executemany("INSERT INTO raw_leaf VALUES (%s, %s)", some)
        return rate, len(rows) / (perf_counter() - began)


async def _until_proven(url: str, page: Page) -> float:
    """Seconds until a note covers the decision about the page."""
    began = perf_counter()
    async with httpx.AsyncClient(trust_env=False, timeout=30) as http:
        while (await http.get(f"{url}{_path(page)}")).status_code != 200:  # noqa: ASYNC110 (it answers when asked)
            await asyncio.sleep(POLL_S)
    return perf_counter() - began


async def _signed(found: Servers, url: str) -> list[float]:
    """Seconds from the fact to its proof, of decisions that come one after another."""
    async with connect(found.nats_url, name="bench") as bus, asyncio.TaskGroup() as group:
        waiting = []
        for number in range(LEAVES, LEAVES + SIGNED):
            page = _page(number)
            await _tell(bus, page)
            waiting.append(group.create_task(_until_proven(url, page)))
            await asyncio.sleep(EVERY_S)
    return [each.result() for each in waiting]


async def _tell(bus: Bus, page: Page) -> None:
    for event in _facts(page):
        await bus.publish(event, correlation=event.event_id())


def _path(page: Page) -> str:
    return f"/log/v1/proof/{page.investigation_id}"


def _request(page: Page) -> bytes:
    return f"GET {_path(page)} HTTP/1.1\r\nhost: 127.0.0.1\r\naccept: */*\r\n\r\n".encode()
