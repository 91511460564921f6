"""Publishing and asking, against a real broker: a fact is stored once, and whoever asks hears what came of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from uuid import uuid4

import pytest
from nats.aio.msg import Msg

from contracts.topology import ERRATA, Consumer
from contracts.v1 import (
    CanonicalUnavailable,
    Event,
    InvestigationFailed,
    ObservationReceived,
)
from kit.bus import Bus, RequestRejected, RequestTimeout
from kit.embedded import EmbeddedStack
from kit.errors import Reject
from kit.publisher import BusError, PublishConflict, Receipt
from tests.support.delivering import (
    WITHIN_S,
    WORK,
    Calls,
    failed,
    last_sequence,
    observed,
    rejected,
    seen,
    settled,
    stored,
    until,
    worker,
)

pytest_plugins = ["tests.support.delivering"]


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
    assert sum(isinstance(outcome, PublishConflict) for outcome in outcomes) == 9
    assert await stored(bus, InvestigationFailed) == 2


async def test_a_once_fact_whose_receipt_was_lost_does_not_meet_itself(
    bus: Bus, monkeypatch: pytest.MonkeyPatch
) -> None:
    investigation, wait_for_receipt, lost = uuid4(), Bus.wait_for_receipt, [1]

    async def lose(bus: Bus, future: asyncio.Future[Msg]) -> Receipt:
        outcome = (await asyncio.gather(wait_for_receipt(bus, future), return_exceptions=True))[0]
        if lost:
            raise BusError(f"no receipt {lost.pop()}")
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    monkeypatch.setattr(Bus, "wait_for_receipt", lose)
    assert (await bus.publish(failed(investigation), correlation=uuid4())).duplicate
    lost.append(2)
    with pytest.raises(PublishConflict):  # of a rival with the same id, which is another fact
        await bus.publish(failed(investigation), correlation=uuid4())
    assert await stored(bus, InvestigationFailed) == 1
    assert not lost


async def test_a_fact_without_a_stream_is_an_error(bus: Bus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kit.publisher.PUBLISH_TIMEOUT_S", 0.3)
    await bus.jetstream.delete_stream(ERRATA.name)
    with pytest.raises(BusError, match="topology apply"):
        await bus.publish(observed(), correlation=uuid4())


async def test_a_request_is_answered_by_the_last_fact_of_its_chain(bus: Bus, server: EmbeddedStack) -> None:
    """The reply address travels over two services; only the consumer that answers uses it."""
    first = Calls()
    second = Consumer("ingest", CanonicalUnavailable, slots=1, ack_wait_s=2.0, answers=True)

    async def answer(event: CanonicalUnavailable, delivery_count: int) -> AsyncIterator[Event]:
        yield rejected(event.observation.observation_id)

    event, correlation = observed(), uuid4()
    url = server.endpoints.nats_url
    async with worker(url, first.handle), worker(url, answer, second):
        found = await bus.request(event, correlation=correlation, timeout_s=WITHIN_S)
        await until(lambda: settled(bus, second))
    assert found.envelope.event == rejected(event.observation.observation_id)
    assert found.envelope.correlation == correlation
    assert found.sequence == await last_sequence(bus)


async def test_a_request_refused_for_good_is_told_why(bus: Bus, server: EmbeddedStack) -> None:
    def behave(event: ObservationReceived, delivery_count: int) -> list[Event]:
        raise Reject("not a post")

    calls = Calls(behave)
    async with worker(server.endpoints.nats_url, calls.handle):
        with pytest.raises(RequestRejected, match="not a post"):
            await bus.request(observed(), correlation=uuid4(), timeout_s=WITHIN_S)


async def test_a_request_nobody_answers_ends(bus: Bus) -> None:
    with pytest.raises(RequestTimeout):
        await bus.request(observed(), correlation=uuid4(), timeout_s=0.2)


async def test_an_answer_is_awaited_beyond_a_lost_connection(bus: Bus, server: EmbeddedStack) -> None:
    event = observed()
    asking = asyncio.create_task(bus.request(event, correlation=uuid4(), timeout_s=WITHIN_S))
    await until(lambda: stored(bus, ObservationReceived))
    await bus.client.force_reconnect()
    await until(lambda: bus.client.is_connected)
    async with worker(server.endpoints.nats_url, Calls().handle, replace(WORK, answers=True)):
        assert (await asking).envelope.event == seen(event)
