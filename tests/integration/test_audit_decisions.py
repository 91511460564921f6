"""The decisions about credit and the claim cache against a real broker, with rivals on other connections."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from uuid import UUID, uuid4

import pytest

from contracts.topology import JOBS
from contracts.v1 import AssertionAnalysed, AssertionAnalysisRequested, AssertionInvalidated, CreditPosted, RunFailed
from contracts.v1.assertion import Shape
from contracts.v1.ids import assertion_id
from contracts.v1.run import StageModel
from kit.bus import Bus, connect
from kit.embedded import EmbeddedStack
from kit.history import StoredFact, read_history, read_latest
from kit.publisher import BusError, PublishConflict
from lifecycle.audits.cache import Analysed, Asked, Cached, Invalidated, Join, Outcome, Request, Requested, look
from lifecycle.audits.credits import AlreadyOpen, Period, Refused, Terms, release, reserve, settle
from lifecycle.audits.runs import ANALYSE
from tests.support.audits import ACCOUNT, MONTH, PERIOD, asked, bound, hash_of, words

pytest_plugins = ["tests.support.delivering"]

CLAIM = assertion_id("v1norm1", "en", hash_of("canonical"), hash_of("guard"))
SHAPE = Shape(scenarios=2, evidence=6)


@pytest.fixture
async def rivals(bus: Bus, server: EmbeddedStack) -> AsyncIterator[list[Bus]]:
    """Two processes' connections."""
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(connect(server.endpoints.nats_url, name=f"rival {n}")) for n in (1, 2)]


async def read_period(bus: Bus) -> Period:
    found = await read_latest(bus, f"{CreditPosted.SUBJECT}.{PERIOD}", stream=JOBS)
    if not found:
        return Period(ACCOUNT, MONTH)
    assert isinstance(found[0].event, CreditPosted)
    return Period(ACCOUNT, MONTH, found[0].event, found[0].sequence)


async def take_in(bus: Bus, terms: Terms, job: UUID, most: int) -> int | str:
    """Intake as the gateway does it: the amount that was reserved, or why none was."""
    for _ in range(100):
        entry = reserve(await read_period(bus), terms, job, most=most, least=33_000)
        match entry:
            case Refused():
                return entry.why
            case AlreadyOpen():
                return "OPEN"
            case CreditPosted():
                try:
                    await bus.publish_together([bound(job, str(job)), entry, asked(job)], correlation=uuid4())
                except BusError:
                    continue
                return entry.micro_usd
    raise AssertionError("100 tries were not enough")


async def end(bus: Bus, job: UUID, charged: int | None) -> None:
    """Settle or release as the fold does it."""
    for _ in range(100):
        period = await read_period(bus)
        entry = release(period, job) if charged is None else settle(period, job, charged)
        if entry is None:
            return
        try:
            await bus.publish(entry, correlation=uuid4())
        except PublishConflict:
            continue
        return
    raise AssertionError("100 tries were not enough")


async def test_jobs_at_once_share_what_is_left_and_no_more(rivals: list[Bus]) -> None:
    terms = Terms(1_000_000, hard=True, max_open_jobs=20)
    jobs = [uuid4() for _ in range(12)]
    found = await asyncio.gather(*(take_in(rivals[n % 2], terms, job, 438_000) for n, job in enumerate(jobs)))
    assert Counter(found) == {438_000: 2, 124_000: 1, "CREDIT": 9}
    assert (await read_period(rivals[0])).reserved == 1_000_000


async def test_jobs_at_once_are_no_more_than_may_be_open(rivals: list[Bus]) -> None:
    terms = Terms(10_000_000, hard=True, max_open_jobs=5)
    found = await asyncio.gather(*(take_in(rivals[n % 2], terms, uuid4(), 114_000) for n in range(12)))
    assert Counter(found) == {114_000: 5, "OPEN_JOBS": 7}


async def test_a_job_is_settled_once(rivals: list[Bus]) -> None:
    """The auditor's two folds and the curator's release at the same time, while other jobs come in."""
    terms = Terms(10_000_000, hard=True, max_open_jobs=20)
    jobs = [uuid4() for _ in range(6)]
    for job in jobs:
        await take_in(rivals[0], terms, job, 114_000)
    ends = [end(bus, job, charged) for job in jobs for bus in rivals for charged in (84_000, None)]
    await asyncio.gather(*ends, *(take_in(rivals[n % 2], terms, uuid4(), 114_000) for n in range(4)))
    history = [each.event for each in await read_history(rivals[0], str(PERIOD), stream=JOBS)]
    entries = [each for each in history if isinstance(each, CreditPosted)]
    ended = [each.job_id for each in entries if each.entry in ("SETTLED", "RELEASED")]
    assert sorted(map(str, ended)) == sorted(map(str, jobs))
    period = await read_period(rivals[0])
    assert period.used == sum(each.micro_usd for each in entries if each.entry == "SETTLED")
    assert len(period.open) == 4


async def read_cached(bus: Bus) -> Cached:
    """The state of the assertion: three reads, and one whether a request's run failed."""
    subjects = (AssertionAnalysisRequested, AssertionAnalysed, AssertionInvalidated)
    found = await read_latest(bus, *(f"{each.SUBJECT}.{CLAIM}" for each in subjects), stream=JOBS)
    requested: Requested | None = None
    analysed: Analysed | None = None
    invalidated: Invalidated | None = None
    for fact in found:
        match fact:
            case StoredFact(sequence, envelope) if isinstance(event := envelope.event, AssertionAnalysisRequested):
                failed = await read_latest(bus, f"{RunFailed.SUBJECT}.{event.run_id}", stream=JOBS)
                requested = Requested(sequence, envelope.occurred_at, event, failed=bool(failed))
            case StoredFact(sequence, envelope) if isinstance(event := envelope.event, AssertionAnalysed):
                analysed = Analysed(sequence, envelope.occurred_at, event)
            case StoredFact(sequence, envelope) if isinstance(event := envelope.event, AssertionInvalidated):
                invalidated = Invalidated(sequence, event)
            case _:
                raise AssertionError(fact)
    return Cached(requested, analysed, invalidated)


async def look_up(bus: Bus, job: UUID, shape: Shape = SHAPE) -> Outcome:
    """Look until the claim is served or its request is stored."""
    asks = Asked(CLAIM, job, 1, shape, "SLOW", "PREFER_CACHE", may_buy=True)
    for _ in range(100):
        outcome = look(bus.clock.now(), asks, await read_cached(bus))
        if not isinstance(outcome, Request):
            return outcome
        event = AssertionAnalysisRequested(
            follows=outcome.follows,
            assertion_id=CLAIM,
            run_id=outcome.run_id,
            published_key=f"claim:v1norm1:en:{hash_of('canonical')}",
            norm_version="v1norm1",
            language="en",
            canonical_sha256=hash_of("canonical"),
            guard_sha256=hash_of("guard"),
            volatility="SLOW",
            words=words("words"),
            shape=outcome.shape,
            model=StageModel(step=ANALYSE, provider="demo", model="demo", max_tokens=1),
            requested_by=job,
        )
        try:
            await bus.publish(event, correlation=uuid4())
        except PublishConflict:
            continue
        return outcome
    raise AssertionError("100 tries were not enough")


async def test_of_many_jobs_one_requests_a_claim_and_all_others_join(rivals: list[Bus]) -> None:
    jobs = [uuid4() for _ in range(20)]
    found = await asyncio.gather(*(look_up(rivals[n % 2], job) for n, job in enumerate(jobs)))
    requests = [each for each in found if isinstance(each, Request)]
    assert len(requests) == 1
    assert [each for each in found if not isinstance(each, Request)] == [Join(requests[0].run_id)] * 19
    owner = jobs[found.index(requests[0])]
    assert await look_up(rivals[1], owner) == Join(requests[0].run_id, own=True), "a repeated delivery"
    assert (await rivals[0].jetstream.stream_info(JOBS.name)).state.messages == 1


async def test_jobs_that_need_more_request_once_more_behind_it(rivals: list[Bus]) -> None:
    first = await look_up(rivals[0], uuid4())
    assert isinstance(first, Request)
    larger = Shape(scenarios=5, evidence=3, depth="DEEP")
    found = await asyncio.gather(*(look_up(rivals[n % 2], uuid4(), larger) for n in range(6)))
    second = next(each for each in found if isinstance(each, Request))
    assert second.shape == Shape(scenarios=5, evidence=6, depth="DEEP")
    assert second.run_id != first.run_id
    assert found.count(Join(second.run_id)) == 5
