"""Jobs over a real broker: a claim that several jobs make at once is requested by one of them, and the others join."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any
from uuid import UUID, uuid4

import pytest

from contracts.topology import JOBS
from contracts.v1 import AssertionAnalysisRequested, JobExtracted, JobPlanned, JobRequested, LlmStageConfigured
from kit.bus import Bus
from kit.history import read_history
from kit.model_settings import LlmSettings
from kit.models.provider import ProviderDeps
from kit.models.stages import StageModels
from lifecycle.audits.runs import ANALYSE, EXTRACT
from services.auditor.adapters import BucketKeys, BucketMemos, ConfiguredStages, EventLog
from services.auditor.extracting import Extractor
from services.auditor.handlers import Auditor
from services.auditor.planning import Planner
from services.auditor.publishers import LoggedScores
from tests.support.auditing import World
from tests.support.concluding_jobs import analysed, assertion_of, failed, requested_analysis

pytest_plugins = ["tests.support.delivering"]


async def request(bus: Bus) -> tuple[World, JobRequested]:
    """A job of its own, whose request is stored."""
    world = World()
    job = world.request.model_copy(update={"job_id": uuid4()})
    await bus.publish(job, correlation=uuid4())
    return world, job


async def work(bus: Bus, world: World, job: JobRequested) -> JobPlanned:
    """Work on a job as a process does, and return its plan."""
    extractor = Extractor(EventLog(bus), world, world, BucketMemos(bus), world.clock, 1_000_000)
    planner = Planner(EventLog(bus), world, BucketKeys(bus), world.metrics, world.clock)
    auditor = Auditor(EventLog(bus), world, world, extractor, world, planner, LoggedScores(bus))
    async for fact in auditor.on_job_requested(job, 1):
        await bus.publish(fact, correlation=uuid4())
    planned = [past.event for past in await read_history(bus, str(job.job_id), stream=JOBS)][-1]
    assert isinstance(planned, JobPlanned)
    return planned


async def test_of_jobs_at_once_one_requests_a_claim_and_the_others_join(bus: Bus) -> None:
    jobs = [await request(bus) for _ in range(8)]
    plans = await asyncio.gather(*(work(bus, *each) for each in jobs))
    assert Counter(claim.outcome for plan in plans for claim in plan.claims) == {"OWN": 2, "JOINED": 14, "UNUSABLE": 8}
    runs = {claim.run_id for plan in plans for claim in plan.claims if claim.run_id is not None}
    assert len(runs) == 2
    info = await bus.jetstream.stream_info(JOBS.name, subjects_filter=f"{AssertionAnalysisRequested.SUBJECT}.>")
    assert len(info.state.subjects or {}) == 2


@pytest.mark.requirement("FH-66")
async def test_claims_that_only_their_guards_keep_apart_are_counted(bus: Bus) -> None:
    """FH-66: A hit needs the same guard, so that lost numbers, symbols and accents keep claims apart."""
    plans, counts = [], []
    for claim in ("Rents rose 3.5%.", "Rents rose 35%.", "Rents fell.", "Rents rose 35%!", "Rents rose 3.5 %."):
        world = World({"language": "en", "claims": [{"text": claim}]})
        job = world.request.model_copy(update={"job_id": uuid4(), "account_id": uuid4()})
        await bus.publish(job, correlation=uuid4())
        plans.append((await work(bus, world, job)).claims[0])
        counts.append(world.registry.get_sample_value("openerrata_auditor_shared_keys_total"))
    assert [each.outcome for each in plans] == ["OWN", "OWN", "OWN", "JOINED", "JOINED"]
    assert [plans.index(next(one for one in plans if one.run_id == each.run_id)) for each in plans] == [0, 1, 2, 1, 0]
    assert counts == [0, 1, 0, 0, 0]
    assert world.registry.get_sample_value("openerrata_auditor_lookups_total", {"outcome": "joined"}) == 1


@pytest.mark.requirement("FH-53")
async def test_the_next_job_of_the_account_is_served_by_the_extraction(bus: Bus) -> None:
    """FH-53: An extraction is shared within an account while its words are kept."""
    world, job = await request(bus)
    await work(bus, world, job)
    await bus.publish(later := job.model_copy(update={"job_id": uuid4()}), correlation=uuid4())
    world.request = later
    await work(bus, world, later)
    assert world.bought == 1
    facts = await read_history(bus, str(later.job_id), stream=JOBS)
    assert [each.event.memo_of for each in facts if isinstance(each.event, JobExtracted)] == [job.job_id]


async def test_a_redelivery_after_the_plan_does_nothing(bus: Bus) -> None:
    world, job = await request(bus)
    planned = await work(bus, world, job)
    before = (await bus.jetstream.stream_info(JOBS.name)).state.messages
    assert await work(bus, world, job) == planned
    assert (await bus.jetstream.stream_info(JOBS.name)).state.messages == before


async def test_the_stages_are_as_an_operator_stored_them(bus: Bus) -> None:
    stages = ConfiguredStages(bus, StageModels(LlmSettings(), ProviderDeps()))
    assert (await stages.models())[ANALYSE].model == "claude-sonnet-5-5"
    change = LlmStageConfigured(
        stage="analyse", provider="openai", model="gpt-5.5", max_tokens=9_000, temperature=0.1, by=UUID(int=1)
    )
    await bus.publish(change, correlation=uuid4())
    models = await stages.models()
    assert (models[ANALYSE].provider, models[ANALYSE].model, models[ANALYSE].max_tokens) == ("openai", "gpt-5.5", 9_000)
    assert models[EXTRACT].provider == "anthropic"


@pytest.mark.requirement("FH-43")
async def test_a_look_up_of_a_cached_claim_is_three_reads(bus: Bus, monkeypatch: pytest.MonkeyPatch) -> None:
    """FH-43: A cached claim returns its full verdict at no cost, within 100 ms.

    How long the reads take, `make bench ARGS=audits` measures.
    """
    run, job = UUID(int=7), UUID(int=8)
    await bus.publish(requested_analysis(run, job), correlation=uuid4())
    await bus.publish(analysed(run), correlation=uuid4())
    asked, publish = list[str](), bus.client.publish

    async def record(subject: str, *given: Any, **named: Any) -> None:
        asked.append(subject)
        await publish(subject, *given, **named)

    monkeypatch.setattr(bus.client, "publish", record)
    found = await EventLog(bus).cached(assertion_of(run))
    assert found.analysed is not None
    assert found.analysed.event.analysis_id == run
    assert len(asked) == 3
    assert all(subject.startswith("$JS.API.DIRECT.GET.") for subject in asked)


async def test_whether_its_run_failed_is_asked_of_a_request_without_an_analysis(bus: Bus) -> None:
    run = UUID(int=7)
    await bus.publish(requested_analysis(run, UUID(int=8)), correlation=uuid4())
    await bus.publish(failed(run), correlation=uuid4())
    found = await EventLog(bus).cached(assertion_of(run))
    assert found.requested is not None
    assert found.requested.failed


async def test_a_memo_whose_job_has_no_extraction_yet_serves_nobody(bus: Bus) -> None:
    memos, memo = BucketMemos(bus), uuid4()
    await memos.keep(memo, uuid4())
    assert await memos.find(memo) is None
