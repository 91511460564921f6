"""What a server does to a message is no attempt of the message, and what the message does to its workers is."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from uuid import uuid4

import pytest
from nats.aio.msg import Msg

from contracts.topology import ERRATA, FAILURES, JOBS
from contracts.v1 import CanonicalUnavailable, Event, InvestigationAdvanced, ObservationReceived, RunAdvanced
from contracts.v1.parts import EphemeralRef, TextRef, Usage
from kit import failure_policy, topology
from kit.blobs import BlobsUnavailable
from kit.bus import Bus
from kit.embedded import EmbeddedStack
from kit.errors import Outage
from kit.kv import Bucket
from kit.publisher import BusError, Outgoing, PublishRefused
from tests.support.delivering import (
    WITHIN_S,
    WORK,
    Calls,
    advanced,
    last_sequence,
    letter,
    observed,
    seen,
    settled,
    stored,
    until,
    worker,
)
from tests.support.suspended import stop_process

pytest_plugins = ["tests.support.delivering"]

PUBLISH_TIMEOUT_S = 1.5
TOO_OFTEN = WORK.attempts + 2


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait less between tries."""
    monkeypatch.setattr(failure_policy, "OUTAGE_RETRY_BASE_S", 0.02)
    monkeypatch.setattr(failure_policy, "OUTAGE_RETRY_MAX_S", 0.1)
    monkeypatch.setattr("kit.publisher.PUBLISH_TIMEOUT_S", PUBLISH_TIMEOUT_S)
    monkeypatch.setattr(failure_policy, "BUG_RETRY_BASE_S", 0.02)


async def undelivered(bus: Bus, times: int = TOO_OFTEN) -> None:
    """Have the broker deliver the next message so often to somebody who does nothing with it."""
    await bus.jetstream.add_consumer(ERRATA.name, topology.consumer_config(WORK))
    pulling = await bus.jetstream.pull_subscribe_bind(WORK.name, ERRATA.name)
    for _ in range(times):
        (message,) = await pulling.fetch(1, timeout=5)
        await message.nak()
    await pulling.unsubscribe()


async def test_a_stream_without_space_for_long_costs_no_message(bus: Bus, server: EmbeddedStack) -> None:
    await bus.publish(observed(), correlation=uuid4())
    full = topology.stream_config(ERRATA, 1)
    await bus.jetstream.update_stream(replace(full, max_msgs=await last_sequence(bus)))
    calls = Calls()
    async with worker(server.endpoints.nats_url, calls.handle):
        await until(lambda: len(calls.made) >= TOO_OFTEN)
        await bus.jetstream.update_stream(replace(full, max_msgs=-1))
        await until(lambda: settled(bus))
    assert await stored(bus, CanonicalUnavailable) == 1
    assert await letter(bus) is None


@pytest.mark.parametrize("outage", [Outage(0.02, "a replica lags"), BlobsUnavailable("gone")], ids=["log", "blobs"])
async def test_an_outage_that_a_handler_meets_is_no_attempt(bus: Bus, server: EmbeddedStack, outage: Exception) -> None:
    def behave(event: ObservationReceived, delivery_count: int) -> list[Event]:
        if delivery_count <= TOO_OFTEN:
            raise outage
        return [seen(event)]

    calls = Calls(behave)
    async with worker(server.endpoints.nats_url, calls.handle):
        await bus.publish(observed(), correlation=uuid4())
        await until(lambda: settled(bus))
    assert len(calls.made) == TOO_OFTEN + 1
    assert await letter(bus) is None


async def test_deliveries_that_reached_nobody_are_no_attempts(bus: Bus, server: EmbeddedStack) -> None:
    await bus.publish(observed(), correlation=uuid4())
    await undelivered(bus)
    calls = Calls()
    async with worker(server.endpoints.nats_url, calls.handle):
        await until(lambda: settled(bus))
    assert len(calls.made) == 1
    assert await letter(bus) is None


async def test_failures_are_counted_beside_outages_and_across_workers(bus: Bus, server: EmbeddedStack) -> None:
    """Two bugs, outages, and the last bug in another process make three attempts."""

    def behave(event: ObservationReceived, delivery_count: int) -> list[Event]:
        if delivery_count in (2, 4):
            raise Outage(0.02, "a replica lags")
        raise ZeroDivisionError("oops")

    first, second = Calls(behave), Calls(behave)
    async with worker(server.endpoints.nats_url, first.handle):
        await bus.publish(observed(), correlation=uuid4())
        await until(lambda: len(first.made) >= 4)
    async with worker(server.endpoints.nats_url, second.handle):
        buried = await until(lambda: letter(bus))
        await until(lambda: settled(bus))
    assert (buried.headers or {})["Errata-Reason"] == "ZeroDivisionError: oops"
    assert len(first.made) + len(second.made) == 5


async def test_a_message_at_which_workers_die_is_given_up(bus: Bus, server: EmbeddedStack) -> None:
    """A worker that the message kills says nothing any more; the one before it had noted that it began."""
    receipt = await bus.publish(observed(), correlation=uuid4())
    await undelivered(bus)
    bucket = await Bucket.open(bus, FAILURES)
    key = f"{WORK.name}.{ERRATA.name}.{receipt.sequence}"
    await bucket.put(key, f"{WORK.attempts - 1} open".encode())
    calls = Calls()
    async with worker(server.endpoints.nats_url, calls.handle):
        buried = await until(lambda: letter(bus))
    assert calls.made == []
    assert (buried.headers or {})["Errata-Reason"] == f"gave up after {WORK.attempts} attempts"


async def test_who_begins_on_a_suspect_notes_it_before_the_work(bus: Bus, server: EmbeddedStack) -> None:
    receipt = await bus.publish(observed(), correlation=uuid4())
    await undelivered(bus)
    noted: list[bytes | None] = []

    async def handle(event: ObservationReceived, delivery_count: int) -> AsyncIterator[Event]:
        bucket = await Bucket.open(bus, FAILURES)
        noted.append(await bucket.get(f"{WORK.name}.{ERRATA.name}.{receipt.sequence}"))
        if len(noted) < TOO_OFTEN:
            raise Outage(0.02, "a replica lags")
        yield seen(event)

    async with worker(server.endpoints.nats_url, handle):
        await until(lambda: settled(bus))
    assert noted == [b"0 open"] * TOO_OFTEN, "and who lives takes the note back"


async def test_a_fact_that_no_stream_can_ever_take_is_the_handlers_fault(bus: Bus, server: EmbeddedStack) -> None:
    await bus.publish(observed(), correlation=uuid4())
    small = replace(topology.stream_config(ERRATA, 1), max_msg_size=600)
    await bus.jetstream.update_stream(small)
    calls = Calls(lambda event, attempt: [seen(event, "x" * 1_000)])
    async with worker(server.endpoints.nats_url, calls.handle):
        buried = await until(lambda: letter(bus))
    assert len(calls.made) == WORK.attempts
    assert (buried.headers or {})["Errata-Reason"].startswith(PublishRefused.__name__)


async def test_a_handler_is_not_asked_again_for_what_is_stored_a_moment_later(
    bus: Bus, server: EmbeddedStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a handler yields may have cost money."""
    monkeypatch.setattr("kit.publisher.PUBLISH_TIMEOUT_S", 10.0)
    await bus.publish(observed(), correlation=uuid4())
    full = topology.stream_config(ERRATA, 1)
    await bus.jetstream.update_stream(replace(full, max_msgs=await last_sequence(bus)))
    refused = asyncio.Event()

    async def note(message: Msg) -> None:
        refused.set()

    await bus.client.subscribe(f"{CanonicalUnavailable.SUBJECT}.*", cb=note)
    calls = Calls()
    async with worker(server.endpoints.nats_url, calls.handle):
        await asyncio.wait_for(refused.wait(), WITHIN_S)
        await bus.jetstream.update_stream(replace(full, max_msgs=-1))
        await until(lambda: settled(bus))
    assert len(calls.made) == 1
    assert await stored(bus, CanonicalUnavailable) == 1


ANSWER = TextRef(sha256="0" * 64, size_bytes=3, inline="No.", under="answers/run/1/first")


async def test_an_answer_that_no_stream_takes_is_kept_and_no_other_is_bought(bus: Bus, server: EmbeddedStack) -> None:
    await bus.publish(observed(), correlation=uuid4())
    full = topology.stream_config(ERRATA, 1)
    await bus.jetstream.update_stream(replace(full, max_msgs=await last_sequence(bus)))
    kept: list[TextRef] = []
    bought: list[int] = []

    async def keep(ref: TextRef) -> None:
        kept.append(ref)
        await bus.jetstream.update_stream(replace(full, max_msgs=-1))

    async def handle(event: ObservationReceived, delivery_count: int) -> AsyncIterator[Event]:
        if not kept:
            bought.append(delivery_count)
            yield seen(event)
            yield advanced(ANSWER)
            bought.append(delivery_count)

    async with worker(server.endpoints.nats_url, handle, keep=keep):
        await until(lambda: settled(bus))
    assert kept == [ANSWER]
    assert bought == [1]


async def test_no_other_answer_is_bought_before_the_last_one_of_an_audit_is_on_record(
    bus: Bus, server: EmbeddedStack
) -> None:
    """Whoever takes over looks for one answer that the log does not name, not for several."""
    segment = EphemeralRef(sha256="0" * 64, size_bytes=3, until=datetime(2030, 1, 1, tzinfo=UTC), answers="run/first")
    first, second = (RunAdvanced(run_id=uuid4(), attempt=1, calls=n, segment=segment, usage=Usage()) for n in (1, 2))
    await bus.publish(first, correlation=uuid4())
    full = topology.stream_config(JOBS, 1)
    await bus.jetstream.update_stream(replace(full, max_msgs=1))
    await bus.publish(observed(), correlation=uuid4())
    bought: list[int] = []

    async def handle(event: ObservationReceived, delivery_count: int) -> AsyncIterator[Event]:
        if delivery_count > 1:
            await bus.jetstream.update_stream(replace(full, max_msgs=-1))
        yield second
        bought.append(delivery_count)

    async with worker(server.endpoints.nats_url, handle):
        await until(lambda: settled(bus))
    assert bought == [2]


async def test_an_answer_is_kept_by_a_worker_that_the_broker_has_given_up(bus: Bus, server: EmbeddedStack) -> None:
    await bus.publish(observed(), correlation=uuid4())
    kept: list[TextRef] = []
    began, answers_again = asyncio.Event(), asyncio.Event()

    async def keep(ref: TextRef) -> None:
        kept.append(ref)
        os.kill(server.pids["nats"], signal.SIGCONT)
        answers_again.set()

    async def handle(event: ObservationReceived, delivery_count: int) -> AsyncIterator[Event]:
        if not began.is_set():  # a slow machine may begin with the second delivery
            began.set()
            stop_process(server.pids["nats"])
            asyncio.get_running_loop().call_later(45, os.kill, server.pids["nats"], signal.SIGCONT)
            yield advanced(ANSWER)

    async with worker(server.endpoints.nats_url, handle, replace(WORK, ack_wait_s=0.6), keep=keep):
        await asyncio.wait_for(answers_again.wait(), 60)
        await until(lambda: settled(bus))
    assert kept == [ANSWER]


async def test_a_handler_comes_to_its_answer_though_the_broker_does_not_hear_it(
    bus: Bus, server: EmbeddedStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What comes before the answer cannot be sent, and must not stand in its way."""
    await bus.publish(observed(), correlation=uuid4())
    kept: list[TextRef] = []
    send = Bus.send

    async def sending(self: Bus, outgoing: Outgoing) -> asyncio.Future[Msg]:
        if not kept and outgoing.subject.startswith((CanonicalUnavailable.SUBJECT, InvestigationAdvanced.SUBJECT)):
            raise BusError("the broker does not answer")
        return await send(self, outgoing)

    async def keep(ref: TextRef) -> None:
        kept.append(ref)

    async def handle(event: ObservationReceived, delivery_count: int) -> AsyncIterator[Event]:
        yield seen(event)
        if not kept:
            yield advanced(ANSWER)

    monkeypatch.setattr(Bus, "send", sending)
    async with worker(server.endpoints.nats_url, handle, keep=keep):
        await until(lambda: settled(bus))
    assert kept == [ANSWER]
    assert await stored(bus, CanonicalUnavailable) == 1


async def test_a_fact_is_stored_as_soon_as_its_stream_answers_again(bus: Bus, monkeypatch: pytest.MonkeyPatch) -> None:
    """As while a cluster chooses a new leader: nobody takes the subject, for a while."""
    await bus.jetstream.delete_stream(ERRATA.name)
    send, sent = bus.send, []

    async def sending(outgoing: Outgoing) -> asyncio.Future[Msg]:
        sent.append(outgoing)
        if len(sent) == 4:
            await bus.jetstream.add_stream(topology.stream_config(ERRATA, 1))
        return await send(outgoing)

    monkeypatch.setattr(bus, "send", sending)
    assert (await bus.publish(observed(), correlation=uuid4())).sequence == 1
    assert len(sent) == 4
