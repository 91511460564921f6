"""The validator over the real log, and two of its workers of which one sleeps through its turn."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest
import pytest_asyncio

from contracts.topology import ERRATA, VALIDATOR_CLAIM_PROPOSED
from contracts.v1 import ClaimApproved, ClaimProposed, Event
from kit import topology
from kit.bus import Bus, connect
from kit.delivery import Delivery
from kit.history import read_history
from kit.models.base import Brief
from kit.telemetry import Telemetry
from services.validator.adapters import LogRuns
from services.validator.ends import EndedRounds
from tests.support.factories import INVESTIGATION_ID, proposed, requested, started
from tests.support.fakes import ScriptedModel, Verdict
from tests.support.journals import Stored, empty_log
from tests.support.judging import Journal, Judge
from tests.support.judging_suite import JudgingSuite
from tests.support.line import Line
from tests.support.system import until

pytest_plugins = ["tests.support.servers"]


class Logged(Stored):
    """A journal over a broker."""

    def __init__(self, bus: Bus) -> None:
        super().__init__(bus)
        self.runs = LogRuns(bus, EndedRounds(bus))


class TestLogged(JudgingSuite):
    @pytest_asyncio.fixture
    async def journal(self, nats_url: str) -> AsyncIterator[Journal]:
        async with empty_log(nats_url) as bus:
            yield Logged(bus)


async def test_claims_of_a_run_that_come_together_ask_once_for_its_start(
    nats_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with empty_log(nats_url) as bus:
        for fact in (requested(), started()):
            await bus.publish(fact, correlation=uuid4())
        runs, send = LogRuns(bus, EndedRounds(bus)), bus.client.publish
        asked: list[str] = []

        async def counted(subject: str, *arguments: Any, **options: Any) -> None:
            asked.append(subject)
            await send(subject, *arguments, **options)

        monkeypatch.setattr(bus.client, "publish", counted)
        found = await asyncio.gather(*(runs.find_start(proposed()) for _ in range(3)))
        assert found == [started()] * 3
        assert len(asked) == 1


class Unhurried(ScriptedModel):
    """A model whose every review costs money when it begins, and lasts until it is told to end."""

    def __init__(self) -> None:
        super().__init__()
        self.finish = asyncio.Event()

    async def review(self, brief: Brief[Any, Any]) -> Verdict:
        found = await super().review(brief)
        await self.finish.wait()
        return found


@pytest.mark.requirement("2.6-15", "3.6-03")
@pytest.mark.parametrize("under_way", [False, True], ids=["judged", "under way"])
async def test_a_worker_that_wakes_up_does_not_buy_what_another_buys(nats_url: str, under_way: bool) -> None:
    """Its message was on the way to it when it fell asleep: to the worker it is a first delivery.

    2.6-15: A request during a run starts no second one.
    3.6-03: A run whose worker died is taken up again.
    """
    consumer = replace(VALIDATOR_CLAIM_PROPOSED, slots=1, ack_wait_s=2.0)
    async with empty_log(nats_url) as bus, Line(nats_url) as line:
        await bus.jetstream.add_consumer(ERRATA.name, topology.consumer_config(consumer))
        for fact in (requested(), started()):
            await bus.publish(fact, correlation=uuid4())

        async def waits() -> bool:
            return bool((await bus.jetstream.consumer_info(ERRATA.name, consumer.name)).num_waiting)

        async def approvals() -> int:
            past = await read_history(bus, str(INVESTIGATION_ID))
            return sum(isinstance(each.envelope.event, ClaimApproved) for each in past)

        async def judged() -> bool:
            return await approvals() == 1

        async with connect(line.url, name="sleeper") as far, connect(nats_url, name="other") as near:
            sleeper, other = Judge(Logged(far)), Judge(Logged(near), model=(model := Unhurried()))
            awake = asyncio.Event()

            async def wakes(event: ClaimProposed, delivery_count: int) -> AsyncIterator[Event]:
                try:
                    async with aclosing(sleeper.validator.on_claim_proposed(event, delivery_count)) as facts:  # type: ignore[type-var]  # async generators have aclose
                        async for fact in facts:
                            yield fact
                finally:
                    awake.set()

            async def at_it() -> bool:
                return bool(model.reviews)

            first = Delivery(far, Telemetry(), ack_wait_s=consumer.ack_wait_s)
            first.subscribe(consumer, wakes)
            await first.start()
            await until(waits, "it asks for work")
            line.fail("silent")
            await bus.publish(proposed(), correlation=uuid4())
            second = Delivery(near, Telemetry(), ack_wait_s=consumer.ack_wait_s)
            second.subscribe(consumer, other.validator.on_claim_proposed)
            await second.start()
            await until(at_it, "the other one takes over", within_s=60)
            if not under_way:
                model.finish.set()
                await until(judged, "it has a verdict", within_s=60)
            line.heal()
            await asyncio.wait_for(awake.wait(), 60)
            model.finish.set()
            await until(judged, "there is a verdict", within_s=60)
            assert (len(model.reviews), len(sleeper.model.reviews)) == (1, 0), "a review was paid for twice"
