"""Claims that are in the cache, in a log of very many: the look-up of one, and a whole article."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack
from itertools import cycle
from pathlib import Path
from random import Random
from statistics import median, quantiles
from time import perf_counter
from typing import Final
from uuid import UUID

import httpx

from contracts.topology import AUDITS_CONCLUDE_MARK, CURATOR_OVERDUE_MARK, JOBS, MARKS
from contracts.v1 import AssertionAnalysed
from kit.bus import Bus, connect
from kit.history import StoredFact, read_latest
from kit.kv import Bucket
from kit.pages import read_last_sequence
from kit.servers_in_use import Servers
from services.auditor.adapters import EventLog
from tests.bench.audit_client import add_accounts, headers_of, job_api_on, prepare
from tests.bench.audit_jobs import Jobs
from tests.bench.audit_model import write_article
from tests.bench.known_claims import store_claims
from tests.bench.raw_pipeline import RawPipeline
from tests.bench.report import Report, at_most
from tests.bench.rig import start

CLAIMS: Final = 200_000
LOOK_UPS: Final = 2_000
AT_ONCE: Final = 16
ARTICLES: Final = 60
WARM_UP: Final = 5
ACCOUNTS: Final = 2
"""One account may start sixty jobs an hour."""
KNOWN: Final = "known"


def measure(found: Servers, folder: Path, report: Report) -> None:
    """The look-up beside a bare read of one message, and the article beside its facts stored one after another."""
    keys = asyncio.run(_prepare(found))
    log = folder / "services.log"
    with start(found, log, "auditor", "curator") as first:
        first.hear()
        facts = asyncio.run(_audit_one(found))
    asyncio.run(_look_up(found, facts, report))
    with ExitStack() as processes, job_api_on():
        processes.enter_context(start(found, log, "auditor", "curator")).hear()
        host, port = processes.enter_context(start(found, log, "gateway")).hear()
        asyncio.run(_ask(found, f"http://{host}:{port}", keys, report))


async def _prepare(found: Servers) -> Sequence[str]:
    await prepare(found)
    return await add_accounts(found, ACCOUNTS)


async def _audit_one(found: Servers) -> Sequence[StoredFact]:
    """The facts of the job that analyses the known claims."""
    async with connect(found.nats_url, name="bench") as bus:
        jobs = Jobs(bus)
        await jobs.open()
        return await jobs.facts_of(write_article(KNOWN))


async def _look_up(found: Servers, facts: Sequence[StoredFact], report: Report) -> None:
    async with connect(found.nats_url, name="bench") as bus:
        ids = await store_claims(bus, facts, CLAIMS)
        await _let_folds_pass(bus)
        log, chosen = EventLog(bus), Random(1).sample(ids, LOOK_UPS)
        subject = AssertionAnalysed.SUBJECT
        # Claims are asked for at random, so for nearly each of them the broker loads a block of its store.
        for name, at_once, target in (("", 1, at_most(100)), (f", {AT_ONCE} at once", AT_ONCE, None)):
            least = await _time(lambda each: read_latest(bus, f"{subject}.{each}", stream=JOBS), chosen, at_once)
            with report.watched() as speed:
                times = await _time(log.cached, chosen, at_once)
            figure, limit = _p99_ms(times), _p99_ms(least)
            title = f"look-up among {CLAIMS:,} claims{name}, p99"
            report.line(title, figure, "ms", ratio=figure / limit, target=target, speed=speed)
            report.line("  p50", median(times) * 1e3, "ms", ratio=median(times) / median(least))
        report.note("  raw: one message read directly")


async def _let_folds_pass(bus: Bus) -> None:
    """Store marks, so that folds that start from now on do not read the whole log."""
    marks, last = await Bucket.open(bus, MARKS), await read_last_sequence(bus, JOBS.name)
    for name in (AUDITS_CONCLUDE_MARK, CURATOR_OVERDUE_MARK):
        await marks.put(name, str(last).encode())


async def _time(read: Callable[[UUID], Awaitable[object]], ids: Sequence[UUID], at_once: int) -> list[float]:
    """Seconds of each read."""
    times: list[float] = []
    waiting = iter(ids)

    async def one_after_another() -> None:
        for each in waiting:
            began = perf_counter()
            await read(each)
            times.append(perf_counter() - began)

    await asyncio.gather(*(one_after_another() for _ in range(at_once)))
    return times


async def _ask(found: Servers, url: str, keys: Sequence[str], report: Report) -> None:
    async with connect(found.nats_url, name="bench") as bus, httpx.AsyncClient(base_url=url, timeout=60) as client:
        jobs = Jobs(bus)
        await jobs.open()
        raw = RawPipeline(bus, await jobs.facts_of(write_article(KNOWN)))
        await raw.open()
        accounts = cycle(keys)
        for _ in range(WARM_UP):
            await _request(client, next(accounts))
        began = perf_counter()
        await raw.run(ARTICLES, 1)
        least = (perf_counter() - began) / ARTICLES
        with report.watched() as speed:
            times = [await _request(client, next(accounts)) for _ in range(ARTICLES)]
        figure = median(times)
        title = "article whose claims are all cached, p50"
        report.line(title, figure * 1e3, "ms", ratio=figure / least, target=at_most(150), speed=speed)
        report.line("  p99", _p99_ms(times), "ms")
        report.note("  raw: its facts stored one after another; the model answers at once")


async def _request(client: httpx.AsyncClient, key: str) -> float:
    """Seconds until the result is there."""
    began = perf_counter()
    body = {"input_text": write_article(KNOWN)}
    answer = await client.post("/v1/analyze", json=body, headers={**headers_of(key), "prefer": "wait=30"})
    took_s = perf_counter() - began
    result = answer.raise_for_status().json()["result"]
    assert all(claim["cache_hit"] for claim in result["claims"]), "the claims are known"
    return took_s


def _p99_ms(times: Sequence[float]) -> float:
    return quantiles(times, n=100)[98] * 1e3
