"""A kind of one file, through the shared life of runs: retried, killed at every line, made to answer, never a flag."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import pytest

from analyses import FLAGGING
from contracts.v1 import RunFailed, RunRetryScheduled
from kit.ephemeral import EphemeralTexts
from kit.errors import Retry
from kit.models.base import Model
from lifecycle.audits.runs import Run, fold_run
from tests.support.factories import NOW
from tests.support.fakes import MemoryLog, StillClock
from tests.support.mortal import Killed, Life, Store
from tests.support.openai_server import Answer, HttpError, OpenAIServer, Request, Turn, call, message, openai_server
from tests.support.providers import APIS, KEY, OPENAI, Api
from tests.support.toy_kind import CLOSING, TOY
from tests.support.toy_worker import ToyWeighed, ToyWorker, run_of

THING: Final = UUID(int=9)
WEIGHT: Final = Answer((message('{"grams": 40}'),))


class World:
    """A log and a store, and the deliveries of one request."""

    def __init__(self) -> None:
        self.log = MemoryLog()
        self.store = Store()
        self.clock = StillClock(NOW)
        self.deliveries = 0

    async def run(self, run_id: UUID) -> Run:
        self.store.life.touch()
        about = [each for each in self.log.entries if each.event.key() == str(run_id)]
        return fold_run(run_id, [(each.sequence, each.event) for each in about])

    async def is_weighed(self, run_id: UUID) -> bool:
        self.store.life.touch()
        return any(isinstance(event, ToyWeighed) and event.end.run_id == run_id for event in self.log.events)

    async def deliver(self, model: Model, life: Life | None = None) -> Retry | None:
        """One delivery; whether it was put off, and for how long that lasted."""
        self.deliveries += 1
        self.store.life = life or Life()
        worker = ToyWorker(self, EphemeralTexts(self.store, self.clock), model, self.clock)
        try:
            async for fact in worker.on_requested(THING, NOW, self.deliveries):
                self.store.life.touch()
                self.log.publish(fact)
                self.store.life.touch()
        except Retry as error:
            self.clock.pass_by(error.after_s)
            return error
        return None

    async def deliver_until_done(self, model: Model) -> None:
        while await self.deliver(model) is not None:
            assert self.deliveries < 20

    def weights(self) -> list[tuple[str, int]]:
        return [(event.step, event.grams) for event in self.log.events if isinstance(event, ToyWeighed)]


def answer(asked: Request) -> Turn:
    """A model that looks something up as often as it may, and answers when it must."""
    body = str(asked.body)
    if "TOY/weigh" not in str(asked.body.get("instructions", asked.body.get("system", body))) or CLOSING in body:
        return WEIGHT
    return Answer((call("look_up", {"thing": "a bat"}, f"c{body.count('It weighs 40 g.')}"),))


class Scripted(OpenAIServer):
    """Answers by what it is asked, with trouble where there is some."""

    trouble: Callable[[int], Turn | None] = staticmethod(lambda _: None)

    def turn(self, request: Request) -> Turn:
        return self.trouble(len(self.requests)) or answer(request)


@asynccontextmanager
async def asking(
    api: Api, trouble: Callable[[int], Turn | None] = lambda _: None
) -> AsyncIterator[tuple[Model, Scripted]]:
    scripted = Scripted(api.speech())
    scripted.trouble = trouble
    async with openai_server(scripted) as server:
        model = api.make(server.url, key=KEY, silence_s=5, **({"model": "gpt-5.4"} if api.is_chat else {}))
        try:
            yield model, scripted
        finally:
            await model.aclose()


ALL: Final = [(step.name, 40) for step in TOY.steps]


@pytest.mark.parametrize("api", APIS, ids=repr)
async def test_three_steps_and_the_second_is_made_to_answer(api: Api) -> None:
    world = World()
    async with asking(api) as (model, server):
        await world.deliver_until_done(model)
    assert world.weights() == ALL
    assert len(server.requests) == 1 + 3 + 1, "two turns with the tool, and the closing question"
    assert world.deliveries == 1
    assert await world.deliver(model) is None, "a redelivery finds all of it in the log"
    assert len(server.requests) == 5


@pytest.mark.parametrize("api", APIS, ids=repr)
async def test_what_fails_for_now_is_tried_again_from_where_it_had_come(api: Api) -> None:
    world = World()
    async with asking(api, lambda n: HttpError(503) if n in (1, 4) else None) as (model, server):
        await world.deliver_until_done(model)
    assert world.weights() == ALL
    assert sum(isinstance(event, RunRetryScheduled) for event in world.log.events) == 2
    assert len(server.requests) == 5 + 2, "only what failed was asked again"


async def test_what_fails_every_time_ends() -> None:
    world = World()
    async with asking(OPENAI, lambda _: HttpError(503)) as (model, server):
        await world.deliver_until_done(model)
    (end,) = (event for event in world.log.events if isinstance(event, RunFailed))
    assert end.run_id == run_of(THING, TOY.guess.name)
    assert len(server.requests) == 4
    assert world.weights() == []


async def contacts() -> int:
    """How often a whole life touches the world."""
    world, life = World(), Life()
    async with asking(OPENAI) as (model, _):
        await world.deliver(model, life)
    return life.contacts


async def test_a_worker_killed_at_any_line_repeats_nothing_that_was_stored() -> None:
    for at in range(1, await contacts() + 1):
        world = World()
        async with asking(OPENAI) as (model, server):
            with suppress(Killed):
                await world.deliver(model, Life(at))
            known = {name: data for name, data in world.store.objects.items() if "/answers/" in name}
            before = len(server.requests)
            await world.deliver_until_done(model)
        assert world.weights() == ALL, at
        assert len(server.requests) <= 5 + 1, at
        if len(server.requests) == 5 + 1:
            assert before > len(known), f"killed at {at}: an answer that was stored was bought again"
        twice = Counter((event.subject(), event.identity()) for event in world.log.events)
        assert twice.most_common(1)[0][1] == 1, at


async def test_no_words_are_left_when_their_hour_has_come() -> None:
    world = World()
    async with asking(OPENAI) as (model, _):
        await world.deliver_until_done(model)
    texts = EphemeralTexts(world.store, world.clock)
    assert world.store.objects
    assert await texts.sweep(NOW + timedelta(hours=24)) == 0
    assert await texts.sweep(datetime(2099, 1, 1, tzinfo=NOW.tzinfo)) > 0
    assert world.store.objects == {}
    facts = "".join(event.model_dump_json() for event in world.log.events)
    assert not any(word in facts for word in ("bat", "weighs", "JSON")), "a fact holds no words"


def test_it_may_not_be_asked_of_a_post() -> None:
    assert TOY.name not in {kind.name for kind in FLAGGING}, "so no version gets a candidate row for it"
