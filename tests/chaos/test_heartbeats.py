"""A worker that is not heard from for a while keeps its runs; one that is not heard from for too long loses them.

A run that is taken over is paid for twice, so the first is worth as much as the second.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from contracts.topology import ERRATA, INVESTIGATOR_INVESTIGATION_REQUESTED, Consumer
from contracts.v1.parts import InvestigationInput, Usage
from kit import topology
from kit.bus import Bus, connect
from kit.delivery import Delivery
from kit.embedded import EmbeddedStack
from kit.models.base import Brief, Decision, Finished
from kit.telemetry import Telemetry
from tests.support.brokers_log import BrokersLog
from tests.support.consumers import have_handled_all
from tests.support.factories import MODEL, TEXT, payload, requested, snapshot
from tests.support.fakes import Item, MemoryTexts, ScriptedModel, investigator_over
from tests.support.line import Fault, Line
from tests.support.servers import nats_server
from tests.support.system import until

RUNS = 10
WITHIN_S = 60.0


@pytest.fixture
def server(tmp_path: Path) -> Iterator[EmbeddedStack]:
    with nats_server(tmp_path) as running:
        yield running


class Runs(ScriptedModel):
    """Long runs of one worker: each lasts until it is told to end. Money is spent when one begins."""

    def __init__(self) -> None:
        super().__init__()
        self.begun: list[UUID] = []
        self.ended: list[UUID] = []
        self.aborted: list[UUID] = []
        self.finish = asyncio.Event()

    async def look(self, brief: Brief[Any, Any]) -> AsyncGenerator[Item, None]:
        run = UUID(brief.words.rsplit("Run ", 1)[1][:36])
        self.begun.append(run)
        try:
            await self.finish.wait()
        except asyncio.CancelledError:
            self.aborted.append(run)
            raise
        self.ended.append(run)
        yield Decision("c1", payload())
        yield Finished(None, Usage(total_tokens=1), MODEL, b"{}")


class OwnVersions(BrokersLog):
    """Each investigation has a version of its own, which names it."""

    async def snapshot(self, version_id: UUID) -> InvestigationInput | None:
        return snapshot(f"{TEXT} Run {version_id}")


@asynccontextmanager
async def worker(url: str, consumer: Consumer) -> AsyncIterator[Runs]:
    """An investigator with room for all runs."""
    async with connect(url, name="worker", drain_s=1.0) as bus:
        runs = Runs()
        investigator = investigator_over(OwnVersions(bus), MemoryTexts(), runs)
        delivery = Delivery(bus, Telemetry())
        delivery.subscribe(consumer, investigator.on_investigation_requested)
        await delivery.start()
        yield runs


async def asked(bus: Bus, consumer: Consumer) -> set[UUID]:
    """Ask for ten runs."""
    await topology.apply(bus)
    await bus.jetstream.add_consumer(ERRATA.name, topology.consumer_config(consumer))
    wanted = [uuid4() for _ in range(RUNS)]
    for investigation in wanted:
        await bus.publish(requested(investigation_id=investigation, version_id=investigation), correlation=uuid4())
    return set(wanted)


async def holds(condition: Callable[[], bool], what: str, *, within_s: float = WITHIN_S) -> None:
    """Wait until it does."""

    async def asked() -> bool:
        return condition()

    await until(asked, what, within_s=within_s)


async def passed(seconds: float) -> None:
    """Let time pass: the silence itself is what is tested."""
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    await holds(lambda: loop.time() >= end, "time passes", within_s=seconds + WITHIN_S)


@pytest.mark.requirement("2.6-15")
@pytest.mark.parametrize("fault", ["silent", "cut"])
async def test_ten_long_runs_whose_heartbeats_are_lost_for_five_seconds_run_once(
    server: EmbeddedStack, fault: Fault
) -> None:
    """Heartbeats are sent every 3 s; the runs last beyond the deadline that they would have had without them.

    2.6-15: A request during a run starts no second one.
    """
    consumer = replace(INVESTIGATOR_INVESTIGATION_REQUESTED, slots=RUNS, ack_wait_s=9.0)
    async with connect(server.endpoints.nats_url, name="test") as bus, Line(server.endpoints.nats_url) as line:
        wanted = await asked(bus, consumer)
        async with worker(line.url, consumer) as far:
            await holds(lambda: len(far.begun) == RUNS, "all runs begin")
            async with worker(server.endpoints.nats_url, consumer) as idle:
                await passed(1.0)
                line.fail(fault)
                await passed(5.0)
                line.heal()
                await passed(9.0)
                far.finish.set()
                await holds(lambda: len(far.ended) == RUNS, "all runs end")
                await until(lambda: have_handled_all(bus, consumer), "all are acknowledged", within_s=WITHIN_S)
                assert (set(far.ended), far.aborted, len(far.begun)) == (wanted, [], RUNS)
                assert idle.begun == [], "a run was paid for twice"


@pytest.mark.requirement("3.6-03")
@pytest.mark.parametrize("fault", ["silent", "cut"])
async def test_runs_of_a_lost_worker_go_on_elsewhere_and_stop_where_they_were(
    server: EmbeddedStack, fault: Fault
) -> None:
    """3.6-03: A run whose worker died is taken up again."""
    consumer = replace(INVESTIGATOR_INVESTIGATION_REQUESTED, slots=RUNS, ack_wait_s=3.0)
    async with connect(server.endpoints.nats_url, name="test") as bus, Line(server.endpoints.nats_url) as line:
        wanted = await asked(bus, consumer)
        async with worker(line.url, consumer) as lost:
            await holds(lambda: len(lost.begun) == RUNS, "all runs begin")
            line.fail(fault)
            silent_since = asyncio.get_running_loop().time()
            async with worker(server.endpoints.nats_url, consumer) as other:
                other.finish.set()
                await holds(lambda: set(other.ended) == wanted, "the other worker takes over")
                taken_s = asyncio.get_running_loop().time() - silent_since
                assert taken_s < 3.0 + 10.0, "seconds after the deadline, on a busy machine"
                await holds(lambda: set(lost.aborted) == wanted, "the lost worker stops")
                await until(lambda: have_handled_all(bus, consumer), "all are acknowledged", within_s=WITHIN_S)
                line.heal()
            assert (len(other.begun), lost.ended) == (RUNS, [])
