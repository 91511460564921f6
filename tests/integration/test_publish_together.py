"""Atomic batches against a real broker: key, credit and job are stored all or none, whatever is written meanwhile."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from uuid import UUID, uuid4

import pytest

from contracts.topology import JOBS
from contracts.v1 import CreditPosted, JobIdempotencyKeyBound, JobRequested, OnceEvent
from kit.bus import Bus, connect
from kit.embedded import EmbeddedStack
from kit.history import read_history, read_latest
from kit.publisher import BusError, PublishConflict, PublishRefused
from kit.topology import stream_config
from tests.support.audits import PERIOD, asked, bound, reserved

pytest_plugins = ["tests.support.delivering"]


async def messages(bus: Bus) -> int:
    return (await bus.jetstream.stream_info(JOBS.name)).state.messages


async def newest_credit(bus: Bus) -> tuple[CreditPosted | None, int]:
    found = await read_latest(bus, f"{CreditPosted.SUBJECT}.{PERIOD}", stream=JOBS)
    if not found:
        return None, 0
    assert isinstance(found[0].event, CreditPosted)
    return found[0].event, found[0].sequence


def intake(job: UUID, key: str | None = None, before: CreditPosted | None = None, follows: int = 0) -> list[OnceEvent]:
    return [bound(job, key or str(job)), reserved(job, before, follows), asked(job)]


async def test_a_batch_is_stored_in_its_order(bus: Bus) -> None:
    job, correlation = uuid4(), uuid4()
    receipts = await bus.publish_together(intake(job), correlation=correlation, cause=job)
    assert [each.sequence for each in receipts] == [1, 2, 3]
    stored = await read_history(bus, str(job), stream=JOBS) + await read_history(bus, str(PERIOD), stream=JOBS)
    assert [(each.sequence, type(each.event)) for each in stored] == [(3, JobRequested), (2, CreditPosted)]
    assert {(each.envelope.correlation, each.envelope.cause) for each in stored} == {(correlation, job)}


async def test_a_batch_of_one_is_a_fact_like_any_other(bus: Bus) -> None:
    assert [each.sequence for each in await bus.publish_together([asked(uuid4())], correlation=uuid4())] == [1]


@pytest.mark.parametrize("stale", [0, 1, 2], ids=["key", "credit", "job"])
async def test_a_stale_expectation_stores_nothing(bus: Bus, stale: int) -> None:
    job = uuid4()
    rival = (bound(uuid4(), str(job)), reserved(uuid4()), asked(job))[stale]
    await bus.publish(rival, correlation=uuid4())
    with pytest.raises(PublishConflict):
        await bus.publish_together(intake(job), correlation=uuid4())
    assert await messages(bus) == 1


async def test_what_was_refused_can_be_published_again_in_time(bus: Bus) -> None:
    """The ids of refused messages are not remembered as stored ones."""
    job = uuid4()
    first = await bus.publish(reserved(uuid4()), correlation=uuid4())
    with pytest.raises(PublishConflict):
        await bus.publish_together(intake(job), correlation=uuid4())
    before, follows = await newest_credit(bus)
    assert follows == first.sequence
    await bus.publish_together(intake(job, before=before, follows=follows), correlation=uuid4())
    assert await messages(bus) == 4


async def test_a_repeated_batch_stores_nothing(bus: Bus) -> None:
    facts = intake(uuid4())
    await bus.publish_together(facts, correlation=uuid4())
    with pytest.raises(PublishConflict):
        await bus.publish_together(facts, correlation=uuid4())
    assert await messages(bus) == 3


async def test_a_batch_that_was_cut_short_stores_nothing(bus: Bus, server: EmbeddedStack) -> None:
    """A gateway dies inside a batch: others go on at once."""
    job = uuid4()
    async with connect(server.endpoints.nats_url, name="dying") as dying:
        for number, fact in enumerate(intake(job)[:2], 1):
            outgoing = dying.stamp(fact, correlation=uuid4())
            outgoing.headers.update({"Nats-Batch-Id": "dying", "Nats-Batch-Sequence": str(number)})
            await (await dying.send(outgoing))
    assert await messages(bus) == 0
    await bus.publish_together(intake(job), correlation=uuid4())
    assert await messages(bus) == 3


async def test_a_stream_without_batches_refuses_for_good(bus: Bus) -> None:
    await bus.jetstream.delete_stream(JOBS.name)
    config = stream_config(JOBS, 1)
    config.allow_atomic = False
    await bus.jetstream.add_stream(config)
    with pytest.raises(PublishRefused):
        await bus.publish_together(intake(uuid4()), correlation=uuid4())
    assert await messages(bus) == 0


async def test_without_a_stream_there_is_no_confirmation(bus: Bus) -> None:
    await bus.jetstream.delete_stream(JOBS.name)
    with pytest.raises(BusError, match="topology apply"):
        await bus.publish_together(intake(uuid4()), correlation=uuid4())


async def test_an_empty_batch_is_a_mistake(bus: Bus) -> None:
    with pytest.raises(ValueError, match="at least one"):
        await bus.publish_together([], correlation=uuid4())


async def post(bus: Bus, job: UUID, key: str | None = None) -> bool:
    """Publish until the job's reservation stands; whether it was stored, False if its key names another job."""
    for _ in range(100):
        before, follows = await newest_credit(bus)
        facts = intake(job, key, before, follows)
        try:
            await bus.publish_together(facts, correlation=uuid4())
        except PublishConflict:
            found = await read_latest(bus, facts[0].subject(), stream=JOBS)
            if found and isinstance(found[0].event, JobIdempotencyKeyBound):
                return found[0].event.job_id == job
            continue
        except BusError:  # too many batches are in flight
            continue
        return True
    raise AssertionError("100 tries were not enough")


async def test_twenty_jobs_at_once_have_twenty_reservations(bus: Bus, server: EmbeddedStack) -> None:
    """All of one account, over two processes' connections."""
    async with AsyncExitStack() as stack:
        buses = [
            await stack.enter_async_context(connect(server.endpoints.nats_url, name=f"gateway {n}")) for n in (1, 2)
        ]
        jobs = [uuid4() for _ in range(20)]
        assert all(await asyncio.gather(*(post(buses[n % 2], job) for n, job in enumerate(jobs))))
    last, _ = await newest_credit(bus)
    assert last is not None
    assert sorted(each.job_id for each in last.open) == sorted(jobs)
    assert await messages(bus) == 60


@pytest.mark.requirement("FH-35")
async def test_of_posts_with_one_key_one_makes_a_job(bus: Bus, server: EmbeddedStack) -> None:
    """FH-35: N concurrent posts with one key make one job and one charge (one 202, N−1 200), across gateways and
    redeliveries. The stream decides: one atomic batch of key, credit and job, each with an expected last sequence

    FH-35: Concurrent posts with one key make one job and one charge.
    """
    async with AsyncExitStack() as stack:
        buses = [
            await stack.enter_async_context(connect(server.endpoints.nats_url, name=f"gateway {n}")) for n in (1, 2)
        ]
        outcomes = await asyncio.gather(*(post(buses[n % 2], uuid4(), "one key") for n in range(50)))
    assert outcomes.count(True) == 1
    last, _ = await newest_credit(bus)
    assert last is not None
    assert len(last.open) == 1
    assert await messages(bus) == 3


def key_and_job() -> list[OnceEvent]:
    job = uuid4()
    return [bound(job, str(job)), asked(job)]


async def batches_of(bus: Bus) -> list[str]:
    """The batch that each stored message came in."""
    stored = [await bus.jetstream.get_msg(JOBS.name, number + 1) for number in range(await messages(bus))]
    return [(each.headers or {})["Nats-Batch-Id"] for each in stored]


async def begin(bus: Bus) -> asyncio.Task[object]:
    """A batch that is under way."""
    sent = asyncio.create_task(bus.publish_together(key_and_job(), correlation=uuid4()))
    await asyncio.sleep(0)  # it waits for others that arrive at once
    await asyncio.sleep(0)
    return sent


async def test_what_comes_while_a_batch_is_under_way_shares_the_next(bus: Bus) -> None:
    first = await begin(bus)
    receipts = await asyncio.gather(*(bus.publish_together(key_and_job(), correlation=uuid4()) for _ in range(4)))
    assert [each.sequence for part in receipts for each in part] == list(range(3, 11))
    assert first.done()
    found = await batches_of(bus)
    assert (len(set(found)), len(set(found[:2])), len(set(found[2:]))) == (2, 1, 1)


async def test_a_stale_expectation_refuses_only_its_own_caller(bus: Bus) -> None:
    stale = key_and_job()
    await bus.publish(stale[1], correlation=uuid4())
    wanted = [key_and_job(), key_and_job(), stale, key_and_job()]
    outcomes = await asyncio.gather(
        *(bus.publish_together(each, correlation=uuid4()) for each in wanted), return_exceptions=True
    )
    assert [type(each) for each in outcomes] == [tuple, tuple, PublishConflict, tuple]
    assert await messages(bus) == 7


async def test_two_that_expect_something_of_one_subject_do_not_share(bus: Bus) -> None:
    jobs = [uuid4() for _ in range(3)]
    wanted = [key_and_job(), *([reserved(job), asked(job)] for job in jobs)]
    outcomes = await asyncio.gather(
        *(bus.publish_together(each, correlation=uuid4()) for each in wanted), return_exceptions=True
    )
    assert [type(each) for each in outcomes] == [tuple, tuple, PublishConflict, PublishConflict]
    assert len(set(await batches_of(bus))) == 1, "the first two were not refused together with the others"


async def test_a_caller_that_was_cancelled_while_it_waited_stores_nothing(bus: Bus) -> None:
    first = await begin(bus)
    second = asyncio.create_task(bus.publish_together(key_and_job(), correlation=uuid4()))
    await asyncio.sleep(0)
    second.cancel()
    await first
    await bus.publish_together(key_and_job(), correlation=uuid4())
    assert await messages(bus) == 4
