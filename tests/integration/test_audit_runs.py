"""A run of an audit's step: resumed, retried and killed at every line, and bought once."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from typing import Final
from uuid import UUID

import pytest

from contracts.v1 import RunAdvanced, RunFailed, RunRetryScheduled, RunStarted
from contracts.v1.event import Event
from contracts.v1.run import RunEnd, StageModel
from kit.ephemeral import EphemeralTexts, round_up
from kit.errors import Retry, Superseded
from kit.models.base import Model
from kit.settings import SettingsError
from lifecycle.audits.runs import Run, fold_run
from services.auditor.domain import AlreadyFailed, Answered, RunRequest
from services.auditor.runs import Runs
from tests.support.factories import NOW
from tests.support.fakes import MemoryLog, StillClock
from tests.support.mortal import Killed, Life, Store
from tests.support.openai_server import Answer, HttpError, OpenAIServer, Request, Turn, call, message, openai_server
from tests.support.providers import APIS, KEY, OPENAI, Api
from tests.support.toy_kind import CLOSING, TOY, Weight
from tests.support.toy_worker import look_up

RUN: Final = UUID(int=7)
JOB: Final = UUID(int=8)
ASKED: Final = StageModel(step=TOY.weigh.name, provider="openai", model="gpt-5.4", max_tokens=1_000, temperature=0.3)

WANTED: Final = RunRequest(
    RUN,
    JOB,
    TOY.weigh,
    TOY.rules,
    "a bat",
    ASKED,
    NOW + timedelta(hours=24),
    str(RUN),
    call_micro_usd=1_000_000,
    run_s=60,
    research={"look_up": look_up},
)


class World:
    """A log and a store, the deliveries of one request, and the models that the instance has."""

    def __init__(self) -> None:
        self.log = MemoryLog()
        self.store = Store()
        self.clock = StillClock(NOW)
        self.deliveries = 0
        self.answers: list[tuple[Weight, RunEnd]] = []
        self.failed_before: list[RunFailed] = []
        self.model: Model | None = None

    async def run(self, run_id: UUID) -> Run:
        self.store.life.touch()
        return fold_run(run_id, [(each.sequence, each.event) for each in self.log.entries])

    def open(self, chosen: StageModel) -> Model:
        assert chosen == ASKED
        if self.model is None:
            raise SettingsError("OPENAI_API_KEY is not set")
        return self.model

    async def deliver(self, life: Life | None = None, worker: str = "one") -> Retry | None:
        """One delivery; whether it was put off."""
        self.deliveries += 1
        self.store.life = life or Life()
        runs = Runs(self, EphemeralTexts(self.store, self.clock), self, self.clock, worker)
        try:
            async for item in runs.carry_out(WANTED, self.deliveries):
                self.store.life.touch()
                match item:
                    case Answered():
                        self.answers.append((item.answer, item.end))
                    case AlreadyFailed():
                        self.failed_before.append(item.end)
                    case _:
                        self.log.publish(item)
                self.store.life.touch()
        except Retry as error:
            self.clock.pass_by(error.after_s)
            return error
        return None

    async def deliver_until_done(self) -> None:
        while not self.answers and not self.of(RunFailed):
            await self.deliver()
            assert self.deliveries < 20

    def of(self, kind: type[Event]) -> list[Event]:
        return [event for event in self.log.events if isinstance(event, kind)]


class Scripted(OpenAIServer):
    """Looks something up as often as it may, and answers when it must; with trouble where there is some."""

    trouble: Callable[[int], Turn | None] = staticmethod(lambda _: None)

    def turn(self, request: Request) -> Turn:
        body = str(request.body)
        if CLOSING in body:
            return self.trouble(len(self.requests)) or Answer((message('{"grams": 40}'),))
        looked = Answer((call("look_up", {"thing": "a bat"}, f"c{body.count('It weighs 40 g.')}"),))
        return self.trouble(len(self.requests)) or looked


@asynccontextmanager
async def asking(
    world: World, api: Api = OPENAI, trouble: Callable[[int], Turn | None] = lambda _: None
) -> AsyncIterator[Scripted]:
    scripted = Scripted(api.speech())
    scripted.trouble = trouble
    async with openai_server(scripted) as server:
        model = api.make(server.url, key=KEY, silence_s=5, **({"model": "gpt-5.4"} if api.is_chat else {}))
        world.model = model
        try:
            yield scripted
        finally:
            await model.aclose()


@pytest.mark.parametrize("api", APIS, ids=repr)
async def test_it_advances_and_is_made_to_answer(api: Api) -> None:
    world = World()
    async with asking(world, api) as server:
        assert await world.deliver() is None
    ((answer, end),) = world.answers
    assert (answer.grams, end.run_id, end.attempt) == (40, RUN, 1)
    assert end.transcript is not None
    assert end.transcript.until == round_up(NOW + timedelta(hours=24))
    (start,) = world.of(RunStarted)
    assert isinstance(start, RunStarted)
    assert (start.subject_id, start.prompt_version, start.rules) == (JOB, TOY.weigh.prompt.version, TOY.rules)
    assert len(world.of(RunAdvanced)) == 2
    assert len(server.requests) == 3, "two turns with the tool, and the closing question"
    assert all("1000" in str(each.body) for each in server.requests), "the stage's longest answer"


async def test_what_fails_for_now_goes_on_from_where_it_had_come() -> None:
    world = World()
    async with asking(world, trouble=lambda n: HttpError(503) if n in (1, 3) else None) as server:
        await world.deliver_until_done()
    assert len(world.answers) == 1
    retries = [event for event in world.of(RunRetryScheduled) if isinstance(event, RunRetryScheduled)]
    assert [(each.reason, each.status_code) for each in retries] == [("model_unavailable", 503)] * 2
    assert len(server.requests) == 3 + 2, "only what failed was asked again"


@pytest.mark.parametrize(
    ("turn", "reason"),
    [
        (HttpError(503), "model_unavailable"),
        (HttpError(401), "model_unavailable"),
        (Answer((message("no weight"),)), "invalid_answer"),
    ],
)
async def test_what_fails_for_good_says_why_as_a_code_and_stays_so(turn: Turn, reason: str) -> None:
    world = World()
    async with asking(world, trouble=lambda _: turn) as server:
        await world.deliver_until_done()
        asked = len(server.requests)
        await world.deliver()
    (failed,) = world.of(RunFailed)
    assert world.failed_before == [failed]
    assert isinstance(failed, RunFailed)
    assert (failed.reason, len(server.requests)) == (reason, asked)
    assert failed.usage is not None, "what it cost counts, though nothing came of it"


async def test_an_instance_without_a_provider_tries_later() -> None:
    world = World()
    put_off = await world.deliver()
    assert put_off is not None
    (retry,) = world.of(RunRetryScheduled)
    assert isinstance(retry, RunRetryScheduled)
    assert (retry.reason, retry.error_name) == ("model_unavailable", "NotConfigured")
    world.clock.pass_by(-4)
    early = await world.deliver()
    assert early is not None
    assert (early.after_s, len(world.of(RunStarted))) == (4, 1), "it comes back when the next attempt is due"


async def test_another_worker_with_a_later_delivery_has_it() -> None:
    world = World()
    async with asking(world):
        with suppress(Killed):
            await world.deliver(Life(4))
        world.deliveries = 5
        with suppress(Killed):
            await world.deliver(Life(4), worker="two")
        world.deliveries = 1
        with pytest.raises(Superseded):
            await world.deliver()


async def test_a_worker_killed_at_any_line_repeats_nothing_that_was_stored() -> None:
    life, whole = Life(), World()
    async with asking(whole):
        await whole.deliver(life)
    for at in range(1, life.contacts):
        world = World()
        async with asking(world) as server:
            with suppress(Killed):
                await world.deliver(Life(at))
            known = [name for name in world.store.objects if "/answers/" in name]
            before = len(server.requests)
            if not world.answers:
                await world.deliver_until_done()
        assert len(world.answers) == 1, at
        assert len(server.requests) <= 3 + 1, at
        if len(server.requests) == 3 + 1:
            assert before > len(known), f"killed at {at}: an answer that was stored was bought again"
        twice = Counter((event.subject(), event.identity()) for event in world.log.events)
        assert twice.most_common(1)[0][1] == 1, at
