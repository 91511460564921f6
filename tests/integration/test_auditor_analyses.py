"""Claims that many jobs share, analysed by two auditors over a real broker: bought once, also if one of them dies."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Final
from uuid import UUID, uuid4

import pytest
from prometheus_client import CollectorRegistry

from contracts.topology import AUDITOR_ASSERTION_ANALYSIS_REQUESTED, JOBS
from contracts.v1 import (
    AssertionAnalysed,
    AssertionAnalysisRequested,
    Event,
    JobExtracted,
    JobPlanned,
    JobRequested,
    RunStarted,
)
from contracts.v1.assertion import Shape
from contracts.v1.job import AuditOptions, CachePreference
from contracts.v1.parts import EphemeralRef
from contracts.v1.run import StageModel
from kit import topology
from kit.bus import Bus, connect
from kit.clock import SystemClock
from kit.delivery import Delivery
from kit.embedded import EmbeddedStack
from kit.ephemeral import EphemeralTexts
from kit.errors import Superseded
from kit.history import StoredFact, read_history, read_latest
from kit.models.base import Model
from kit.publisher import PublishConflict
from kit.telemetry import Telemetry
from lifecycle.audits.cache import HORIZONS
from services.auditor.adapters import EventLog
from services.auditor.analysis import Analyst
from services.auditor.evidence import EvidencePages
from services.auditor.metrics import AuditorMetrics
from services.auditor.publishers import LoggedScores
from services.auditor.runs import Runs
from tests.integration.test_auditor_log import request, work
from tests.support.analysing import ASSERTION, STANDARD, Reader, request_analysis
from tests.support.analysing import World as Pages
from tests.support.auditing import World
from tests.support.delivering import until
from tests.support.mortal import Store
from tests.support.openai_server import openai_server
from tests.support.providers import KEY, OPENAI

pytest_plugins = ["tests.support.delivering"]

ACK_WAIT_S: Final = 2.0
ANSWERS: Final = 3
LARGE: Final = Shape(scenarios=3, evidence=8)


class Auditors:
    """What all auditors share: the store, the pages and the provider."""

    def __init__(self, url: str, model: Model) -> None:
        self._url = url
        self._model = model
        self._clock = SystemClock()
        self.ephemeral = EphemeralTexts(Store(), self._clock)
        self.words: dict[str, str] = {}

    def open(self, chosen: StageModel) -> Model:
        return self._model

    async def put(self, text: str, until: datetime, answers: str | None = None) -> EphemeralRef:
        """Words of an analysis are also known to the jobs that look it up."""
        ref = await self.ephemeral.put(text, until, answers)
        self.words[ref.sha256] = text
        return ref

    async def get(self, ref: EphemeralRef) -> str:
        """Words of a job are in memory, those of an analysis in the store."""
        return self.words.get(ref.sha256) or await self.ephemeral.get(ref)

    async def request(self, shape: Shape = STANDARD, follows: int = 0) -> AssertionAnalysisRequested:
        return await request_analysis(self.ephemeral, shape, job=uuid4(), follows=follows, at=self._clock.now())

    async def plan(
        self, bus: Bus, job: tuple[World, JobRequested], options: AuditOptions | None = None, at: datetime | None = None
    ) -> JobPlanned:
        """The plan of a job, made at that time; the words of its claims are known to all."""
        world, asked = job
        self.words |= world.texts
        world.texts = self.words
        world.clock.time = at or self._clock.now()
        return await work(bus, world, asked.model_copy(update={"options": options or asked.options}))

    def analyst(self, bus: Bus, worker: str) -> Analyst:
        log = EventLog(bus)
        runs = Runs(log, self.ephemeral, self, self._clock, worker)
        return Analyst(
            log,
            self,
            EvidencePages(Pages()),
            runs,
            self._clock,
            1_000_000,
            Decimal("0.5"),
            AuditorMetrics(CollectorRegistry()),
            LoggedScores(bus),
        )

    @asynccontextmanager
    async def process(self, worker: str, ack_wait_s: float | None = ACK_WAIT_S) -> AsyncIterator[None]:
        """An auditor that takes messages from the broker. Shapes: `ack_wait_s` None: the consumer's own."""
        async with connect(self._url, name=worker) as bus:
            analyst = self.analyst(bus, worker)
            delivery = Delivery(bus, Telemetry(), ack_wait_s=ack_wait_s)
            delivery.subscribe(
                AUDITOR_ASSERTION_ANALYSIS_REQUESTED,
                analyst.on_assertion_analysis_requested,
                on_exhausted=analyst.on_exhausted,
            )
            await delivery.start()
            yield


@asynccontextmanager
async def auditing(server: EmbeddedStack, reader: Reader) -> AsyncIterator[Auditors]:
    async with openai_server(reader):
        model = OPENAI.make(reader.url, key=KEY, silence_s=5)
        try:
            yield Auditors(server.endpoints.nats_url, model)
        finally:
            await model.aclose()


async def analysed(bus: Bus, assertion: UUID) -> list[AssertionAnalysed]:
    facts = await read_history(bus, str(assertion), stream=JOBS)
    return [each.event for each in facts if isinstance(each.event, AssertionAnalysed)]


async def ended(bus: Bus, assertions: set[UUID]) -> bool:
    subjects = [f"{AssertionAnalysed.SUBJECT}.{each}" for each in assertions]
    return len(await read_latest(bus, *subjects, stream=JOBS)) == len(subjects)


async def store(bus: Bus, event: Event) -> int:
    return (await bus.publish(event, correlation=uuid4())).sequence


@pytest.mark.requirement("FH-70")
async def test_twenty_jobs_over_two_auditors_buy_a_claim_once(bus: Bus, server: EmbeddedStack) -> None:
    """FH-70: One claim causes one call within its lifetime, also concurrently.

    No auditor dies here, so a message may go to the other one only after the consumers' own time.
    """
    reader = Reader()
    async with auditing(server, reader) as auditors, AsyncExitStack() as processes:
        for worker in ("one", "two"):
            await processes.enter_async_context(auditors.process(worker, ack_wait_s=None))
        plans = await asyncio.gather(*[auditors.plan(bus, await request(bus)) for _ in range(20)])
        outcomes = Counter(claim.outcome for plan in plans for claim in plan.claims)
        runs = {claim.run_id for plan in plans for claim in plan.claims if claim.run_id is not None}
        assert outcomes["OWN"] == 2
        assert len(runs) == 2
        stored = await bus.jetstream.stream_info(JOBS.name, subjects_filter=f"{AssertionAnalysisRequested.SUBJECT}.>")
        assertions = {UUID(each.rpartition(".")[2]) for each in stored.state.subjects or {}}
        await until(lambda: ended(bus, assertions))
    assert len(reader.requests) == 2 * ANSWERS
    assert [len(await analysed(bus, each)) for each in assertions] == [1, 1]


@pytest.mark.requirement("FH-70")
async def test_of_two_workers_that_have_one_delivery_one_buys(bus: Bus, server: EmbeddedStack) -> None:
    """FH-70: One claim causes one call within its lifetime, also concurrently."""

    async def handle(worker: str) -> None:
        with suppress(PublishConflict, Superseded):
            async for fact in auditors.analyst(bus, worker).on_assertion_analysis_requested(event, 1):
                await store(bus, fact)

    async with auditing(server, Reader()) as auditors:
        event = await auditors.request()
        await store(bus, event)
        await asyncio.gather(*(handle(f"worker-{number}") for number in range(5)))
        await handle("late")
    assert len(await analysed(bus, ASSERTION)) == 1


@pytest.mark.requirement("FH-70")
async def test_another_auditor_goes_on_where_one_died(bus: Bus, server: EmbeddedStack) -> None:
    """FH-70: One claim causes one call within its lifetime, also concurrently."""
    await topology.apply(bus, ack_wait_s=ACK_WAIT_S)
    reader = Reader()
    async with auditing(server, reader) as auditors:
        event = await auditors.request()
        await store(bus, event)
        facts = auditors.analyst(bus, "dying").on_assertion_analysis_requested(event, 1)
        for _ in range(2):  # the start and the first answer
            await store(bus, await anext(facts))
        async with auditors.process("other"):
            await until(lambda: ended(bus, {ASSERTION}))
    assert len(reader.requests) == ANSWERS
    run = await read_history(bus, str(event.run_id), stream=JOBS)
    workers = [each.event.worker for each in run if isinstance(each.event, RunStarted)]
    assert workers == ["dying", "other"]
    (fact,) = await analysed(bus, ASSERTION)
    assert len(fact.citations) == 2, "what the first had opened counts"


@pytest.mark.requirement("FH-71")
async def test_a_larger_request_follows_the_smaller_one(bus: Bus, server: EmbeddedStack) -> None:
    """FH-71: A hit is at least as large as what was asked for, and shapes only grow."""
    await topology.apply(bus, ack_wait_s=ACK_WAIT_S)
    async with auditing(server, Reader()) as auditors:
        first = await auditors.request()
        second = await auditors.request(LARGE, follows=await store(bus, first))
        await store(bus, second)
        async with auditors.process("one"), auditors.process("two"):
            await until(lambda: ended_with(bus, 2))
    assert [each.shape for each in await analysed(bus, ASSERTION)] == [STANDARD, LARGE]


SMALL: Final = AuditOptions(scenarios_per_claim=1, max_evidence_per_scenario=3)
DEEP: Final = AuditOptions(scenarios_per_claim=3, max_evidence_per_scenario=6, depth="DEEP")


@pytest.mark.requirement("FH-71")
async def test_small_large_small_are_two_analyses(bus: Bus, server: EmbeddedStack) -> None:
    """FH-71: A hit is at least as large as what was asked for, and shapes only grow."""
    await topology.apply(bus, ack_wait_s=ACK_WAIT_S)
    async with auditing(server, Reader()) as auditors, auditors.process("one"):
        for number, options in enumerate((SMALL, DEEP), 1):
            plan = await auditors.plan(bus, await request(bus), options)
            claim = plan.claims[0]
            assert claim.outcome == "OWN"
            await until(partial(is_analysed, bus, claim.run_id))
            assert len(await analysed(bus, await assertion_of(bus, plan))) == number
        claim = (await auditors.plan(bus, await request(bus), SMALL)).claims[0]
    assert (claim.outcome, claim.stale) == ("HIT", False)


@pytest.mark.requirement("FH-146")
async def test_a_job_takes_what_is_past_its_horizon_only_where_it_may_not_buy(bus: Bus, server: EmbeddedStack) -> None:
    """FH-146: An analysis is fresh within the horizon of its class."""
    await topology.apply(bus, ack_wait_s=ACK_WAIT_S)
    async with auditing(server, Reader()) as auditors, auditors.process("one"):
        plan = await auditors.plan(bus, await request(bus))
        for claim in plan.claims[:2]:
            await until(partial(is_analysed, bus, claim.run_id))
        analysed_at = (await find_analysis(bus, await assertion_of(bus, plan, 1))).envelope.occurred_at

        async def look(age: timedelta, preference: CachePreference) -> tuple[str, bool]:
            options = AuditOptions(cache_preference=preference)
            claim = (await auditors.plan(bus, await request(bus), options, analysed_at + age)).claims[1]
            return claim.outcome, claim.stale

        horizon, second = HORIZONS["SLOW"], timedelta(seconds=1)
        assert await look(horizon - second, "PREFER_CACHE") == ("HIT", False)
        assert await look(horizon + second, "CACHE_ONLY") == ("HIT", True)
        assert await look(horizon + second, "ALLOW_PARTIAL") == ("HIT", True)
        assert await look(horizon + second, "PREFER_CACHE") == ("OWN", False)


@pytest.mark.requirement("FH-56")
async def test_a_job_is_served_by_an_analysis_for_ninety_days(bus: Bus, server: EmbeddedStack) -> None:
    """FH-56: An entry lives 90 days."""
    await topology.apply(bus, ack_wait_s=ACK_WAIT_S)
    async with auditing(server, Reader()) as auditors, auditors.process("one"):
        plan = await auditors.plan(bus, await request(bus))
        await until(partial(is_analysed, bus, plan.claims[0].run_id))
        analysed_at = (await find_analysis(bus, await assertion_of(bus, plan))).envelope.occurred_at

        async def look(age_s: int) -> str:
            options = AuditOptions(cache_preference="CACHE_ONLY")
            at = analysed_at + timedelta(seconds=age_s)
            return (await auditors.plan(bus, await request(bus), options, at)).claims[0].outcome

        assert await look(7_776_000 - 1) == "HIT"
        assert await look(7_776_000 + 1) == "MISS"


async def is_analysed(bus: Bus, run_id: UUID | None) -> bool:
    facts = await read_history(bus, "*", stream=JOBS)
    return any(isinstance(each.event, AssertionAnalysed) and each.event.analysis_id == run_id for each in facts)


async def assertion_of(bus: Bus, plan: JobPlanned, claim: int = 0) -> UUID:
    facts = await read_history(bus, str(plan.job_id), stream=JOBS)
    (extracted,) = (each.event for each in facts if isinstance(each.event, JobExtracted))
    return extracted.claims[claim].assertion_id


async def find_analysis(bus: Bus, assertion: UUID) -> StoredFact:
    (fact,) = await read_latest(bus, f"{AssertionAnalysed.SUBJECT}.{assertion}", stream=JOBS)
    return fact


async def ended_with(bus: Bus, number: int) -> bool:
    return len(await analysed(bus, ASSERTION)) == number
