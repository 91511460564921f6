"""What was recorded can be run again: the same outcomes and the same record, to the byte, with nobody there to ask."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from hashlib import sha256
from typing import Never

import pytest

from contracts.transcript import MessageText, Transcript
from contracts.v1.parts import BlobRef
from kit.models.base import (
    Checkpoint,
    Decision,
    Finished,
    Image,
    Limits,
    Model,
    ModelError,
    ask,
)
from kit.models.failover import Failover
from kit.models.replay import ReplayModel
from tests.support.openai_server import Answer, Broken, HttpError, Turn, call, message
from tests.support.providers import (
    ANTHROPIC,
    APIS,
    CHAT,
    CLAIM,
    DONE,
    FETCH,
    OLD,
    OPENAI,
    RETAIN,
    REVIEW,
    USER_KEY,
    Api,
    Found,
    Look,
    brief,
    provider,
    submit,
)

Story = list[Decision[Found] | Checkpoint | Finished[str] | tuple[object, ...]]
Research = Mapping[str, Callable[[str], Awaitable[str]]]
USAGE = {"input_tokens": 1000, "output_tokens": 500, "total_tokens": 1500}
PICTURE = Image(BlobRef(sha256=sha256(b"png").hexdigest(), size_bytes=3, media_type="image/png"), b"png")


def restore_parts(transcript: Transcript) -> tuple[str | Image, ...]:
    """The message of a recorded run, for its brief. Shapes: pictures are named but hold no bytes; none are sent."""
    return tuple(
        part.text
        if isinstance(part, MessageText)
        else Image(BlobRef(sha256=part.sha256, size_bytes=part.size_bytes, media_type=part.media_type), b"")
        for part in transcript.input
    )


async def told(model: Model, asked: Look) -> tuple[Story, bytes]:
    """All that came out of a run, and its record."""
    story: Story = []
    try:
        async for step in model.converse(asked):
            story.append(step)
    except ModelError as error:
        said = (error.failure, error.name, error.reason, error.status_code, error.retry_after_s, error.usage)
        return [*story, said], error.transcript or b""
    assert isinstance(story[-1], Finished)
    return story, story[-1].transcript


async def fetch(arguments: str) -> str:
    return f"the page, with \u201cquotes\u201d, for {arguments}"


async def again(record: bytes, asked: Look) -> tuple[Story, bytes]:
    async def nowhere(arguments: str) -> str:
        raise AssertionError(f"a replay looked up {arguments}")

    replayed = replace(asked, research=dict.fromkeys(asked.research, nowhere), limits=Limits(), done=None)
    return await told(ReplayModel(Transcript.model_validate_json(record)), replayed)


CALLS = Answer(
    (
        call(FETCH, {"url": "u"}, "a"),
        call(FETCH, {"url": "v"}, "b"),
        submit("c"),
        call(RETAIN, {"id": str(OLD)}, "d"),
        submit("e", "{"),
        call("unheard_of", {}, "f"),
    ),
    usage=USAGE,
)
SCRIPTS: Mapping[str, tuple[Turn, ...]] = {
    "quiet": (DONE,),
    "long": (
        CALLS,
        Answer((call(FETCH, {"url": "u"}, "g"), submit("a"))),
        Answer((message("d\u00f6ne"),), usage=USAGE),
    ),
    "refused": (CALLS, Answer((message("no", "refusal"),))),
    "cut short": (CALLS, Answer((submit("x"),), status="incomplete", incomplete_reason="max_output_tokens")),
    "empty": (Answer(()),),
    "rate limit": (CALLS, HttpError(429, headers={"retry-after": "30"})),
    "server error": (HttpError(500),),
    "error event": (CALLS, Broken("error", (submit("x"), submit("y")))),
    "silence": (Broken("silence", (submit("x"), submit("y"))),),
    "lost": (Broken("lost", (submit("x"), submit("y"))),),
    "truncated": (Broken("ends", (submit("x"), submit("y"))),),
    "garbage": (Broken("garbage", (submit("x"), submit("y"))),),
}


@pytest.mark.requirement("2.12-04")
@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("api", APIS, ids=repr)
async def test_a_run_told_again_is_the_same_to_the_byte(api: Api, script: str) -> None:
    """2.12-04: Each attempt is recorded: tools, answers, citations, reasoning, usage, errors."""
    asked = brief(research={FETCH: fetch}, limits=Limits(rounds=7, tokens=100_000))
    async with provider(api, *SCRIPTS[script], silence_s=0.5) as (model, _):
        story, record = await told(model, asked)
    assert await again(record, asked) == (story, record)
    assert await again(record, asked) == (story, record)


@pytest.mark.parametrize("api", APIS, ids=repr)
async def test_a_review_told_again_is_the_same_to_the_byte(api: Api) -> None:
    answer = message(json.dumps({"approved": False, "reason": "weak"}))
    async with provider(api, Answer((answer,), usage=USAGE)) as (model, _):
        verdict = await ask(model, REVIEW)
    assert await ask(ReplayModel(Transcript.model_validate_json(verdict.transcript)), REVIEW) == verdict


@pytest.mark.parametrize("api", APIS, ids=repr)
async def test_the_limits_of_then_hold_and_not_those_of_today(api: Api) -> None:
    turns = [Answer((submit(str(number)),), usage=USAGE) for number in range(3)]
    for limits in (Limits(rounds=2), Limits(tokens=3000)):
        async with provider(api, *turns) as (model, _):
            story, record = await told(model, brief(limits=limits))
        assert await again(record, brief()) == (story, record)


@pytest.mark.parametrize("api", APIS, ids=repr)
async def test_pictures_are_not_needed_again(api: Api) -> None:
    asked = brief(parts=("before", PICTURE, "after"))
    refusal = HttpError(400, {"error": {"message": "Invalid image", "code": "invalid_image"}})
    async with provider(api, refusal, DONE) as (model, server):
        story, record = await told(model, asked)
    assert b"cG5n" not in record
    assert "cG5n" in json.dumps(server.requests[0].body)
    assert "cG5n" not in json.dumps(server.requests[1].body)
    transcript = Transcript.model_validate_json(record)
    assert [type(part).__name__ for part in transcript.input] == ["MessageText", "MessagePicture", "MessageText"]
    assert await again(record, brief(parts=restore_parts(transcript))) == (story, record)


@pytest.mark.parametrize("api", APIS, ids=repr)
async def test_what_decides_differently_today_shows(api: Api) -> None:
    def nothing(name: str, arguments: str) -> Never:
        raise ValueError("no longer")

    asked = brief()
    async with provider(api, Answer((submit("a"),)), DONE) as (model, _):
        story, record = await told(model, asked)
    stricter = replace(asked, decide=nothing)
    retold, rewritten = await again(record, stricter)
    assert story[0] == Decision("a", CLAIM)
    assert [type(step) for step in retold] == [Checkpoint, Finished]
    assert rewritten != record


@pytest.mark.parametrize("turn", [HttpError(500), HttpError(429)], ids=repr)
async def test_the_second_provider_stands_in_and_both_are_on_record(turn: Turn) -> None:
    asked = brief(research={FETCH: fetch})
    async with provider(OPENAI, turn) as (first, one), provider(ANTHROPIC, CALLS, DONE) as (second, other):
        model = Failover(first, second)
        story, record = await told(model, asked)
        assert model.name == first.name
    assert (len(one.requests), len(other.requests)) == (1, 2)
    assert isinstance(story[-1], Finished)
    assert story[-1].model.provider == "anthropic"
    transcript = Transcript.model_validate_json(record)
    assert transcript.protocol == "anthropic"
    assert transcript.instead_of is not None
    assert transcript.instead_of.protocol == "openai_responses"
    assert transcript.instead_of.error is not None
    assert await again(record, asked) == (story, record)


@pytest.mark.requirement("3.7-02")
@pytest.mark.parametrize(
    ("limits", "turns", "why"),
    [
        (Limits(), (HttpError(401),), "refused the API key"),
        (Limits(), (HttpError(404),), "answered 404"),
        (Limits(cost_micro_usd=1_000_000), (), "no price"),
    ],
    ids=["key", "model", "price"],
)
async def test_a_spare_that_is_set_up_wrongly_does_not_make_an_outage_the_end(
    limits: Limits, turns: tuple[Turn, ...], why: str
) -> None:
    """3.7-02: Attempts follow after 10, 20 and 40 seconds."""
    busy = HttpError(503, headers={"retry-after": "7"})
    asked = brief(limits=limits)
    async with provider(OPENAI, busy, model="gpt-5.4") as (first, _), provider(CHAT, *turns) as (second, _):
        story, record = await told(Failover(first, second), asked)
        verdict = await failed_review(Failover(first, second))
    failure, name, reason, status, wait_s, _ = story[0]  # type: ignore[misc]  # a failure has six parts
    assert (failure, name, status, wait_s) == ("TRANSIENT", "Http503", 503, 7.0)
    assert isinstance(reason, str)
    assert "answered 503" in reason
    assert why in reason
    transcript = Transcript.model_validate_json(record)
    assert transcript.error is not None
    assert transcript.instead_of is not None
    assert await again(record, asked) == (story, record)
    assert verdict.failure == "TRANSIENT"


async def test_if_both_fail_after_the_second_was_asked_in_earnest_its_failure_counts() -> None:
    turns = (Answer((submit("a"),)), Answer((message("no", "refusal"),)))
    async with provider(OPENAI, HttpError(503)) as (first, _), provider(CHAT, *turns) as (second, _):
        story, record = await told(Failover(first, second), brief())
    assert story[-1][:2] == ("NON_RETRYABLE", "Refusal")  # type: ignore[index]  # it ends with a failure
    assert Transcript.model_validate_json(record).instead_of is not None
    assert await again(record, brief()) == (story, record)


async def failed_review(model: Model) -> ModelError:
    with pytest.raises(ModelError) as raised:
        await ask(model, REVIEW)
    return raised.value


@pytest.mark.parametrize(
    "turns",
    [
        (HttpError(401),),
        (Broken("silence"),),
        (Broken("lost", (submit("a"), submit("b"))),),
        (CALLS, HttpError(500)),
        (Answer((message("no", "refusal"),)),),
    ],
    ids=repr,
)
async def test_nothing_that_may_have_been_paid_for_is_asked_again(turns: tuple[Turn, ...]) -> None:
    asked = brief(research={FETCH: fetch})
    async with provider(OPENAI, *turns, silence_s=0.5) as (first, _), provider(CHAT, DONE) as (second, other):
        story, record = await told(Failover(first, second), asked)
    assert other.requests == []
    assert isinstance(story[-1], tuple)
    assert Transcript.model_validate_json(record).instead_of is None


async def test_a_review_fails_over_too_and_a_readers_key_never_does() -> None:
    answer = Answer((message(json.dumps({"approved": True, "reason": ""})),))
    async with (
        provider(OPENAI, HttpError(500), HttpError(500)) as (first, _),
        provider(CHAT, answer) as (second, other),
    ):
        model = Failover(first, second)
        verdict = await ask(model, REVIEW)
        with pytest.raises(ModelError) as raised:
            await ask(model, REVIEW, USER_KEY)
    assert verdict.answer.approved
    assert Transcript.model_validate_json(verdict.transcript).instead_of is not None
    assert await ask(ReplayModel(Transcript.model_validate_json(verdict.transcript)), REVIEW) == verdict
    assert raised.value.status_code == 500
    assert len(other.requests) == 1
