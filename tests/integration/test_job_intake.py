"""Intake over a real broker: whatever is at once, doubled or cut off, one job has one reservation, and both or none."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from decimal import Decimal
from uuid import UUID, uuid4

import pytest

from contracts.broker_rights import inbox
from contracts.jobs.answers import JobAccepted
from contracts.jobs.requests import AnalyzeRequest, ConfigureRequest
from contracts.topology import JOBS
from contracts.v1 import CreditPosted, JobEnded, JobFetched, JobRequested
from kit.bus import Bus, connect
from kit.cancelling import cancel_and_wait
from kit.clock import SystemClock
from kit.embedded import EmbeddedStack
from kit.model_settings import LlmSettings
from kit.publisher import Outgoing
from services.gateway.domain import Account, Principal
from services.gateway.jobs.adapters import BusJobLog, BusMemos
from services.gateway.jobs.credit import Ledger
from services.gateway.jobs.events import list_events
from services.gateway.jobs.intake import Intake, Order, Repeated
from services.gateway.jobs.memory import Memory
from services.gateway.jobs.problems import Problem
from services.gateway.jobs.reading import Jobs
from services.gateway.jobs.signals import Signals
from services.gateway.jobs.stages import StageSettings
from services.gateway.ports import Unavailable
from tests.support.job_api import fetched
from tests.support.job_log import MemoryWords
from tests.support.system import until

pytest_plugins = ["tests.support.delivering"]

REQUEST = AnalyzeRequest(input_text="The sky is blue.")
FREE = Account(UUID(int=7), "reader", "free", None, has_webhook_secret=False)
PRO = Account(UUID(int=8), "reader", "pro", None, has_webhook_secret=False)
CLOCK = SystemClock()


def gateway(bus: Bus, words: MemoryWords) -> Intake:
    """The intake of one process."""
    log, prices = BusJobLog(bus), dict[str, Decimal]()
    stages = StageSettings(log, LlmSettings(), "", prices)
    ledger, memory = Ledger(log, CLOCK, job_s=900), Memory(log, words, BusMemos(bus))
    return Intake(log, words, ledger, memory, stages, CLOCK, job_s=900)


@asynccontextmanager
async def gateways(server: EmbeddedStack, count: int) -> AsyncIterator[list[Intake]]:
    """Gateways with a connection each, over one blob store."""
    words = MemoryWords(CLOCK)
    async with AsyncExitStack() as stack:
        url = server.endpoints.nats_url
        yield [gateway(await stack.enter_async_context(connect(url, name="gateway")), words) for _ in range(count)]


def order(account: Account, key: str | None = None) -> Order:
    return Order(REQUEST, key, Principal(account, frozenset({"audit"})), uuid4())


async def attempt(intake: Intake, wanted: Order) -> str:
    """What became of a request."""
    try:
        found = await intake.accept(wanted)
    except Problem as problem:
        return problem.code
    return "new" if isinstance(found, JobAccepted) else "repeated"


async def count_stored(bus: Bus) -> Counter[str]:
    """How many facts of each subject's kind the stream holds."""
    info = await bus.jetstream.stream_info(JOBS.name, subjects_filter=">")
    kinds: Counter[str] = Counter()
    for subject, count in (info.state.subjects or {}).items():
        kinds[subject.rpartition(".")[0]] += count
    return kinds


@pytest.mark.requirement("FH-35")
async def test_50_requests_with_one_key_over_two_gateways_are_one_job(bus: Bus, server: EmbeddedStack) -> None:
    """FH-35: Concurrent posts with one key make one job and one charge."""
    async with gateways(server, 2) as (first, second):
        answers = await asyncio.gather(
            *(attempt((first, second)[number % 2], order(FREE, "key")) for number in range(50))
        )
    assert Counter(answers) == {"new": 1, "repeated": 49}
    assert await count_stored(bus) == {
        "errata.v1.job.idempotency_key_bound": 1,
        CreditPosted.SUBJECT: 1,
        JobRequested.SUBJECT: 1,
    }


@pytest.mark.requirement("FH-11")
async def test_a_job_was_accepted_when_its_answer_says(bus: Bus) -> None:
    """FH-11: The 202 body names job, status, time, cost, cache and links."""
    log, words = BusJobLog(bus), MemoryWords(CLOCK)
    accepted = await gateway(bus, words).accept(order(FREE, "key"))
    assert isinstance(accepted, JobAccepted)
    found = await Jobs(log, words, Signals(log), CLOCK).read(accepted.job_id)
    assert found is not None
    assert found.created_at == accepted.created_at
    assert found.request.deadline_at - found.created_at == timedelta(seconds=900)


@pytest.mark.requirement("FH-40", "FH-172")
@pytest.mark.parametrize(("account", "accepted"), [(FREE, 5), (PRO, 20)])
async def test_requests_at_once_reserve_exactly_what_they_may(
    bus: Bus, server: EmbeddedStack, account: Account, accepted: int
) -> None:
    """FH-40: Credit is reserved at intake and settled at the end.
    FH-172: The number of open jobs is limited.
    """
    async with gateways(server, 2) as both:
        answers = await asyncio.gather(*(attempt(both[number % 2], order(account)) for number in range(24)))
    assert Counter(answers) == {"new": accepted, "TOO_MANY_OPEN_JOBS": 24 - accepted}
    assert await count_stored(bus) == {CreditPosted.SUBJECT: accepted, JobRequested.SUBJECT: accepted}
    balance = await Ledger(BusJobLog(bus), CLOCK, job_s=900).read(account, CLOCK.now())
    assert (len(balance.period.open), balance.period.reserved) == (accepted, accepted * 438_000)


@pytest.mark.requirement("FH-35")
@pytest.mark.parametrize(("sent", "stored"), [(0, 0), (1, 0), (2, 0), (3, 3)])
async def test_a_gateway_that_dies_in_a_batch_stores_nothing_or_all(
    bus: Bus, server: EmbeddedStack, monkeypatch: pytest.MonkeyPatch, sent: int, stored: int
) -> None:
    """FH-35: Concurrent posts with one key make one job and one charge."""
    async with connect(server.endpoints.nats_url, name="mortal") as mortal:
        send, count = mortal.send_unconfirmed, 0

        async def dies_after(outgoing: Outgoing, *, reply_to: str = "") -> None:
            nonlocal count
            if count == sent:
                raise asyncio.CancelledError
            count += 1
            await send(outgoing, reply_to=reply_to)
            if count == sent == 3:
                await mortal.client.flush()
                raise asyncio.CancelledError

        monkeypatch.setattr(mortal, "send_unconfirmed", dies_after)
        with pytest.raises(asyncio.CancelledError):
            await gateway(mortal, MemoryWords(CLOCK)).accept(order(FREE, "key"))

    async def committed() -> bool:
        return (await count_stored(bus)).total() == stored

    await until(committed, "the broker has finished the batch, if it was sent whole")
    found = await gateway(bus, MemoryWords(CLOCK)).accept(order(FREE, "key"))
    assert isinstance(found, Repeated if stored else JobAccepted)
    assert (await count_stored(bus)).total() == 3


@pytest.mark.requirement("FH-19", "FH-20")
async def test_a_job_is_followed_from_its_request_to_its_cancellation(bus: Bus, server: EmbeddedStack) -> None:
    """FH-19: Events of a job are a stream that resumes and ends.
    FH-20: Deleting a job cancels it and removes its words.
    """
    log, words = BusJobLog(bus), MemoryWords(CLOCK)
    signals = Signals(log)
    jobs = Jobs(log, words, signals, CLOCK)
    running = asyncio.create_task(signals.run())
    accepted = await gateway(bus, words).accept(order(FREE))
    found = await jobs.read(accepted.job_id)
    assert found is not None

    async def follow() -> list[str]:
        assert found is not None
        names: list[str] = []
        async for each in jobs.follow(found, 30, look_s=30):
            names = [type(event).__name__ for _, events in list_events(each) for event in events]
            if names == ["Queued"]:
                await bus.publish(fetched(accepted.job_id), correlation=uuid4())
            elif names == ["Queued", "Fetched"]:
                await jobs.cancel(each, uuid4())
        return names

    try:
        assert await asyncio.wait_for(follow(), 60) == ["Queued", "Fetched", "Ended"]
        assert words.texts == {}
        again = await jobs.read(accepted.job_id)
        assert again is not None
        assert again.status == "CANCELED"
        await jobs.cancel(again, uuid4())
    finally:
        await cancel_and_wait([running])
    stored = await count_stored(bus)
    assert (stored[JobEnded.SUBJECT], stored[JobFetched.SUBJECT]) == (1, 1)


async def test_the_user_of_the_gateway_may_do_all_of_it(
    bus: Bus, server: EmbeddedStack, capsys: pytest.CaptureFixture[str]
) -> None:
    url, words = server.endpoints.nats_service_urls["gateway"], MemoryWords(CLOCK)
    async with connect(url, name="gateway", inbox=inbox("gateway")) as own:
        log = BusJobLog(own)
        signals = Signals(log)
        jobs = Jobs(log, words, signals, CLOCK)
        running = asyncio.create_task(signals.run())
        intake = gateway(own, words)
        accepted = await intake.accept(order(FREE, "key"))
        assert isinstance(accepted, JobAccepted)
        assert isinstance(await intake.accept(order(FREE, "key")), Repeated)
        assert (await intake.estimate(REQUEST, order(FREE).principal)).would_be_accepted
        found = await jobs.read(accepted.job_id)
        assert found is not None

        async def cancel() -> None:
            await asyncio.sleep(0)
            await jobs.cancel(found, uuid4())

        waited, _ = await asyncio.gather(jobs.wait(found, 20), cancel())
        assert waited.status == "CANCELED"
        wanted = ConfigureRequest(stage="stage1", provider="openai", model="m", max_tokens=1, temperature=0.0)
        await StageSettings(log, LlmSettings(), "", {}).configure(wanted, UUID(int=1), uuid4())
        ledger = Ledger(log, CLOCK, job_s=900)
        assert (await ledger.describe(FREE, 33_000)).open_jobs == 0, "its end is seen, though nothing here settles"
        await cancel_and_wait([running])
    assert "permissions violation" not in capsys.readouterr().out.lower()


async def test_a_broker_that_does_not_answer_is_an_outage(bus: Bus) -> None:
    await bus.jetstream.delete_stream(JOBS.name)
    with pytest.raises(Unavailable):
        await gateway(bus, MemoryWords(CLOCK)).accept(order(FREE))
