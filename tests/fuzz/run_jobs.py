"""One fuzzing run over the job API of a whole system, and what must hold then: nothing stored, nothing charged."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any

import httpx
import psutil

from contracts.topology import JOBS
from contracts.v1 import RetentionPurged
from tests.fuzz.drive import Judged, drive
from tests.fuzz.generate import Sent
from tests.fuzz.jobs import JobStrangers, judge
from tests.fuzz.run import MAX_GROWTH_BYTES
from tests.support.everywhere import objects
from tests.support.oracle import Oracle, oracle
from tests.support.system import System, system

RATE = "9999999/1"


@dataclass
class Stored:
    """What the system holds that a request could change."""

    streams: dict[str, int] = field(default_factory=dict)
    objects: set[str] = field(default_factory=set)
    jobs: int = 0
    refused: int = 0
    credit: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class JobsRun:
    """What a run found. Units: bytes of resident memory before and after."""

    judged: Judged
    seconds: float
    before: Stored
    after: Stored
    memory: tuple[int, int]

    def complaints(self) -> list[str]:
        """What must not be; empty if all is well."""
        found = list(self.judged.faults)
        if self.before != self.after:
            found.append(f"something was stored or charged: {self.before} became {self.after}")
        if (growth := self.memory[1] - self.memory[0]) > MAX_GROWTH_BYTES:
            found.append(f"memory grew by {growth >> 20} MiB")
        return found


async def run_jobs(folder: Path, *, seed: int, requests: int, each: Callable[[], object] = lambda: None) -> JobsRun:
    """Start everything, send the requests, and look at what they left; `each` is called for each request."""
    settings = {f"OPENERRATA_GATEWAY_{name}_RATE": RATE for name in ("JOBS", "ESTIMATES", "READS")}
    async with system(
        folder,
        OPENERRATA_GATEWAY_JOBS="on",
        OPENERRATA_GATEWAY_TRUSTED_PROXIES="1",
        OPENERRATA_SELECTOR_RUNS_PER_DAY="0",
        **settings,
    ) as running:
        process = await running.up()
        keys = [await _add(running, "fuzz", "--credit-limit", "0.01"), await _add(running, "admin", "--role", "admin")]
        strangers = JobStrangers(seed, *keys)

        def counted() -> Iterator[Sent]:
            for sent in strangers.requests(requests):
                each()
                yield sent

        async with oracle(running.database_url, running.nats_url) as looking:
            before, resident = await _look(running, looking, keys[0]), psutil.Process(process.pid).memory_info().rss
            began = monotonic()
            judged = await drive(running.url, counted(), judge=judge)
            seconds = monotonic() - began
            grown = psutil.Process(process.pid).memory_info().rss
            await looking.settled(within_s=60)
            return JobsRun(judged, seconds, before, await _look(running, looking, keys[0]), (resident, grown))


async def _add(running: System, name: str, *more: str) -> str:
    assert (await running.run("accounts", "add", name, *more)).code == 0
    added = await running.run("keys", "add", name, "--account", name, "--right", "audit")
    assert added.code == 0, added.err
    return added.out.strip()


async def _look(running: System, looking: Oracle, key: str) -> Stored:
    streams = await looking.bus.jetstream.streams_info()
    purged = await looking.bus.jetstream.stream_info(JOBS.name, subjects_filter=f"{RetentionPurged.SUBJECT}.>")
    headers = {"authorization": f"Bearer {key}"}
    async with httpx.AsyncClient(base_url=running.url, headers=headers, trust_env=False, timeout=30) as client:
        credit = (await client.get("/v1/user/credit")).json()
    last = {name: info.state.last_seq for info in streams if not (name := info.config.name or "").startswith("KV_")}
    last[JOBS.name] -= sum((purged.state.subjects or {}).values())  # the hour's, soon after the start or at its turn
    return Stored(
        last,
        {name for name, _ in await asyncio.to_thread(lambda: list(objects(running)))},
        int(await looking.value("SELECT count(*) FROM readmodel.job")),
        int(await looking.value("SELECT count(*) FROM readmodel.refused_fact")),
        credit,
    )
