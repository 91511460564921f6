"""The validator that hears how runs end: it judges as the one that looks into the log, without looking."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID, uuid4

import pytest_asyncio

from contracts.v1 import Event, InvestigationCompleted, InvestigationFailed
from kit.bus import Bus, connect
from kit.cancelling import cancel_and_wait
from services.validator.adapters import LogRuns
from services.validator.ends import EndedRounds
from tests.support.factories import completed, failed, proposed, requested, started
from tests.support.journals import Stored, empty_log
from tests.support.judging import Journal
from tests.support.judging_suite import JudgingSuite
from tests.support.system import until

pytest_plugins = ["tests.support.servers"]

FIRST, SECOND, THIRD = (UUID(int=number) for number in (1, 2, 3))


@asynccontextmanager
async def heard(bus: Bus, **given: int) -> AsyncIterator[EndedRounds]:
    ends = EndedRounds(bus, **given)
    listening = asyncio.create_task(ends.run())

    async def begun() -> bool:
        return ends.covers(2**63)

    try:
        await until(begun, "it listens")
        yield ends
    finally:
        await cancel_and_wait([listening])


class Hearing(Stored):
    """A journal over a broker whose every end is heard before it counts as told."""

    def __init__(self, bus: Bus, ends: EndedRounds) -> None:
        super().__init__(bus)
        self.runs = LogRuns(bus, ends)
        self._ends = ends

    async def publish(self, event: Event) -> None:
        """Store a fact; its end, if it is one, was heard."""
        await super().publish(event)
        if isinstance(event, InvestigationFailed | InvestigationCompleted):
            sequence = self._last[event.subject()]

            async def reached() -> bool:
                return self._ends.position >= sequence

            await until(reached, "the end is heard")


class TestHearing(JudgingSuite):
    @pytest_asyncio.fixture
    async def journal(self, nats_url: str) -> AsyncIterator[Journal]:
        async with empty_log(nats_url) as bus, heard(bus) as ends:
            yield Hearing(bus, ends)


async def test_what_was_heard_is_not_asked_of_the_log(nats_url: str) -> None:
    async with empty_log(nats_url) as bus, connect(nats_url, name="ear") as ear, heard(ear) as ends:
        journal = Hearing(bus, ends)
        await journal.tell(requested(), started())
        await journal.runs.find_start(proposed())
        await bus.client.close()  # whoever asks the log from here on is refused
        assert await journal.runs.is_over(proposed()) is False


async def test_an_end_counts_for_its_round_and_those_before(nats_url: str) -> None:
    async with empty_log(nats_url) as bus, heard(bus) as ends:
        journal = Hearing(bus, ends)
        await journal.tell(failed(investigation_id=FIRST, round=2), completed(investigation_id=SECOND))
        assert [ends.is_over(FIRST, round_) for round_ in (1, 2, 3)] == [True, True, False]
        assert ends.is_over(SECOND, 99)
        assert not ends.is_over(THIRD, 1)


async def test_what_it_forgets_it_does_not_know(nats_url: str) -> None:
    async with empty_log(nats_url) as bus:
        await bus.publish(completed(investigation_id=THIRD), correlation=uuid4())
        assert not EndedRounds(bus).covers(2**63), "it does not listen yet"
        async with heard(bus, capacity=1) as ends:
            assert [ends.covers(began) for began in (1, 2)] == [False, True]
            journal = Hearing(bus, ends)
            await journal.tell(completed(investigation_id=FIRST))
            assert ends.covers(2)
            await journal.tell(completed(investigation_id=SECOND))
            assert [ends.covers(began) for began in (2, 3)] == [False, True]
            assert (ends.is_over(FIRST, 1), ends.is_over(SECOND, 1)) == (False, True)


async def test_a_round_that_ended_unheard_is_asked_about_though_a_later_one_began(nats_url: str) -> None:
    async with empty_log(nats_url) as bus:
        early = Stored(bus)
        await early.tell(requested(), started(), failed(), requested(round=2))
        async with heard(bus) as ends:
            await early.tell(started(2))
            runs = LogRuns(bus, ends)
            await runs.find_start(proposed())
            assert await runs.is_over(proposed())
            assert not await runs.is_over(proposed(round=2, attempt=2))


async def test_who_does_not_listen_any_more_knows_nothing(nats_url: str) -> None:
    async with empty_log(nats_url) as bus:
        async with heard(bus) as ends:
            assert ends.covers(2**63)
        assert not ends.covers(2**63)
