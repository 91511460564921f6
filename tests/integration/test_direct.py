"""The short way past the log, against a real broker: an answer at once, or nothing that anybody would have to mend."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import pytest
from nats.aio.msg import Msg

from contracts.topology import DEAD, ERRATA, INGEST_OBSERVATION_UNVERIFIABLE
from contracts.v1 import CanonicalUnavailable, ErasureOrdered, Event, IntegrityAnomalyDetected, ObservationUnverifiable
from contracts.v1.ids import post_id
from contracts.v1.parts import PostRef
from kit import topology
from kit.bus import Bus, RequestRejected, connect
from kit.direct import DirectResponder, request_directly
from kit.errors import Reject, Retry
from kit.history import read_latest
from kit.telemetry import Telemetry
from tests.support.factories import observation
from tests.support.servers import nats_server
from tests.support.system import until

CONSUMER = INGEST_OBSERVATION_UNVERIFIABLE


@pytest.fixture
async def bus(tmp_path: Path) -> AsyncIterator[Bus]:
    """A connection to a broker that is as declared."""
    with nats_server(tmp_path) as server:
        async with connect(server.endpoints.nats_url, name="test") as connected:
            await topology.apply(connected)
            yield connected


def observed() -> ObservationUnverifiable:
    post = PostRef(platform="X", external_id=str(uuid4().int))
    return ObservationUnverifiable(observation=observation(observation_id=uuid4(), post=post))


def told_of(event: ObservationUnverifiable) -> tuple[IntegrityAnomalyDetected, CanonicalUnavailable]:
    seen = event.observation
    anomaly = IntegrityAnomalyDetected(
        post_id=post_id(seen.post),
        post=seen.post,
        observation_id=seen.observation_id,
        kind="test",
        observed="a",
        canonical="b",
    )
    return anomaly, CanonicalUnavailable(observation=seen, reason="test")


@dataclass
class Worker:
    """Tells two facts of each, and then gives up if it is to; waits for `go_on` before."""

    error: Exception | None = None
    handled: list[ObservationUnverifiable] = field(default_factory=list)
    go_on: asyncio.Event | None = None
    begun: asyncio.Event = field(default_factory=asyncio.Event)

    async def handle(self, event: ObservationUnverifiable, delivery_count: int) -> AsyncIterator[Event]:
        self.handled.append(event)
        self.begun.set()
        if self.go_on is not None:
            await self.go_on.wait()
        for fact in told_of(event):
            yield fact
        if self.error is not None:
            raise self.error


@asynccontextmanager
async def taking(
    bus: Bus, worker: Worker, *, max_concurrency: int = 8, timeout_s: float = 60
) -> AsyncIterator[DirectResponder]:
    direct = DirectResponder(
        bus, Telemetry(), CONSUMER, worker.handle, max_concurrency=max_concurrency, timeout_s=timeout_s
    )
    await direct.open()
    await bus.client.flush()
    yield direct
    await direct.stop()


async def length(bus: Bus, stream: str = ERRATA.name) -> int:
    return (await bus.jetstream.stream_info(stream)).state.messages


@pytest.mark.requirement("3.5-03")
async def test_what_follows_is_stored_and_answered_and_the_fact_itself_is_not(bus: Bus) -> None:
    """3.5-03: Registrations at once make one version."""
    event, correlation = observed(), uuid4()
    worker = Worker()
    async with taking(bus, worker):
        answer = await request_directly(bus, CONSUMER, event, correlation=correlation)
    anomaly, last = told_of(event)
    assert answer is not None
    assert (answer.envelope.event, answer.sequence) == (last, 2)
    stored = await read_latest(bus, anomaly.subject(), last.subject(), event.subject())
    assert [(past.sequence, past.envelope.event) for past in stored] == [(1, anomaly), (2, last)]
    assert {(past.envelope.correlation, past.envelope.cause) for past in stored} == {(correlation, None)}
    assert worker.handled == [event]


async def test_where_nobody_is_the_answer_is_none_at_once(bus: Bus) -> None:
    async with asyncio.timeout(30):
        assert await request_directly(bus, CONSUMER, observed(), correlation=uuid4(), timeout_s=60) is None


@pytest.mark.parametrize("error", [Retry(1.0, "later"), Reject("never"), RuntimeError("a bug")], ids=repr)
async def test_what_goes_wrong_is_left_to_the_log(bus: Bus, error: Exception) -> None:
    async with taking(bus, Worker(error)), asyncio.timeout(30):
        assert await request_directly(bus, CONSUMER, observed(), correlation=uuid4(), timeout_s=60) is None
    assert await length(bus, DEAD.name) == 0


async def test_what_nobody_has_to_decide_about_is_refused_at_once(bus: Bus) -> None:
    async with taking(bus, Worker(Reject("it was erased", dead_letter=False))):
        with pytest.raises(RequestRejected, match="it was erased"):
            await request_directly(bus, CONSUMER, observed(), correlation=uuid4())


async def test_the_stream_bars_a_fact_by_what_stands_on_another_subject(bus: Bus) -> None:
    event, erased = observed(), observed()
    order = ErasureOrdered(erasure_id=uuid4(), post_id=post_id(erased.observation.post), reason="asked for")
    await bus.publish(order, correlation=uuid4())

    def bar(fact: Event) -> str | None:
        return f"{ErasureOrdered.SUBJECT}.{fact.post_id}" if isinstance(fact, IntegrityAnomalyDetected) else None

    direct = DirectResponder(bus, Telemetry(), CONSUMER, Worker().handle, conflict_subject=bar)
    await direct.open()
    async with asyncio.timeout(30):
        assert await request_directly(bus, CONSUMER, erased, correlation=uuid4(), timeout_s=60) is None
    assert await read_latest(bus, told_of(erased)[0].subject()) == []
    for _ in range(2):
        assert await request_directly(bus, CONSUMER, event, correlation=uuid4()) is not None
    assert await read_latest(bus, told_of(event)[0].subject()) != []


@pytest.mark.parametrize(
    ("token", "body"), [(str(uuid4()), "{}"), ("nobody", observed().model_dump_json())], ids=["no fact", "no id"]
)
async def test_what_is_no_such_fact_is_left_to_the_log(bus: Bus, token: str, body: str) -> None:
    async with taking(bus, Worker()), asyncio.timeout(30):
        address, answer = bus.inbox.expect(60)
        await bus.client.publish(f"{CONSUMER.direct_subject}.{token}", body.encode(), reply=address)
        assert (await answer).data == b""


async def test_silence_is_left_to_the_log(bus: Bus) -> None:
    heard = asyncio.Event()

    async def take(message: Msg) -> None:
        heard.set()

    await bus.client.subscribe(f"{CONSUMER.direct_subject}.*", cb=take)
    async with asyncio.timeout(30):
        assert await request_directly(bus, CONSUMER, observed(), correlation=uuid4(), timeout_s=0.3) is None
        await heard.wait()


@pytest.mark.parametrize(
    "answer",
    [
        b"errata.v9.observation.unverifiable.x 7\n{}",
        b"errata.v1.canonical.unavailable.x 7\n{}",
        b"?",
        b"\xff",
    ],
)
async def test_an_answer_of_another_release_is_left_to_the_log(bus: Bus, answer: bytes) -> None:
    async def take(message: Msg) -> None:
        await bus.client.publish(message.reply, answer)

    await bus.client.subscribe(f"{CONSUMER.direct_subject}.*", cb=take)
    async with asyncio.timeout(30):
        assert await request_directly(bus, CONSUMER, observed(), correlation=uuid4(), timeout_s=60) is None


async def test_a_handler_that_leaves_it_to_another_declines(bus: Bus) -> None:
    async def leave(event: ObservationUnverifiable, delivery_count: int) -> AsyncIterator[Event]:
        facts: tuple[Event, ...] = ()
        for fact in facts:
            yield fact

    direct = DirectResponder(bus, Telemetry(), CONSUMER, leave)
    await direct.open()
    async with asyncio.timeout(30):
        assert await request_directly(bus, CONSUMER, observed(), correlation=uuid4(), timeout_s=60) is None


async def test_who_finds_no_place_goes_by_the_log(bus: Bus) -> None:
    worker = Worker(go_on=asyncio.Event())
    assert worker.go_on is not None
    async with taking(bus, worker, max_concurrency=2), asyncio.timeout(60):
        asked = [
            asyncio.create_task(request_directly(bus, CONSUMER, observed(), correlation=uuid4(), timeout_s=60))
            for _ in "abc"
        ]
        done, waiting = await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
        assert [each.result() for each in done] == [None]
        worker.go_on.set()
        assert all([await each is not None for each in waiting])


async def test_what_takes_longer_than_whoever_asked_waits_is_given_up(bus: Bus) -> None:
    """They are gone by then, and the log brings it again: an overloaded worker need not do it twice at once."""
    worker, event = Worker(go_on=asyncio.Event()), observed()

    async def answered() -> bool:  # a stalled machine takes longer too
        return await request_directly(bus, CONSUMER, event, correlation=uuid4()) is not None

    async with taking(bus, worker, timeout_s=0.2, max_concurrency=1), asyncio.timeout(60):
        assert await request_directly(bus, CONSUMER, observed(), correlation=uuid4(), timeout_s=60) is None
        assert worker.go_on is not None
        worker.go_on.set()
        await until(answered, "its place is free again")
    assert await length(bus) == 2


async def test_a_worker_that_stops_takes_no_more_and_finishes_what_it_has(bus: Bus) -> None:
    worker = Worker(go_on=asyncio.Event())
    assert worker.go_on is not None
    async with taking(bus, worker) as direct, asyncio.timeout(60):
        begun = asyncio.create_task(request_directly(bus, CONSUMER, observed(), correlation=uuid4(), timeout_s=60))
        await worker.begun.wait()
        stopping = asyncio.create_task(direct.stop())
        await bus.client.flush()
        assert await request_directly(bus, CONSUMER, observed(), correlation=uuid4(), timeout_s=60) is None
        assert not stopping.done()
        worker.go_on.set()
        await stopping
        assert await begun is not None


@pytest.mark.parametrize("deaf", [False, True], ids=["heard", "heard the second time"])
async def test_a_worker_that_stops_does_not_wait_for_ever(bus: Bus, deaf: bool) -> None:
    bus.drain_s = 0.2
    begun = asyncio.Event()

    async def wait(event: ObservationUnverifiable, delivery_count: int) -> AsyncIterator[Event]:
        begun.set()
        if deaf:
            with suppress(asyncio.CancelledError):
                await asyncio.Event().wait()
        await asyncio.Event().wait()
        for fact in told_of(event):
            yield fact

    direct = DirectResponder(bus, Telemetry(), CONSUMER, wait, timeout_s=60)
    await direct.open()
    async with asyncio.timeout(60):
        asked = asyncio.create_task(request_directly(bus, CONSUMER, observed(), correlation=uuid4(), timeout_s=60))
        await begun.wait()
        await direct.stop()
        assert await asked is None
    assert await length(bus) == 0


async def test_each_is_handled_by_one_of_several_workers(bus: Bus) -> None:
    workers = [Worker(), Worker()]
    async with taking(bus, workers[0]), taking(bus, workers[1]):
        events = [observed() for _ in range(8)]
        await asyncio.gather(*(request_directly(bus, CONSUMER, event, correlation=uuid4()) for event in events))
    handled = [event.key() for worker in workers for event in worker.handled]
    assert sorted(handled) == sorted(event.key() for event in events)


async def test_both_ways_tell_it_once(bus: Bus) -> None:
    """Whoever got no answer stores the fact, though it may have been handled."""
    event = observed()
    async with taking(bus, Worker()):
        first = await request_directly(bus, CONSUMER, event, correlation=uuid4())
        again = await request_directly(bus, CONSUMER, event, correlation=uuid4())
    assert first is not None
    assert again is not None
    assert (again.sequence, await length(bus)) == (first.sequence, 2)
