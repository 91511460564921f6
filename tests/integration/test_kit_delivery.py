"""What delivery promises, against a real broker: nothing lost, nothing twice, every failure ends somewhere visible."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from uuid import UUID, uuid4

import nats.errors
import nats.js.errors
import pytest
from nats.aio.msg import Msg

from contracts.topology import ERRATA
from contracts.v1 import (
    CanonicalUnavailable,
    Event,
    ObservationReceived,
    decode,
)
from kit import topology
from kit.bus import Bus, RequestRejected, connect
from kit.delivery import Delivery
from kit.embedded import EmbeddedStack
from kit.errors import Reject, Retry
from kit.history import read_history, read_latest
from kit.slots import FETCH_TIMEOUT_S
from kit.telemetry import Telemetry
from tests.support.consumers import has_left
from tests.support.delivering import (
    WITHIN_S,
    WORK,
    Calls,
    failed,
    kill,
    last_sequence,
    letter,
    observed,
    publish_when_possible,
    seen,
    settled,
    settled_soon,
    stored,
    until,
    worker,
)
from tests.support.servers import nats_server

pytest_plugins = ["tests.support.delivering"]


async def test_what_a_handler_yields_is_stored_and_its_message_acknowledged(bus: Bus, server: EmbeddedStack) -> None:
    event, correlation = observed(), uuid4()
    calls = Calls()
    async with worker(server.endpoints.nats_url, calls.handle):
        await bus.publish(event, correlation=correlation)
        await until(lambda: settled(bus))
    cause, effect = (past.envelope for past in await read_history(bus, event.key()))
    assert effect.event == seen(event)
    assert (effect.correlation, effect.cause) == (correlation, cause.id)
    assert calls.attempts == [1]
    assert await letter(bus) is None


async def test_a_message_is_acknowledged_only_after_its_facts_are_stored(bus: Bus, server: EmbeddedStack) -> None:
    """A full stream refuses the fact; when there is room again the fact is stored and the message is done."""
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
    assert calls.attempts == [1]
    assert await stored(bus, CanonicalUnavailable) == 1


async def test_retry_comes_back_after_the_asked_time(bus: Bus, server: EmbeddedStack) -> None:
    def behave(event: ObservationReceived, delivery_count: int) -> list[Event]:
        if delivery_count == 1:
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
    def behave(event: ObservationReceived, delivery_count: int) -> list[Event]:
        raise Retry(0.0, "never ready")

    calls = Calls(behave)
    async with worker(server.endpoints.nats_url, calls.handle):
        await bus.publish(observed(), correlation=uuid4())
        await until(lambda: letter(bus))
        await until(lambda: settled(bus))
    assert calls.attempts == [1, 2, 3, 4, 5], "counted from the third delivery on"


async def test_what_was_yielded_before_giving_up_is_stored(bus: Bus, server: EmbeddedStack) -> None:
    event = observed()

    async def handle(event: ObservationReceived, delivery_count: int) -> AsyncIterator[Event]:
        yield seen(event)
        raise Reject("enough")

    async with worker(server.endpoints.nats_url, handle):
        await bus.publish(event, correlation=uuid4())
        await until(lambda: letter(bus))
    assert await stored(bus, CanonicalUnavailable) == 1


async def test_reject_is_buried_at_once_with_its_origin(bus: Bus, server: EmbeddedStack) -> None:
    def behave(event: ObservationReceived, delivery_count: int) -> list[Event]:
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
        "Errata-Delivery-Count": "1",
    }
    assert decode(event.subject(), buried.data or b"").event == event


async def test_a_refusal_that_nobody_has_to_look_at_leaves_no_copy(bus: Bus, server: EmbeddedStack) -> None:
    def behave(event: ObservationReceived, delivery_count: int) -> list[Event]:
        raise Reject("erased on request", dead_letter=False)

    calls = Calls(behave)
    async with worker(server.endpoints.nats_url, calls.handle):
        with pytest.raises(RequestRejected, match="erased on request"):
            await bus.request(observed(), correlation=uuid4(), timeout_s=WITHIN_S)
        await until(lambda: settled(bus))
        await bus.publish(observed(), correlation=uuid4())
        await until(lambda: settled(bus))
    assert set(calls.attempts) == {1}
    assert await letter(bus) is None


async def test_what_is_given_up_is_told_to_whoever_waits_for_it(bus: Bus, server: EmbeddedStack) -> None:
    def behave(event: ObservationReceived, delivery_count: int) -> list[Event]:
        raise Reject("no such place")

    async def given_up(event: ObservationReceived, reason: str) -> AsyncIterator[Event]:
        yield CanonicalUnavailable(observation=event.observation, reason="given_up", detail=reason)

    event = observed()
    async with worker(server.endpoints.nats_url, Calls(behave).handle, on_exhausted=given_up):
        await bus.publish(event, correlation=uuid4())
        await until(lambda: letter(bus))
    (told,) = await read_latest(bus, f"{CanonicalUnavailable.SUBJECT}.{event.key()}")
    assert isinstance(told.envelope.event, CanonicalUnavailable)
    assert told.envelope.event.detail == "no such place"


async def test_a_message_is_given_up_only_once_its_end_is_stored(
    bus: Bus, server: EmbeddedStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a request would wait for ever: a full stream refuses the fact that ends it, and the message is kept."""
    monkeypatch.setattr("kit.failure_policy.BUG_RETRY_MAX_S", 0.1)
    monkeypatch.setattr("kit.publisher.PUBLISH_TIMEOUT_S", 0.1)

    def behave(event: ObservationReceived, delivery_count: int) -> list[Event]:
        raise Reject("no such place")

    async def give_up(event: ObservationReceived, reason: str) -> AsyncIterator[Event]:
        yield seen(event, reason)

    calls = Calls(behave)
    await bus.publish(observed(), correlation=uuid4())
    full = topology.stream_config(ERRATA, 1)
    await bus.jetstream.update_stream(replace(full, max_msgs=await last_sequence(bus)))
    async with worker(server.endpoints.nats_url, calls.handle, on_exhausted=give_up):
        await until(lambda: len(calls.made) > 1)
        assert await letter(bus) is None
        await bus.jetstream.update_stream(replace(full, max_msgs=-1))
        await until(lambda: letter(bus))
    assert await stored(bus, CanonicalUnavailable) == 1


async def test_a_message_whose_end_cannot_be_written_becomes_a_dead_letter_all_the_same(
    bus: Bus, server: EmbeddedStack
) -> None:
    """Else it would be delivered for ever, and no operator would find it."""

    def behave(event: ObservationReceived, delivery_count: int) -> list[Event]:
        raise Reject("the history cannot be read")

    async def give_up(event: ObservationReceived, reason: str) -> AsyncIterator[Event]:
        raise Reject("the history cannot be read")
        yield

    calls = Calls(behave)
    async with worker(server.endpoints.nats_url, calls.handle, on_exhausted=give_up):
        await bus.publish(observed(), correlation=uuid4())
        await until(lambda: len(calls.made) > 1 or settled(bus))
        assert await letter(bus) is not None
        assert await settled(bus)
    assert calls.attempts == [1]


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
    def behave(event: ObservationReceived, delivery_count: int) -> list[Event]:
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
    assert buried.headers["Errata-Delivery-Count"] == "3"


async def test_one_bad_message_does_not_hold_up_the_others(bus: Bus, server: EmbeddedStack) -> None:
    bad = observed()

    def behave(event: ObservationReceived, delivery_count: int) -> list[Event]:
        if event == bad:
            raise ZeroDivisionError
        return [seen(event)]

    calls = Calls(behave)
    async with worker(server.endpoints.nats_url, calls.handle):
        await bus.publish(bad, correlation=uuid4())
        good = [observed() for _ in range(5)]
        for event in good:
            await bus.publish(event, correlation=uuid4())
        wanted = [event.observation.observation_id for event in good]
        await until(lambda: {key for key, _, _ in calls.made}.issuperset(wanted))
    assert calls.made[1][0] == wanted[0], "before the bad one is tried again"
    others = [(key, attempt) for key, attempt, _ in calls.made if key in wanted]
    assert others == [(key, 1) for key in wanted]


async def test_a_long_handler_keeps_its_message(bus: Bus, server: EmbeddedStack) -> None:
    """It lasts for several heartbeats, each a third of the deadline, and nobody else gets the message meanwhile."""
    consumer = replace(WORK, slots=2)
    beats: list[bytes] = []

    async def beat(message: Msg) -> None:
        beats.append(message.data)

    await bus.client.subscribe(f"$JS.ACK.{ERRATA.name}.{consumer.name}.>", cb=beat)
    calls: list[int] = []

    async def handle(event: ObservationReceived, delivery_count: int) -> AsyncIterator[Event]:
        calls.append(delivery_count)
        await until(lambda: beats.count(b"+WPI") >= 4)
        yield seen(event)

    async with worker(server.endpoints.nats_url, handle, consumer):
        await bus.publish(observed(), correlation=uuid4())
        await until(lambda: beats and beats[-1] in (b"", b"+ACK"))
        await until(lambda: settled(bus, consumer))
    assert calls == [1]


async def test_a_worker_that_dies_loses_nothing(bus: Bus, server: EmbeddedStack) -> None:
    consumer = replace(WORK, ack_wait_s=0.6)
    started = asyncio.Event()

    async def hang(event: ObservationReceived, delivery_count: int) -> AsyncIterator[Event]:
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

    async def handle(event: ObservationReceived, delivery_count: int) -> AsyncIterator[Event]:
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
    await until(lambda: has_left(bus, WORK, 1))  # the first is done, the second not begun
    assert await stored(bus, CanonicalUnavailable) == 1


async def test_a_once_fact_that_came_too_late_is_looked_at_again(bus: Bus, server: EmbeddedStack) -> None:
    investigation = uuid4()
    other = await bus.publish(failed(investigation), correlation=uuid4())

    def behave(event: ObservationReceived, delivery_count: int) -> list[Event]:
        return [failed(investigation, round_=2, follows=0 if delivery_count == 1 else other.sequence)]

    calls = Calls(behave)
    async with worker(server.endpoints.nats_url, calls.handle):
        await bus.publish(observed(), correlation=uuid4())
        await until(lambda: settled(bus))
    assert calls.attempts == [1, 0]
    rounds = [past.envelope.event for past in await read_history(bus, str(investigation))]
    assert [event.identity() for event in rounds] == ["1", "2"]
    assert await letter(bus) is None


async def test_slots_of_all_processes_share_the_work(bus: Bus, server: EmbeddedStack) -> None:
    """Six messages are in hand at once, over two processes with three slots each, and each is handled once."""
    together = asyncio.Barrier(6)
    handled: list[UUID] = []

    async def handle(event: ObservationReceived, delivery_count: int) -> AsyncIterator[Event]:
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


async def test_slots_wait_out_a_long_outage_and_go_on(tmp_path: Path) -> None:
    """Whoever asked on while nobody hears would be given, when it is back, a message for each time it had asked."""
    consumer = replace(WORK, slots=4)
    with nats_server(tmp_path, durable=True) as own:
        url = own.endpoints.nats_url
        async with connect(url, name="test") as bus:
            await topology.apply(bus)
            calls = Calls()
            async with worker(url, calls.handle, consumer):
                await bus.publish(observed(), correlation=uuid4())
                await until(lambda: settled(bus))
                own.stop()
                back_at = asyncio.get_running_loop().time() + 2 * FETCH_TIMEOUT_S + 2
                await until(lambda: asyncio.get_running_loop().time() > back_at, within_s=60)
                own.start()

                async def asking() -> int | None:
                    waiting: int | None = (await bus.jetstream.consumer_info(ERRATA.name, WORK.name)).num_waiting
                    return waiting

                async def all_ask() -> bool:
                    try:
                        return (await asking() or 0) >= consumer.slots
                    except (nats.errors.Error, nats.js.errors.Error, TimeoutError):
                        return False

                await until(all_ask, within_s=60)
                assert await asking() == consumer.slots, "each asks once"
                await publish_when_possible(bus, 20)
                await until(lambda: settled_soon(bus))
            # The acknowledgement of the first may have been lost with the broker that was stopped.
            assert calls.attempts.count(1) == 21, "none was given to somebody who had stopped waiting"
            assert await stored(bus, CanonicalUnavailable) == 21


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
                await until(lambda: settled_soon(bus), within_s=60)
            assert await stored(bus, CanonicalUnavailable) == 40
            assert len({key for key, _, _ in calls.made}) == 40
            assert await letter(bus) is None
