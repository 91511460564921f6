"""A provider that keeps a stream open without saying anything, or never comes to an end, is not waited for for ever."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from contracts.transcript import Transcript
from kit.models.base import Model, ModelError, ask
from kit.models.provider import LIVE, Provider
from kit.models.replay import ReplayModel
from kit.models.timeouts import Timeouts
from tests.support.openai_server import Answer, Broken, OpenAIServer, message, openai_server
from tests.support.providers import APIS, KEY, REVIEW, Api, brief, run, submit

PINGS = {"openai": b": keep-alive\n\n", "anthropic": b'event: ping\ndata: {"type": "ping"}\n\n', "chat": b": busy\n\n"}
WITHIN_S = 60.0
EVERY_S = 0.05


@asynccontextmanager
async def dripping(api: Api, drop: bytes, timeouts: Timeouts) -> AsyncIterator[Provider]:
    """A model whose provider begins an answer and then sends the same for ever."""
    server = OpenAIServer(api.speech(), drip=drop, every_s=EVERY_S)
    async with openai_server(server):
        server.script(*[Broken("drips")] * 3)
        model = api.make(server.url, key=KEY, deps=replace(LIVE, timeouts=timeouts))
        try:
            yield model
        finally:
            await model.aclose()


async def failure(model: Model) -> ModelError:
    async with asyncio.timeout(WITHIN_S):
        with pytest.raises(ModelError) as raised:
            await run(model)
    return raised.value


@pytest.mark.requirement("3.7-02")
@pytest.mark.parametrize("api", APIS, ids=repr)
async def test_pings_are_silence(api: Api) -> None:
    """3.7-02: Attempts follow after 10, 20 and 40 seconds."""
    async with dripping(api, PINGS[api.protocol], Timeouts(silence_s=0.4)) as model:
        failed = await failure(model)
        with pytest.raises(ModelError) as reviewed:
            await ask(model, REVIEW)
    assert (failed.failure, failed.name) == ("TRANSIENT", "Timeout")
    assert reviewed.value.name == "Timeout"
    assert failed.transcript is not None
    transcript = Transcript.model_validate_json(failed.transcript)
    assert transcript.calls[-1].ending == "timeout"
    assert (await failure(ReplayModel(transcript))).transcript == failed.transcript


@pytest.mark.requirement("3.7-02")
@pytest.mark.parametrize("api", APIS, ids=repr)
@pytest.mark.parametrize("timeouts", [Timeouts(call_s=0.4), Timeouts(run_s=0.4)], ids=["call", "run"])
async def test_an_answer_without_end_ends(api: Api, timeouts: Timeouts) -> None:
    """3.7-02: Attempts follow after 10, 20 and 40 seconds."""
    words = b"".join(api.speech().item(0, message("and so on"), "r")) if api.protocol == "openai" else b"data: {}\n\n"
    async with dripping(api, words, timeouts) as model:
        failed = await failure(model)
    assert (failed.failure, failed.name) == ("TRANSIENT", "Timeout")


@pytest.mark.parametrize("api", APIS, ids=repr)
async def test_a_run_has_no_more_time_than_is_left(api: Api) -> None:
    """Its second answer comes late in the run; an answer alone would have had the time."""
    gate = asyncio.Event()
    server = OpenAIServer(api.speech())
    async with openai_server(server):
        server.script(Answer((submit("a"),)), Answer((submit("b"),), gate=gate))
        model = api.make(server.url, key=KEY, deps=replace(LIVE, timeouts=Timeouts(run_s=0.6)))
        failed = await failure(model)
        gate.set()
        await model.aclose()
    assert failed.name == "Timeout"
    assert brief().turns.with_tools > len(server.requests)
