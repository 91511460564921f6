"""A delivery that reaches its worker late, when another one is at work on the same request: nobody pays twice."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, TypeVar
from uuid import uuid4

import pytest
from nats.js.client import JetStreamContext

from contracts.topology import ERRATA, INVESTIGATOR_INVESTIGATION_REQUESTED
from contracts.v1 import Event, InvestigationDrafted, InvestigationRetryScheduled, InvestigationStarted
from contracts.v1.parts import Usage
from kit import link, topology
from kit.bus import Bus, connect
from kit.delivery import Delivery
from kit.history import read_history
from kit.models.base import Brief, Decision, Finished
from kit.telemetry import Telemetry
from tests.chaos.test_heartbeats import holds
from tests.support.brokers_log import BrokersLog
from tests.support.consumers import have_handled_all
from tests.support.factories import INVESTIGATION_ID, MODEL, payload, requested, started
from tests.support.fakes import Item, MemoryTexts, ScriptedModel, investigator_over
from tests.support.line import Line
from tests.support.servers import nats_server
from tests.support.system import until

ACK_WAIT_S: Final = 2.0
CONSUMER: Final = replace(INVESTIGATOR_INVESTIGATION_REQUESTED, slots=1, ack_wait_s=ACK_WAIT_S)
WITHIN_S: Final = 60.0

E = TypeVar("E", bound=Event)


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker held back on its line would connect anew; here its old connection brings what was overtaken."""
    monkeypatch.setattr(link, "SILENT_AFTER_S", 3_600.0)
    monkeypatch.setattr(link, "RECONNECT_AFTER_S", 3_600.0)


@dataclass
class Till:
    """Who paid for a run, in order; each run lasts until `finish` is set."""

    payers: list[str] = field(default_factory=list)
    finish: asyncio.Event = field(default_factory=asyncio.Event)


class PaidModel(ScriptedModel):
    """A model whose every run costs its worker money."""

    def __init__(self, till: Till, payer: str) -> None:
        super().__init__()
        self._till = till
        self._payer = payer

    async def look(self, brief: Brief[Any, Any]) -> AsyncGenerator[Item, None]:
        self._till.payers.append(self._payer)
        await self._till.finish.wait()
        yield Decision("c1", payload())
        yield Finished(None, Usage(total_tokens=1), MODEL, b"{}")


class Place:
    """One broker, workers that join it, and a line of the first one that can be held back."""

    def __init__(self, bus: Bus, line: Line, stack: AsyncExitStack) -> None:
        self.bus, self.line, self.till = bus, line, Till()
        self.telemetry = Telemetry()
        self._stack = stack
        self._texts = MemoryTexts()

    async def joined(self, url: str, name: str, slots: int = 1) -> BrokersLog:
        """A worker is at work; what it sees of the log."""
        bus = await self._stack.enter_async_context(connect(url, name=name, drain_s=1.0))
        log = BrokersLog(bus)
        investigator = investigator_over(log, self._texts, PaidModel(self.till, name))
        delivery = Delivery(bus, self.telemetry, ack_wait_s=ACK_WAIT_S)
        delivery.subscribe(CONSUMER, investigator.on_investigation_requested, slots=slots)
        await delivery.start()
        return log

    async def waits(self, number: int) -> None:
        """So many workers have asked the broker for work."""

        async def waiting() -> bool:
            info = await self.bus.jetstream.consumer_info(ERRATA.name, CONSUMER.name)
            return bool(info.num_waiting == number)

        await until(waiting, f"{number} workers wait for work", within_s=WITHIN_S)

    async def delivered(self, number: int) -> None:
        """So many deliveries have been made, whoever got them."""

        async def made() -> bool:
            info = await self.bus.jetstream.consumer_info(ERRATA.name, CONSUMER.name)
            assert info.delivered is not None
            return bool(info.delivered.consumer_seq >= number)

        await until(made, f"{number} deliveries", within_s=WITHIN_S)

    def left_alone(self) -> bool:
        """Whether a worker has left a delivery to another one."""
        labels = {"consumer": CONSUMER.name, "outcome": "stale"}
        return bool(self.telemetry.registry.get_sample_value("openerrata_handled_seconds_count", labels))

    async def pull(self) -> JetStreamContext.PullSubscription:
        """The place of a worker without one."""
        return await self.bus.jetstream.pull_subscribe_bind(CONSUMER.name, ERRATA.name)

    async def facts(self, kind: type[E]) -> list[E]:
        """What the log holds of a kind."""
        facts = [past.envelope.event for past in await read_history(self.bus, str(INVESTIGATION_ID))]
        return [fact for fact in facts if isinstance(fact, kind)]

    async def has(self, kind: type[Event]) -> bool:
        """Whether the log has such a fact."""
        return bool(await self.facts(kind))


async def opened(stack: AsyncExitStack, folder: Path) -> tuple[Place, str]:
    """A broker without workers, and its address."""
    server = stack.enter_context(nats_server(folder))
    url = server.endpoints.nats_url
    bus = await stack.enter_async_context(connect(url, name="test"))
    await topology.apply(bus)
    await bus.jetstream.add_consumer(ERRATA.name, topology.consumer_config(CONSUMER))
    return Place(bus, await stack.enter_async_context(Line(url)), stack), url


@pytest.mark.requirement("2.6-15", "3.6-03")
@pytest.mark.parametrize("seen", ["first", "second"])
@pytest.mark.parametrize("drafted", [False, True], ids=["under way", "drafted"])
async def test_an_overtaken_delivery_begins_no_attempt(tmp_path: Path, seen: str, drafted: bool) -> None:
    """The late worker has the request's first delivery, or its second after an attempt that failed.

    2.6-15: A request during a run starts no second one.
    3.6-03: A run whose worker died is taken up again.
    """
    async with AsyncExitStack() as stack:
        place, url = await opened(stack, tmp_path)
        if seen == "second":
            await place.bus.publish(requested(), correlation=uuid4())
            (first,) = await (await place.pull()).fetch(1)
            await place.bus.publish(started(delivery_count=1), correlation=uuid4())
        await place.joined(place.line.url, "late")
        await place.waits(1)
        place.line.fail("silent")
        if seen == "second":
            await first.nak()
        else:
            await place.bus.publish(requested(), correlation=uuid4())
        await place.delivered(2 if seen == "second" else 1)
        await place.joined(url, "quick")
        await holds(lambda: place.till.payers == ["quick"], "the other worker takes over", within_s=WITHIN_S)
        await until(lambda: place.has(InvestigationStarted), "it says so", within_s=WITHIN_S)
        if drafted:
            place.till.finish.set()
            await until(lambda: place.has(InvestigationDrafted), "it has a draft", within_s=WITHIN_S)
        place.line.heal()
        if not drafted:
            await holds(place.left_alone, "the late worker leaves it alone", within_s=WITHIN_S)
        place.till.finish.set()
        await until(lambda: have_handled_all(place.bus, CONSUMER), "the request is acknowledged", within_s=WITHIN_S)
        assert place.till.payers == ["quick"], "a run was paid for twice"
        assert await place.facts(InvestigationRetryScheduled) == []
        assert len(await place.facts(InvestigationDrafted)) == 1


@pytest.mark.requirement("3.6-03")
async def test_a_start_that_nobody_holds_any_more_is_followed_by_the_next_delivery(tmp_path: Path) -> None:
    """As after a consumer was made anew: its deliveries count from 1 again, and the log knows of an earlier start.

    3.6-03: A run whose worker died is taken up again.
    """
    async with AsyncExitStack() as stack:
        place, url = await opened(stack, tmp_path)
        await place.bus.publish(requested(), correlation=uuid4())
        await place.bus.publish(started(delivery_count=1), correlation=uuid4())
        place.till.finish.set()
        await place.joined(url, "only")
        await until(lambda: have_handled_all(place.bus, CONSUMER), "the request is acknowledged", within_s=WITHIN_S)
        info = await place.bus.jetstream.consumer_info(ERRATA.name, CONSUMER.name)
        assert info.delivered is not None
        assert (info.delivered.consumer_seq, place.till.payers) == (2, ["only"])
        begun = [event.attempt for event in await place.facts(InvestigationStarted)]
        assert begun == [1, 2]


async def test_a_delivery_that_the_broker_forgot_and_makes_again_begins_no_attempt(tmp_path: Path) -> None:
    """As after a crash of the broker, which writes down what it delivers a moment later; the worker lives on."""
    async with AsyncExitStack() as stack:
        place, url = await opened(stack, tmp_path)
        await place.joined(url, "first")
        await place.bus.publish(requested(), correlation=uuid4())
        await holds(lambda: place.till.payers == ["first"], "a run is under way", within_s=WITHIN_S)
        await place.bus.jetstream.delete_consumer(ERRATA.name, CONSUMER.name)
        await place.bus.jetstream.add_consumer(ERRATA.name, topology.consumer_config(CONSUMER))
        await place.joined(url, "second")
        await holds(place.left_alone, "it is left to its worker", within_s=WITHIN_S)
        place.till.finish.set()
        await until(lambda: have_handled_all(place.bus, CONSUMER), "the request is acknowledged", within_s=WITHIN_S)
        assert place.till.payers == ["first"], "a run was paid for twice"
        assert len(await place.facts(InvestigationDrafted)) == 1


@pytest.mark.parametrize("same", [True, False], ids=["in one process", "in two"])
async def test_a_delivery_made_while_the_worker_of_the_last_one_lives_begins_no_attempt(
    tmp_path: Path, same: bool
) -> None:
    """As by a negative acknowledgement that comes late, or by a broker that has just become the leader."""
    async with AsyncExitStack() as stack:
        place, url = await opened(stack, tmp_path)
        await place.bus.publish(requested(), correlation=uuid4())
        (early,) = await (await place.pull()).fetch(1)
        await place.bus.client.publish(early.reply, b"-NAK")
        await place.joined(url, "first", slots=2 if same else 1)
        await holds(lambda: place.till.payers == ["first"], "a run is under way", within_s=WITHIN_S)
        if not same:
            await place.joined(url, "second")
        await place.bus.client.publish(early.reply, b"-NAK")
        await holds(place.left_alone, "it is left to its worker", within_s=WITHIN_S)
        place.till.finish.set()
        await until(lambda: have_handled_all(place.bus, CONSUMER), "the request is acknowledged", within_s=WITHIN_S)
        assert place.till.payers == ["first"], "a run was paid for twice"
        assert len(await place.facts(InvestigationDrafted)) == 1
