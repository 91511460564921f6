"""The fold of jobs over a real broker: beside another one, and killed between an entry about credit and its mark."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime
from uuid import UUID, uuid4

import pytest
from prometheus_client import CollectorRegistry

from contracts.topology import AUDITS_CONCLUDE_MARK, AUDITS_CONCLUDED, JOBS, MARKS
from contracts.v1 import CreditPosted, Event, JobResolved
from kit.bus import Bus, connect
from kit.cancelling import cancel_and_wait
from kit.clock import SystemClock
from kit.concluding import Concluder
from kit.embedded import EmbeddedStack
from kit.ephemeral import EphemeralTexts
from kit.history import read_history
from kit.kv import Bucket
from lifecycle.audits.words import article_folder, open_folder
from services.auditor.adapters import JobsLog
from services.auditor.concluding import JobRules
from services.auditor.concluding import Texts as TextsPort
from services.auditor.metrics import OpenJobs
from tests.support.audits import PERIOD, asked, reserved
from tests.support.concluding_jobs import Texts, analysed, ended, extracted, fetched, planned
from tests.support.fakes import StillClock
from tests.support.mortal import Store
from tests.support.system import until

pytest_plugins = ["tests.support.delivering"]

RUN = UUID(int=100)


@asynccontextmanager
async def folding(url: str, texts: TextsPort) -> AsyncIterator[CollectorRegistry]:
    """A process that folds jobs, killed at the end."""
    registry = CollectorRegistry()
    async with connect(url, name="fold") as bus:
        watcher = OpenJobs(registry, SystemClock().now)
        rules = JobRules(JobsLog(bus), texts)
        fold = Concluder(bus, JOBS, AUDITS_CONCLUDED, AUDITS_CONCLUDE_MARK, rules, watcher)
        running = asyncio.create_task(fold.run())
        try:
            yield registry
        finally:
            await cancel_and_wait([running])


async def publish(bus: Bus, *events: Event) -> int:
    """Store facts; the sequence of the last."""
    sequence = 0
    for event in events:
        sequence = (await bus.publish(event, correlation=uuid4())).sequence
    return sequence


async def entries(bus: Bus) -> list[CreditPosted]:
    found = [each.event for each in await read_history(bus, str(PERIOD), stream=JOBS)]
    return [each for each in found if isinstance(each, CreditPosted)]


async def closed(bus: Bus, count: int) -> list[CreditPosted]:
    """The entries that settle or release, as soon as there are so many."""

    async def all_there() -> bool:
        return len([each for each in await entries(bus) if each.entry != "RESERVED"]) >= count

    await until(all_there, "all jobs are settled")
    return [each for each in await entries(bus) if each.entry != "RESERVED"]


async def reserve_all(bus: Bus, jobs: list[UUID]) -> None:
    last: CreditPosted | None = None
    sequence = 0
    for job in jobs:
        last = reserved(job, last, sequence)
        sequence = await publish(bus, last)


@pytest.mark.requirement("FH-40")
async def test_two_folds_at_once_settle_each_job_once(bus: Bus, server: EmbeddedStack) -> None:
    """FH-40: Credit is reserved at intake and settled at the end."""
    jobs = [UUID(int=number) for number in range(1, 13)]
    await reserve_all(bus, jobs)
    texts = EphemeralTexts(Store(), StillClock())
    kept = {job: await texts.put("So they say.", asked(job).input.until, article_folder(job)) for job in jobs}
    async with AsyncExitStack() as stack:
        registries = [await stack.enter_async_context(folding(server.endpoints.nats_url, texts)) for _ in range(2)]
        for job in jobs:
            await publish(bus, asked(job), fetched(job), extracted(job, RUN), planned(job, RUN, own=job == jobs[0]))
        await publish(bus, analysed(RUN))

        async def resolved() -> bool:
            found = await bus.jetstream.stream_info(JOBS.name, subjects_filter=f"{JobResolved.SUBJECT}.>")
            return len(found.state.subjects or {}) == len(jobs)

        await until(resolved, "one end resolves all jobs that wait for it")
        await publish(bus, *(ended(job) for job in jobs))
        ends = await closed(bus, len(jobs))

        async def idle() -> bool:
            names = "openerrata_auditor_open_jobs", "openerrata_auditor_oldest_job_seconds"
            return all(each.get_sample_value(name) == 0 for each in registries for name in names)

        await until(idle, "both folds have closed all")
    assert {(each.job_id, each.entry) for each in ends} == {(job, "SETTLED") for job in jobs}
    assert (len(ends), ends[-1].used_micro_usd, ends[-1].open) == (len(jobs), 84_000 * len(jobs), ())
    for ref in kept.values():
        with pytest.raises(LookupError):
            await texts.get(ref)


class Dying(Texts):
    """The process is killed when it begins to remove words: its credit is settled, its mark not stored."""

    def __init__(self) -> None:
        super().__init__()
        self.reached = asyncio.Event()

    async def remove_answers(self, step: str, until: datetime) -> None:
        self.reached.set()
        await asyncio.Event().wait()


async def test_a_fold_that_is_killed_before_its_mark_charges_once(bus: Bus, server: EmbeddedStack) -> None:
    job = UUID(int=1)
    await reserve_all(bus, [job])
    requested = await publish(bus, asked(job))
    last = await publish(bus, fetched(job), ended(job))
    dying, texts = Dying(), Texts()
    async with folding(server.endpoints.nats_url, dying):
        await asyncio.wait_for(dying.reached.wait(), 60)
        assert [each.entry for each in await entries(bus)] == ["RESERVED", "SETTLED"]
    marks = await Bucket.open(bus, MARKS)
    assert int(await marks.get(AUDITS_CONCLUDE_MARK) or b"0") < requested

    async def passed() -> bool:
        return int(await marks.get(AUDITS_CONCLUDE_MARK) or b"0") >= last

    async with folding(server.endpoints.nats_url, texts):
        await until(passed, "the next one passes it")
    assert [each.entry for each in await entries(bus)] == ["RESERVED", "SETTLED"]
    assert texts.folders == [open_folder(job)]
