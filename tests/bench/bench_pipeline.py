"""Investigations × 3 claims through every service, with a model that costs nothing."""

from __future__ import annotations

import asyncio
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter
from uuid import UUID, uuid4

from nats.aio.msg import Msg

from contracts.v1 import (
    ClaimProposed,
    ClaimValidationStarted,
    InvestigationCompleted,
    InvestigationRequested,
    VersionRegistered,
)
from contracts.v1.ids import investigation_id, post_id, version_id
from contracts.v1.pages import Sighting
from contracts.v1.parts import PostRef
from kit.blobs import Blobs
from kit.bus import Bus
from kit.history import read_history, read_latest
from kit.servers_in_use import Servers
from platforms.identity import content_hash, occurrences_hash, version_hash
from services.commands.shared import run
from tests.bench.cost import Cost, measured
from tests.bench.pace import Speed, quietest
from tests.bench.raw_pipeline import RawPipeline
from tests.bench.report import Report, at_least, at_most
from tests.bench.rig import article, servers, system

ANALYSIS = "FACT_CHECK"


class Driver:
    """Requests investigations and sees them completed, as a gateway would."""

    def __init__(self, bus: Bus, blobs: Blobs) -> None:
        self._bus = bus
        self._blobs = blobs
        self._waiting: dict[str, asyncio.Future[None]] = {}

    async def open(self) -> None:
        await self._bus.client.subscribe(f"{InvestigationCompleted.SUBJECT}.*", cb=self._completed)

    async def _completed(self, message: Msg) -> None:
        future = self._waiting.pop(message.subject.rpartition(".")[2], None)
        if future is not None and not future.done():
            future.set_result(None)

    async def register(self, count: int) -> list[tuple[UUID, UUID]]:
        """Versions as ingest would have registered them."""
        versions = []
        for start in range(0, count, 200):
            versions += await asyncio.gather(*(self._register() for _ in range(min(200, count - start))))
        return versions

    async def _register(self) -> tuple[UUID, UUID]:
        ref = PostRef(platform="X", external_id=str(uuid4().int >> 64))
        text = article(int(ref.external_id))
        post = post_id(ref)
        hashed = version_hash(content_hash(text), occurrences_hash(()))
        version = version_id(post, hashed)
        await self._bus.publish(
            VersionRegistered(
                version_id=version,
                post_id=post,
                post=ref,
                version_hash=hashed,
                provenance="CLIENT_FALLBACK",
                sighting=Sighting(
                    observation_id=uuid4(),
                    url="https://x.com/a/status/1",
                    metadata={"author_handle": "a", "media_urls": []},
                ),
                content=await self._blobs.put_text(text),
                word_count=300,
                occurrences_hash=occurrences_hash(()),
            ),
            correlation=uuid4(),
        )
        return post, version

    async def investigate(self, post: UUID, version: UUID) -> float:
        """Seconds from request to completion."""
        began = perf_counter()
        investigation = investigation_id(version, ANALYSIS)
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[str(investigation)] = future
        await self._bus.publish(
            InvestigationRequested(
                investigation_id=investigation,
                version_id=version,
                post_id=post,
                analysis=ANALYSIS,
                origin="ORIGINAL",
                requested_by="READER",
            ),
            correlation=uuid4(),
        )
        async with asyncio.timeout(120):
            await future
        return perf_counter() - began


async def investigate_many(driver: Driver, versions: list[tuple[UUID, UUID]], at_once: int) -> None:
    """Run the investigations, at most `at_once` at a time."""
    gate = asyncio.Semaphore(at_once)

    async def one(post: UUID, version: UUID) -> None:
        async with gate:
            await driver.investigate(post, version)

    await asyncio.gather(*(one(*version) for version in versions))


async def open_raw(bus: Bus, version: UUID) -> RawPipeline:
    """The raw limit for all facts of one investigation; those that reserve a review have the subject of their claim."""
    facts = await read_history(bus, str(investigation_id(version, ANALYSIS)))
    claims = [each.event.claim_id for each in facts if isinstance(each.event, ClaimProposed)]
    reserved = await read_latest(bus, *(f"{ClaimValidationStarted.SUBJECT}.{claim}" for claim in claims))
    raw = RawPipeline(bus, sorted((*facts, *reserved), key=lambda each: each.sequence))
    await raw.open()
    return raw


async def _round(
    found: Servers, driver: Driver, raw: RawPipeline, report: Report, at_once: int, count: int
) -> tuple[Speed, tuple[Cost, Cost]]:
    """What `count` investigations cost, and then the raw limit."""
    versions = await driver.register(count)
    await asyncio.sleep(2)  # the projector settles
    with report.watched() as speed, measured(found.stack) as cost:
        await investigate_many(driver, versions, at_once)
    with measured(found.stack) as least:
        await raw.run(count, at_once)
    return speed, (cost, least)


async def _measure(found: Servers, report: Report) -> None:
    async with system(found) as host:
        driver = Driver(host.bus, host.blobs)
        await driver.open()
        first = await driver.register(200)
        await investigate_many(driver, first, 50)
        raw = await open_raw(host.bus, first[0][1])
        for at_once, count, rounds in ((200, 400, 6), (1_000, 1_500, 3)):
            found_out = [await _round(found, driver, raw, report, at_once, count) for _ in range(rounds)]
            speed, (cost, least) = quietest(found_out)
            rate, limit = count / cost.wall_s, count / least.wall_s
            report.line(f"{at_once:,} in flight", rate, "inv/s", ratio=rate / limit, target=at_least(100), speed=speed)
            cpu, floor = cost.ms_each(count), least.ms_each(count)
            report.line("  CPU, all processes", cpu, "ms each", ratio=cpu / floor, target=at_most(15), speed=speed)
            report.note(f"  of which {cost.split(count)}")
            report.note(f"  raw: the same facts stored, delivered and read, {limit:.0f}/s, {least.split(count)}")
            middle = median(count / each.wall_s for _, (each, _) in found_out)
            report.note(f"  this is the quietest of {rounds} rounds ({speed}); the middle one had {middle:.0f}/s")
        alone = await driver.register(200)
        with report.watched() as speed:
            times = [await driver.investigate(*version) for version in alone]
        report.line("idle, request to completed, p50", median(times) * 1e3, "ms", target=at_most(25), speed=speed)
        report.line("  p99", quantiles(times, n=100)[98] * 1e3, "ms")


def bench(folder: Path, report: Report) -> None:
    """Throughput, cost and latency."""
    report.head("pipeline, investigations with 3 claims, all services in one process, a model without latency")
    with servers(folder) as found:
        run(_measure(found, report))
