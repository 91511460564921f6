"""What delivery promises, against a real broker: nothing lost, nothing twice, every failure ends somewhere visible."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import nats.errors
import nats.js.errors
import pytest
from nats.aio.msg import Msg
from nats.js.api import RawStreamMsg

from contracts.topology import DEAD, ERRATA, VERIFIER_OBSERVATION_RECEIVED, Consumer
from contracts.v1 import (
    CanonicalFetched,
    CanonicalUnavailable,
    ClaimRejected,
    Event,
    InvestigationFailed,
    ObservationReceived,
    decode,
)
from contracts.v1.parts import Observation, PostRef
from kit import topology
from kit.bus import AlreadyThere, Bus, BusError, NoAnswer, Rejected, connect
from kit.delivery import Delivery, GivenUp, Handler
from kit.embedded import EmbeddedStack
from kit.errors import Reject, Retry
from kit.history import history, latest
from kit.ordered import OrderedLog, Recorded
from kit.telemetry import Telemetry
from tests.support.servers import nats_server

WITHIN_S = 15.0
WORK = replace(VERIFIER_OBSERVATION_RECEIVED, slots=1, ack_wait_s=2.0, attempts=3)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedStack]:
    with nats_server(tmp_path_factory.mktemp("nats")) as running:
        yield running


@pytest.fixture
async def bus(server: EmbeddedStack) -> AsyncIterator[Bus]:
    """A connection to the broker, which is empty and as declared."""
    async with connect(server.endpoints.nats_url, name="test") as connected:
        for stream in await connected.jetstream.streams_info():
            await connected.jetstream.delete_stream(stream.config.name or "")
        await topology.apply(connected)
        yield connected


@asynccontextmanager
async def worker(
    url: str, handler: Handler, consumer: Consumer = WORK, given_up: GivenUp | None = None
) -> AsyncIterator[Delivery]:
    """One process' worth of delivery, on a connection of its own."""
    async with connect(url, name="worker") as bus:
        await bus.jetstream.add_consumer(ERRATA.name, topology.consumer_config(consumer))
        delivery = Delivery(bus, Telemetry())
        delivery.subscribe(consumer, handler, given_up=given_up)
        await delivery.start()
        yield delivery


class Calls:
    """A handler's deliveries: who asked, which attempt, when."""

    def __init__(self, behave: Callable[[Any, int], list[Event]] = lambda event, attempt: [seen(event)]) -> None:
        self.made: list[tuple[UUID, int, float]] = []
        self._behave = behave

    async def handle(self, event: ObservationReceived, attempt: int) -> AsyncIterator[Event]:
        self.made.append((event.observation.observation_id, attempt, asyncio.get_running_loop().time()))
        for fact in self._behave(event, attempt):
            yield fact

    @property
    def attempts(self) -> list[int]:
        return [attempt for _, attempt, _ in self.made]

    def gap_s(self, first: int, second: int) -> float:
        return self.made[second][2] - self.made[first][2]


def observed() -> ObservationReceived:
    post = PostRef(platform="X", external_id="1")
    return ObservationReceived(
        observation=Observation(observation_id=uuid4(), post=post, url="https://x.com/a/status/1")
    )


def seen(event: ObservationReceived, reason: str = "test") -> CanonicalUnavailable:
    return CanonicalUnavailable(observation=event.observation, reason=reason)


def failed(investigation: UUID, round_: int = 1, follows: int = 0) -> InvestigationFailed:
    return InvestigationFailed(
        investigation_id=investigation,
        version_id=investigation,
        attempt=1,
        round=round_,
        failure="TRANSIENT",
        reason="test",
        follows=follows,
    )


async def until(true: Callable[[], Any], within_s: float = WITHIN_S) -> Any:
    """Wait until a condition, plain or asynchronous, holds; its value."""
    async with asyncio.timeout(within_s):
        while True:
            value = true()
            if asyncio.iscoroutine(value):
                value = await value
            if value:
                return value
            await asyncio.sleep(0.01)


async def settled(bus: Bus, consumer: Consumer = WORK) -> bool:
    """Whether the consumer has nothing waiting and nothing unacknowledged."""
    info = await bus.jetstream.consumer_info(ERRATA.name, consumer.name)
    return (info.num_pending, info.num_ack_pending) == (0, 0)


async def letter(bus: Bus, consumer: Consumer = WORK) -> RawStreamMsg | None:
    """The newest dead letter of a consumer."""
    try:
        return await bus.jetstream.get_last_msg(DEAD.name, f"errata.dead.{consumer.name}")
    except nats.js.errors.NotFoundError:
        return None


async def stored(bus: Bus, event: type[Event]) -> int:
    """How many facts of a kind the log holds."""
    info = await bus.jetstream.stream_info(ERRATA.name, subjects_filter=f"{event.SUBJECT}.*")
    return sum((info.state.subjects or {}).values())


async def last_sequence(bus: Bus) -> int:
    return (await bus.jetstream.stream_info(ERRATA.name)).state.last_seq


async def test_what_a_handler_yields_is_stored_and_its_message_acknowledged(bus: Bus, server: EmbeddedStack) -> None:
    event, correlation = observed(), uuid4()
    calls = Calls()
    async with worker(server.endpoints.nats_url, calls.handle):
        await bus.publish(event, correlation=correlation)
        await until(lambda: settled(bus))
    cause, effect = (past.envelope for past in await history(bus, event.key()))
    assert effect.event == seen(event)
    assert (effect.correlation, effect.cause) == (correlation, cause.id)
    assert calls.attempts == [1]
    assert await letter(bus) is None


async def test_a_message_is_acknowledged_only_after_its_facts_are_stored(bus: Bus, server: EmbeddedStack) -> None:
    """A full stream refuses the fact; when there is room again the message comes back and is done."""
    js = bus.jetstream
    event, calls = observed(), Calls()
    await bus.publish(event, correlation=uuid4())
    full = topology.stream_config(ERRATA, 1)
    await js.update_stream(replace(full, max_msgs=await last_sequence(bus)))
    async with worker(server.endpoints.nats_url, calls.handle):
        await until(lambda: calls.made)
        info = await js.consumer_info(ERRATA.name, WORK.name)
        assert info.ack_floor is not None
        assert (info.num_ack_pending, info.ack_floor.stream_seq) == (1, 0)
        assert await stored(bus, CanonicalUnavailable) == 0
        await js.update_stream(replace(full, max_msgs=-1))
        await until(lambda: settled(bus))
    assert calls.attempts == [1, 2]
    assert await stored(bus, CanonicalUnavailable) == 1


async def test_retry_comes_back_after_the_asked_time(bus: Bus, server: EmbeddedStack) -> None:
    def behave(event: ObservationReceived, attempt: int) -> list[Event]:
        if attempt == 1:
            raise Retry(0.4, "the site is slow")
        return [seen(event)]

    calls = Calls(behave)
    async with worker(server.endpoints.nats_url, calls.handle):
        await bus.publish(observed(), correlation=uuid4())
        await until(lambda: settled(bus))
    assert calls.attempts == [1, 2]
    assert 0.4 <= calls.gap_s(0, 1) < WORK.ack_wait_s
    assert await letter(bus) is None


async def test_retry_for_ever_ends_as_a_dead_letter(bus: Bus, server: EmbeddedStack) -> None:
    def behave(event: ObservationReceived, attempt: int) -> list[Event]:
        raise Retry(0.0, "never ready")

    calls = Calls(behave)
    async with worker(server.endpoints.nats_url, calls.handle):
        await bus.publish(observed(), correlation=uuid4())
        await until(lambda: letter(bus))
        await until(lambda: settled(bus))
    assert calls.attempts == [1, 2, 3]


async def test_what_was_yielded_before_giving_up_is_stored(bus: Bus, server: EmbeddedStack) -> None:
    event = observed()

    async def handle(event: ObservationReceived, attempt: int) -> AsyncIterator[Event]:
        yield seen(event)
        raise Reject("enough")

    async with worker(server.endpoints.nats_url, handle):
        await bus.publish(event, correlation=uuid4())
        await until(lambda: letter(bus))
    assert await stored(bus, CanonicalUnavailable) == 1


async def test_reject_is_buried_at_once_with_its_origin(bus: Bus, server: EmbeddedStack) -> None:
    def behave(event: ObservationReceived, attempt: int) -> list[Event]:
        raise Reject("no such\nplace")

    event, calls = observed(), Calls(behave)
    async with worker(server.endpoints.nats_url, calls.handle):
        receipt = await bus.publish(event, correlation=uuid4())
        buried = await until(lambda: letter(bus))
        await until(lambda: settled(bus))
    assert calls.attempts == [1]
    assert buried.headers is not None
    assert {name: value for name, value in buried.headers.items() if name.startswith("Errata-")} == {
        "Errata-Consumer": WORK.name,
        "Errata-Reason": "no such place",
        "Errata-Stream": ERRATA.name,
        "Errata-Sequence": str(receipt.sequence),
        "Errata-Subject": event.subject(),
        "Errata-Attempt": "1",
    }
    assert decode(event.subject(), buried.data or b"").event == event


async def test_a_refusal_that_nobody_has_to_look_at_leaves_no_copy(bus: Bus, server: EmbeddedStack) -> None:
    def behave(event: ObservationReceived, attempt: int) -> list[Event]:
        raise Reject("erased on request", letter=False)

    calls = Calls(behave)
    async with worker(server.endpoints.nats_url, calls.handle):
        with pytest.raises(Rejected, match="erased on request"):
            await bus.request(observed(), correlation=uuid4(), timeout_s=WITHIN_S)
        await until(lambda: settled(bus))
        await bus.publish(observed(), correlation=uuid4())
        await until(lambda: settled(bus))
    assert set(calls.attempts) == {1}
    assert await letter(bus) is None


async def test_what_is_given_up_is_told_to_whoever_waits_for_it(bus: Bus, server: EmbeddedStack) -> None:
    def behave(event: ObservationReceived, attempt: int) -> list[Event]:
        raise Reject("no such place")

    async def given_up(event: ObservationReceived, reason: str) -> AsyncIterator[Event]:
        yield CanonicalUnavailable(observation=event.observation, reason="given_up", detail=reason)

    event = observed()
    async with worker(server.endpoints.nats_url, Calls(behave).handle, given_up=given_up):
        await bus.publish(event, correlation=uuid4())
        await until(lambda: letter(bus))
    (told,) = await latest(bus, f"{CanonicalUnavailable.SUBJECT}.{event.key()}")
    assert isinstance(told.envelope.event, CanonicalUnavailable)
    assert told.envelope.event.detail == "no such place"


@pytest.mark.parametrize("body", [b"", b"not json", b"{}", b'{"id": 1}'])
async def test_the_undecodable_is_buried_and_the_next_one_handled(bus: Bus, server: EmbeddedStack, body: bytes) -> None:
    calls = Calls()
    async with worker(server.endpoints.nats_url, calls.handle):
        subject = f"{ObservationReceived.SUBJECT}.x"
        await bus.jetstream.publish(subject, body)
        await bus.publish(observed(), correlation=uuid4())
        buried = await until(lambda: letter(bus))
        await until(lambda: settled(bus))
    assert buried.headers is not None
    assert subject in buried.headers["Errata-Reason"]
    assert len(calls.made) == 1


async def test_a_bug_is_tried_again_ever_later_and_then_buried(bus: Bus, server: EmbeddedStack) -> None:
    def behave(event: ObservationReceived, attempt: int) -> list[Event]:
        raise ZeroDivisionError("oops")

    calls = Calls(behave)
    async with worker(server.endpoints.nats_url, calls.handle):
        await bus.publish(observed(), correlation=uuid4())
        buried = await until(lambda: letter(bus))
        await until(lambda: settled(bus))
    assert calls.attempts == [1, 2, 3]
    assert calls.gap_s(0, 1) >= 1.0
    assert calls.gap_s(1, 2) >= 2.0
    assert buried.headers is not None
    assert buried.headers["Errata-Reason"] == "ZeroDivisionError: oops"
    assert buried.headers["Errata-Attempt"] == "3"


async def test_one_bad_message_does_not_hold_up_the_others(bus: Bus, server: EmbeddedStack) -> None:
    bad = observed()

    def behave(event: ObservationReceived, attempt: int) -> list[Event]:
        if event == bad:
            raise ZeroDivisionError
        return [seen(event)]

    calls = Calls(behave)
    async with worker(server.endpoints.nats_url, calls.handle):
        await bus.publish(bad, correlation=uuid4())
        for _ in range(5):
            await bus.publish(observed(), correlation=uuid4())
        await until(lambda: len(calls.made) >= 6)
        assert calls.attempts[:6] == [1] * 6


async def test_a_long_handler_keeps_its_message(bus: Bus, server: EmbeddedStack) -> None:
    """It lasts for several heartbeats, each a third of the deadline, and nobody else gets the message meanwhile."""
    consumer = replace(WORK, ack_wait_s=0.6, slots=2)
    beats: list[bytes] = []

    async def beat(message: Msg) -> None:
        beats.append(message.data)

    await bus.client.subscribe(f"$JS.ACK.{ERRATA.name}.{consumer.name}.>", cb=beat)
    calls: list[int] = []

    async def handle(event: ObservationReceived, attempt: int) -> AsyncIterator[Event]:
        calls.append(attempt)
        await until(lambda: beats.count(b"+WPI") >= 6)
        yield seen(event)

    async with worker(server.endpoints.nats_url, handle, consumer):
        await bus.publish(observed(), correlation=uuid4())
        await until(lambda: beats and beats[-1] in (b"", b"+ACK"))
        await until(lambda: settled(bus, consumer))
    assert calls == [1]


async def test_a_worker_that_dies_loses_nothing(bus: Bus, server: EmbeddedStack) -> None:
    consumer = replace(WORK, ack_wait_s=0.6)
    started = asyncio.Event()

    async def hang(event: ObservationReceived, attempt: int) -> AsyncIterator[Event]:
        started.set()
        await asyncio.Event().wait()
        yield seen(event)

    async with connect(server.endpoints.nats_url, name="dying", drain_s=0.1) as dying:
        delivery = Delivery(dying, Telemetry())
        delivery.subscribe(consumer, hang)
        await dying.jetstream.add_consumer(ERRATA.name, topology.consumer_config(consumer))
        await delivery.start()
        await bus.publish(observed(), correlation=uuid4())
        await asyncio.wait_for(started.wait(), WITHIN_S)
    assert not await settled(bus, consumer)
    calls = Calls()
    async with worker(server.endpoints.nats_url, calls.handle, consumer):
        await until(lambda: settled(bus, consumer))
    assert calls.attempts == [2]


async def test_stopping_waits_for_what_is_being_handled(bus: Bus, server: EmbeddedStack) -> None:
    started, go = asyncio.Event(), asyncio.Event()

    async def handle(event: ObservationReceived, attempt: int) -> AsyncIterator[Event]:
        started.set()
        await go.wait()
        yield seen(event)

    async with worker(server.endpoints.nats_url, handle) as delivery:
        await bus.publish(observed(), correlation=uuid4())
        await asyncio.wait_for(started.wait(), WITHIN_S)
        stopping = asyncio.create_task(delivery.stop())
        await bus.publish(observed(), correlation=uuid4())
        assert not stopping.done()
        go.set()
        await asyncio.wait_for(stopping, WITHIN_S)
    info = await bus.jetstream.consumer_info(ERRATA.name, WORK.name)
    assert (info.num_pending, info.num_ack_pending) == (1, 0), "the first is done, the second not begun"
    assert await stored(bus, CanonicalUnavailable) == 1


async def test_a_once_fact_that_came_too_late_is_looked_at_again(bus: Bus, server: EmbeddedStack) -> None:
    investigation = uuid4()
    other = await bus.publish(failed(investigation), correlation=uuid4())

    def behave(event: ObservationReceived, attempt: int) -> list[Event]:
        return [failed(investigation, round_=2, follows=0 if attempt == 1 else other.sequence)]

    calls = Calls(behave)
    async with worker(server.endpoints.nats_url, calls.handle):
        await bus.publish(observed(), correlation=uuid4())
        await until(lambda: settled(bus))
    assert calls.attempts == [1, 2]
    rounds = [past.envelope.event for past in await history(bus, str(investigation))]
    assert [event.identity() for event in rounds] == ["1", "2"]
    assert await letter(bus) is None


async def test_publishing_a_fact_twice_stores_it_once(bus: Bus) -> None:
    event = observed()
    first = await bus.publish(event, correlation=uuid4())
    again = await bus.publish(event, correlation=uuid4())
    assert (first.duplicate, again.duplicate) == (False, True)
    assert first.sequence == again.sequence
    assert await stored(bus, ObservationReceived) == 1


async def test_only_one_of_many_writers_of_a_once_fact_wins(bus: Bus) -> None:
    investigation = uuid4()
    first = await bus.publish(failed(investigation), correlation=uuid4())
    rivals = [failed(investigation, round_=number, follows=first.sequence) for number in range(2, 12)]
    outcomes = await asyncio.gather(
        *(bus.publish(rival, correlation=uuid4()) for rival in rivals), return_exceptions=True
    )
    assert sum(isinstance(outcome, AlreadyThere) for outcome in outcomes) == 9
    assert await stored(bus, InvestigationFailed) == 2


async def test_a_fact_without_a_stream_is_an_error(bus: Bus) -> None:
    await bus.jetstream.delete_stream(ERRATA.name)
    with pytest.raises(BusError, match="topology apply"):
        await bus.publish(observed(), correlation=uuid4())


async def test_a_request_is_answered_by_the_last_fact_of_its_chain(bus: Bus, server: EmbeddedStack) -> None:
    """The reply address travels over two services; only the consumer that answers uses it."""
    first = Calls()
    second = Consumer("ingest", CanonicalUnavailable, slots=1, ack_wait_s=2.0, answers=True)

    async def answer(event: CanonicalUnavailable, attempt: int) -> AsyncIterator[Event]:
        yield rejected(event.observation.observation_id)

    event, correlation = observed(), uuid4()
    url = server.endpoints.nats_url
    async with worker(url, first.handle), worker(url, answer, second):
        found = await bus.request(event, correlation=correlation, timeout_s=WITHIN_S)
        await until(lambda: settled(bus, second))
    assert found.envelope.event == rejected(event.observation.observation_id)
    assert found.envelope.correlation == correlation
    assert found.sequence == await last_sequence(bus)


def rejected(key: UUID, claim: UUID | None = None) -> ClaimRejected:
    return ClaimRejected(investigation_id=key, claim_id=claim or key, gate="rule", reason="test")


async def test_a_request_refused_for_good_is_told_why(bus: Bus, server: EmbeddedStack) -> None:
    def behave(event: ObservationReceived, attempt: int) -> list[Event]:
        raise Reject("not a post")

    calls = Calls(behave)
    async with worker(server.endpoints.nats_url, calls.handle):
        with pytest.raises(Rejected, match="not a post"):
            await bus.request(observed(), correlation=uuid4(), timeout_s=WITHIN_S)


async def test_a_request_nobody_answers_ends(bus: Bus) -> None:
    with pytest.raises(NoAnswer):
        await bus.request(observed(), correlation=uuid4(), timeout_s=0.2)


async def test_slots_of_all_processes_share_the_work(bus: Bus, server: EmbeddedStack) -> None:
    """Six messages are in hand at once, over two processes with three slots each, and each is handled once."""
    together = asyncio.Barrier(6)
    handled: list[UUID] = []

    async def handle(event: ObservationReceived, attempt: int) -> AsyncIterator[Event]:
        await asyncio.wait_for(together.wait(), WITHIN_S)
        handled.append(event.observation.observation_id)
        yield seen(event)

    consumer = replace(WORK, slots=3, ack_wait_s=30.0)
    url = server.endpoints.nats_url
    async with worker(url, handle, consumer), worker(url, handle, consumer):
        events = [observed() for _ in range(12)]
        for event in events:
            await bus.publish(event, correlation=uuid4())
        await until(lambda: settled(bus, consumer))
    assert sorted(handled) == sorted(event.observation.observation_id for event in events)


async def test_history_is_complete_and_in_order(bus: Bus) -> None:
    """More facts than one read returns, with other aggregates' in between."""
    key = uuid4()
    receipts = []
    for _ in range(7):
        facts = [rejected(key, uuid4()) for _ in range(100)]
        receipts += await asyncio.gather(*(bus.publish(fact, correlation=uuid4()) for fact in facts))
        await bus.publish(rejected(uuid4()), correlation=uuid4())
    await bus.publish(failed(key), correlation=uuid4())
    found = await history(bus, str(key))
    assert [past.sequence for past in found] == [*sorted(receipt.sequence for receipt in receipts), found[-1].sequence]
    assert isinstance(found[-1].envelope.event, InvestigationFailed)
    assert await history(bus, str(uuid4())) == []


async def test_latest_is_the_last_of_each_subject(bus: Bus) -> None:
    one, two = uuid4(), uuid4()
    await bus.publish(rejected(one, uuid4()), correlation=uuid4())
    await bus.publish(rejected(two), correlation=uuid4())
    await bus.publish(last := rejected(one, uuid4()), correlation=uuid4())
    found = await latest(bus, rejected(one).subject(), rejected(two).subject())
    assert [past.envelope.event for past in found] == [rejected(two), last]
    assert await latest(bus, rejected(uuid4()).subject()) == []


async def test_history_without_a_broker_is_a_retry(tmp_path: Path) -> None:
    with nats_server(tmp_path) as own:
        async with connect(own.endpoints.nats_url, name="test") as bus:
            with pytest.raises(Retry):
                await history(bus, "no stream at all")


async def read(log: OrderedLog, into: list[Recorded]) -> None:
    async for batch in log.batches(limit=7):
        into.extend(batch)


@asynccontextmanager
async def reading(bus: Bus, start: int = 1) -> AsyncIterator[list[Recorded]]:
    found: list[Recorded] = []
    task = asyncio.create_task(read(OrderedLog(bus, ERRATA.name, start), found))
    try:
        yield found
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert task.cancelled() or task.exception() is None


async def test_the_reader_gets_everything_in_order_from_where_it_starts(bus: Bus) -> None:
    for _ in range(20):
        await bus.publish(observed(), correlation=uuid4())
    async with reading(bus) as all_of_it, reading(bus, start=11) as second_half:
        await until(lambda: len(all_of_it) == 20)
        for _ in range(20):
            await bus.publish(observed(), correlation=uuid4())
        await until(lambda: len(all_of_it) == 40 and len(second_half) == 30)
    assert [item.sequence for item in all_of_it] == list(range(1, 41))
    assert [item.sequence for item in second_half] == list(range(11, 41))


def kill(broker: EmbeddedStack) -> None:
    """Kill the broker as a power cut would, and start it again over the same data and address."""
    os.kill(broker.pids["nats"], signal.SIGKILL)
    broker.stop()
    broker.start()


async def test_the_reader_survives_a_broker_killed_and_restarted(tmp_path: Path) -> None:
    with nats_server(tmp_path, durable=True) as own:
        url = own.endpoints.nats_url
        async with connect(url, name="reader") as bus:
            await topology.apply(bus)
            async with reading(bus) as found, reading(bus, start=31) as idle:
                for _ in range(30):
                    await bus.publish(observed(), correlation=uuid4())
                await until(lambda: len(found) >= 10)
                kill(own)
                assert own.endpoints.nats_url == url
                await publish_when_possible(bus, 30)
                await until(lambda: len(found) >= 60 and len(idle) >= 30, within_s=30)
            assert [item.sequence for item in found] == list(range(1, 61))
            assert [item.sequence for item in idle] == list(range(31, 61)), "also if it had not read anything yet"


async def test_delivery_survives_a_broker_killed_and_restarted(tmp_path: Path) -> None:
    with nats_server(tmp_path, durable=True) as own:
        url = own.endpoints.nats_url
        async with connect(url, name="test") as bus:
            await topology.apply(bus)
            calls = Calls()
            async with worker(url, calls.handle, replace(WORK, slots=2)):
                for _ in range(20):
                    await bus.publish(observed(), correlation=uuid4())
                await until(lambda: len(calls.made) >= 5)
                kill(own)
                await publish_when_possible(bus, 20)
                await until(lambda: settled_soon(bus), within_s=30)
            assert await stored(bus, CanonicalUnavailable) == 40
            assert len({key for key, _, _ in calls.made}) == 40
            assert await letter(bus) is None


async def settled_soon(bus: Bus) -> bool:
    try:
        return await settled(bus)
    except (nats.errors.Error, nats.js.errors.Error, TimeoutError):
        return False


async def publish_when_possible(bus: Bus, count: int) -> None:
    for _ in range(count):
        event = observed()

        async def stored_now(event: ObservationReceived = event) -> bool:
            try:
                await bus.publish(event, correlation=uuid4())
            except BusError:
                return False
            return True

        await until(stored_now, within_s=30)


async def test_topology_is_applied_once_and_found_as_declared(bus: Bus) -> None:
    assert await topology.apply(bus) == []
    assert [item async for item in topology.differences(bus)] == []
    await topology.require(bus)


async def test_what_differs_is_named_and_mended(bus: Bus) -> None:
    js = bus.jetstream
    await js.delete_consumer(ERRATA.name, WORK.name)
    await js.add_consumer("ERRATA", topology.consumer_config(Consumer("ingest", CanonicalFetched, ack_wait_s=7.0)))
    await js.update_stream(replace(topology.stream_config(DEAD, 1), max_age=600))
    await js.delete_stream("KV_marks")
    with pytest.raises(topology.TopologyMissing, match="topology apply"):
        await topology.require(bus)
    found = {item.thing for item in await topology.apply(bus)}
    assert found == {
        f"consumer {WORK.name}",
        "consumer ingest-canonical-fetched",
        f"stream {DEAD.name}",
        "bucket marks",
    }
    assert await topology.apply(bus) == []


async def test_a_broker_that_acknowledges_too_early_is_refused(bus: Bus, server: EmbeddedStack) -> None:
    with pytest.raises(topology.UnsafeBroker, match="sync_interval"):
        await topology.require_durable(bus, server.endpoints.nats_monitor_url)
    with pytest.raises(topology.UnsafeBroker, match="MONITOR"):
        await topology.require_durable(bus, None)


async def test_a_broker_that_writes_first_is_accepted(tmp_path: Path) -> None:
    with nats_server(tmp_path, durable=True) as own:
        async with connect(own.endpoints.nats_url, name="test") as bus:
            await topology.apply(bus)
            await topology.require_durable(bus, own.endpoints.nats_monitor_url)
