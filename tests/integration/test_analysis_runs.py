"""The analysis of a claim killed at every line: no answer is bought twice, and evidence of earlier attempts counts."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress

import pytest

from contracts.v1 import RunStarted
from contracts.v1.assertion import DroppedEvidence
from tests.support.analysing import Reader, World, asking
from tests.support.mortal import Killed, Life
from tests.support.openai_server import HttpError
from tests.support.providers import APIS, Api

ANSWERS = 3
"""Two pages are opened, then it answers."""


async def deliver_until_done(world: World) -> None:
    (event,) = world.requests
    while not world.analysed:
        await world.deliver(event)
        assert world.deliveries < 20


@pytest.mark.requirement("FH-70")
async def test_a_worker_killed_at_any_line_buys_nothing_twice() -> None:
    """FH-70: One claim causes one call within its lifetime, also concurrently."""
    life, whole = Life(), World()
    event = await whole.request()
    async with asking(whole):
        await whole.deliver(event, life)
    for at in range(1, life.contacts + 1):
        world = World()
        event = await world.request()
        async with asking(world) as server:
            with suppress(Killed, BaseExceptionGroup):  # pages are opened in a group of tasks
                await world.deliver(event, Life(at))
            known = [name for name in world.store.objects if "/answers/" in name]
            before = len(server.requests)
            await deliver_until_done(world)
            await world.deliver(event)
        (fact,) = world.analysed
        assert [each.domain for each in fact.citations] == ["office.example", "paper.test"], at
        assert fact.dropped == DroppedEvidence(), f"killed at {at}: pages that an earlier attempt opened do not count"
        assert len(server.requests) <= ANSWERS + 1, at
        if len(server.requests) == ANSWERS + 1:
            assert before > len(known), f"killed at {at}: an answer that was stored was bought again"
        twice = Counter((each.subject(), each.identity()) for each in world.log.events)
        assert twice.most_common(1)[0][1] == 1, at


@pytest.mark.requirement("FH-143")
@pytest.mark.parametrize("api", APIS, ids=repr)
async def test_what_an_earlier_attempt_opened_counts(api: Api) -> None:
    """FH-143: Every quote stands on the page as we read it, else its item is dropped and counted."""
    world = World()
    event = await world.request()
    reader = Reader(api=api)
    reader.trouble = {3: HttpError(503)}
    async with asking(world, reader, api):
        assert await world.deliver(event) is not None, "the provider is away for a while"
        await world.deliver(event)
    (fact,) = world.analysed
    assert (fact.end.attempt, len(world.of(RunStarted))) == (2, 2)
    assert (len(fact.citations), fact.dropped) == (2, DroppedEvidence())
    assert len(reader.requests) == ANSWERS + 1


async def test_a_provider_that_is_away_for_good_fails_the_run() -> None:
    world = World()
    event = await world.request()
    reader = Reader()
    reader.trouble = {number: HttpError(503) for number in range(1, 9)}
    async with asking(world, reader):
        for _ in range(4):
            await world.deliver(event)
    assert (await world.run(event.run_id)).failure is not None
    assert len(reader.requests) == 4
