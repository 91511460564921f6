"""A model that only goes on looking up, or ends in words, is asked once more: without tools, for the schema."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Never

import pytest

from contracts.transcript import Transcript, TranscriptSegment, join_segments
from kit.models.base import Brief, Checkpoint, Finished, ModelError, ask
from kit.models.conversation import NO_MORE_LOOKUPS
from kit.models.replay import ReplayModel
from tests.support.openai_server import Answer, Turn, call, message
from tests.support.providers import ANTHROPIC, APIS, OPENAI, Api, answers, provider
from tests.support.toy_kind import CLOSING, SCHEMA, TOY, Weight

WEIGHT = Answer((message('{"grams": 40}'),))
LOOKS = Answer((call("look_up", {"thing": "a bat"}, "a"),))
LOOKS_AGAIN = Answer((call("look_up", {"thing": "a bat"}, "b"),))


async def look_up(arguments: str) -> str:
    return "It weighs 40 g."


def weigh() -> Brief[Never, Weight]:
    step = TOY.weigh
    return Brief(
        step=step.name,
        instructions=step.prompt.text,
        parts=("The thing: a bat",),
        read=step.read,
        turns=step.turns,
        tools=step.tools("a bat"),
        research={"look_up": look_up},
        schema=step.schema,
    )


def offered(api: Api, body: Mapping[str, Any]) -> bool:
    """Whether the model may call a tool."""
    choice = body.get("tool_choice", "auto")
    return "tools" in body and choice not in ("none", {"type": "none"})


def schema_of(api: Api, body: Mapping[str, Any]) -> object:
    """The schema that the answer must have."""
    if api is OPENAI:
        return body.get("text", {}).get("format", {}).get("schema")
    if api is ANTHROPIC:
        return body["output_config"].get("format", {}).get("schema")
    return body.get("response_format", {}).get("json_schema", {}).get("schema")


@pytest.mark.parametrize("api", APIS, ids=repr)
async def test_a_readable_answer_needs_no_closing_question(api: Api) -> None:
    async with provider(api, LOOKS, WEIGHT) as (model, server):
        assert (await ask(model, weigh())).answer == Weight(grams=40)
    assert [offered(api, request.body) for request in server.requests] == [True, True]
    assert [schema_of(api, request.body) for request in server.requests] == [None, None]


@pytest.mark.parametrize(
    ("turns", "asked"),
    [
        ((LOOKS, LOOKS_AGAIN, WEIGHT), 3),
        ((Answer((message("About forty, I would say."),)), WEIGHT), 2),
        ((LOOKS, Answer((message('{"grams": 41}'),)), WEIGHT), 3),
    ],
    ids=["goes on looking up", "ends in words", "says what nobody showed"],
)
@pytest.mark.parametrize("api", APIS, ids=repr)
async def test_the_closing_question_gets_the_answer(api: Api, turns: tuple[Turn, ...], asked: int) -> None:
    async with provider(api, *turns) as (model, server):
        finished = await ask(model, weigh())
    assert finished.answer == Weight(grams=40)
    assert len(server.requests) == asked
    *before, last = [request.body for request in server.requests]
    assert all(offered(api, body) and schema_of(api, body) is None for body in before)
    assert not offered(api, last)
    assert schema_of(api, last) == SCHEMA
    assert CLOSING in json.dumps(last)
    record = Transcript.model_validate_json(finished.transcript)
    assert await ask(ReplayModel(record), weigh()) == finished


async def test_calls_that_are_open_then_are_answered_without_a_look() -> None:
    for api in APIS:
        async with provider(api, LOOKS, LOOKS_AGAIN, WEIGHT) as (model, server):
            finished = await ask(model, weigh())
        last = server.requests[-1].body
        if api is OPENAI:
            last = last | {"input": last["input"][:-1]}
        elif api is ANTHROPIC:
            *said, asked = last["messages"]
            last = last | {"messages": [*said, asked | {"content": asked["content"][:-1]}]}
        else:
            last = last | {"messages": last["messages"][:-1]}
        assert answers(api, last)["b"] == NO_MORE_LOOKUPS
        assert len(Transcript.model_validate_json(finished.transcript).research) == 1


@pytest.mark.parametrize("api", APIS, ids=repr)
async def test_an_answer_that_cannot_be_read_then_ends_the_run_and_is_on_record(api: Api) -> None:
    async with provider(api, LOOKS, LOOKS_AGAIN, Answer((message("Forty."),))) as (model, server):
        with pytest.raises(ModelError) as raised:
            await ask(model, weigh())
    assert (raised.value.failure, raised.value.name, raised.value.reason) == (
        "NON_RETRYABLE",
        "BadAnswer",
        "This is no weight.",
    )
    assert len(server.requests) == 3
    assert len(Transcript.model_validate_json(raised.value.transcript or b"").calls) == 3


@pytest.mark.parametrize("api", APIS, ids=repr)
@pytest.mark.parametrize("known", [1, 2])
async def test_a_run_that_was_cut_short_goes_on_to_the_same_closing_question(api: Api, known: int) -> None:
    turns = (LOOKS, LOOKS_AGAIN, WEIGHT)
    async with provider(api, *turns) as (model, _):
        items = [item async for item in model.converse(weigh())]
    segments = [TranscriptSegment.model_validate_json(each.segment) for each in items if isinstance(each, Checkpoint)]
    done = join_segments(segments[:known])
    async with provider(api, *turns[known:]) as (model, server):
        again = [item async for item in model.converse(replace(weigh(), done=done))]
    whole, resumed = items[-1], again[-1]
    assert isinstance(whole, Finished)
    assert isinstance(resumed, Finished)
    assert resumed.answer == whole.answer
    assert len(server.requests) == len(turns) - known
    assert [call.body for call in Transcript.model_validate_json(resumed.transcript).calls][:known] == [
        call.body for call in Transcript.model_validate_json(whole.transcript).calls
    ][:known]


@pytest.mark.parametrize("said", ["Half a \ud83d smile.", ""], ids=["in words", "only in a call"])
@pytest.mark.parametrize(
    "arguments", [r'{"thing": "a \ud83d bat"}', '{"thing": "a \ud83d bat"}'], ids=["escaped", "plain"]
)
@pytest.mark.parametrize("api", APIS, ids=repr)
async def test_half_a_surrogate_pair_goes_back_as_a_mark(api: Api, arguments: str, said: str) -> None:
    """JSON can spell it and a request cannot hold it."""
    words = (message(said),) if said else ()
    async with provider(api, Answer((*words, call("look_up", arguments, "a"))), WEIGHT) as (model, server):
        finished = await ask(model, weigh())
    assert finished.answer == Weight(grams=40)
    assert len(server.requests) == 2
