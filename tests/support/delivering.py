"""One NATS server per module, emptied for each test, and what tests of delivery share. Loaded as a pytest plugin."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from time import monotonic
from typing import Any
from uuid import UUID, uuid4

import nats.errors
import nats.js.errors
import pytest
from nats.js.api import RawStreamMsg

from contracts.topology import DEAD, ERRATA, VERIFIER_OBSERVATION_RECEIVED, Consumer
from contracts.v1 import (
    CanonicalUnavailable,
    ClaimRejected,
    Event,
    InvestigationAdvanced,
    InvestigationFailed,
    ObservationReceived,
)
from contracts.v1.pages import Observation
from contracts.v1.parts import PostRef, TextRef, Usage
from kit import topology
from kit.bus import Bus, connect
from kit.delivery import Delivery, Handler, StoreAnswer
from kit.embedded import EmbeddedStack
from kit.failure_policy import OnExhausted
from kit.publisher import BusError
from kit.telemetry import Telemetry
from tests.support.consumers import have_handled_all
from tests.support.servers import nats_server
from tests.support.system import pause_after

WITHIN_S = 60.0
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
    url: str,
    handler: Handler,
    consumer: Consumer = WORK,
    on_exhausted: OnExhausted | None = None,
    keep: StoreAnswer | None = None,
) -> AsyncIterator[Delivery]:
    """A delivery like that of one process, on a connection of its own."""
    async with connect(url, name="worker") as bus:
        await bus.jetstream.add_consumer(ERRATA.name, topology.consumer_config(consumer))
        delivery = Delivery(bus, Telemetry(), store_answer=keep)
        delivery.subscribe(consumer, handler, on_exhausted=on_exhausted)
        await delivery.start()
        yield delivery


class Calls:
    """Records a handler's deliveries: which observation, which attempt, when."""

    def __init__(self, behave: Callable[[Any, int], list[Event]] = lambda event, attempt: [seen(event)]) -> None:
        self.made: list[tuple[UUID, int, float]] = []
        self._behave = behave

    async def handle(self, event: ObservationReceived, delivery_count: int) -> AsyncIterator[Event]:
        self.made.append((event.observation.observation_id, delivery_count, asyncio.get_running_loop().time()))
        for fact in self._behave(event, delivery_count):
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


def advanced(answer: TextRef) -> InvestigationAdvanced:
    return InvestigationAdvanced(investigation_id=uuid4(), attempt=1, calls=1, segment=answer, usage=Usage())


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


def rejected(key: UUID, claim: UUID | None = None) -> ClaimRejected:
    return ClaimRejected(investigation_id=key, claim_id=claim or key, gate="rule", reason="test")


async def until(true: Callable[[], Any], within_s: float = WITHIN_S) -> Any:
    """Wait until a condition, plain or asynchronous, holds; return its value."""
    began = monotonic()
    async with asyncio.timeout(within_s):
        while True:
            value = true()
            if asyncio.iscoroutine(value):
                value = await value
            if value:
                return value
            await asyncio.sleep(pause_after(monotonic() - began))


async def settled(bus: Bus, consumer: Consumer = WORK) -> bool:
    """Whether the consumer has handled all its messages."""
    try:
        return await have_handled_all(bus, consumer)
    except nats.errors.TimeoutError:
        return False  # as a broker that was stopped may


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


def kill(broker: EmbeddedStack) -> None:
    """Kill the broker as a power cut would, and start it again over the same data and address."""
    os.kill(broker.pids["nats"], signal.SIGKILL)
    broker.stop()
    broker.start()


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

        await until(stored_now, within_s=60)
