"""A run that was cut short goes on from its record: nothing that was answered is asked for, or counted, once more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from contracts.transcript import Transcript, TranscriptSegment, join_segments
from kit.models.base import Checkpoint, Decision, Finished, Limits, Model, ModelError
from kit.models.failover import Failover
from kit.models.replay import ReplayModel
from tests.support.openai_server import Answer, HttpError, Turn, call, message
from tests.support.providers import ANTHROPIC, APIS, CHAT, FETCH, OPENAI, Api, Look, answers, brief, provider, submit

USAGE = {"input_tokens": 1000, "output_tokens": 500, "total_tokens": 1500}
FIRST = Answer((call(FETCH, {"url": "u"}, "a"), submit("b")), usage=USAGE)
SECOND = Answer((call(FETCH, {"url": "u"}, "c"),), usage=USAGE)
THIRD = Answer((submit("d"),), usage=USAGE)
LAST = Answer((message("done"),), usage=USAGE)
Told = list[Any]


class Web:
    """Answers lookups, each differently; counts them."""

    def __init__(self) -> None:
        self.asked = 0

    async def fetch(self, arguments: str) -> str:
        self.asked += 1
        return f"page {self.asked}"


def asked(web: Web, done: Transcript | None = None, **given: Any) -> Look:
    return replace(brief(research={FETCH: web.fetch}, **given), done=done)


async def told(model: Model, of: Look) -> Told:
    """What came out, with the failure at the end if it failed."""
    story: Told = []
    try:
        async for step in model.converse(of):
            story.append(step)
    except ModelError as error:
        story.append(error)
    return story


def record(story: Told) -> Transcript:
    """What a later attempt finds of this one, which had no other before it."""
    done = join_segments([TranscriptSegment.model_validate_json(step.segment) for step in advances(story)])
    assert done is not None
    return done


def advances(story: Told) -> Sequence[Checkpoint]:
    return [step for step in story if isinstance(step, Checkpoint)]


def calls_of(story: Told) -> list[str]:
    return [step.call_id for step in story if isinstance(step, Decision)]


async def again(transcript: bytes, done: Transcript | None) -> Told:
    """The same attempt from its record."""

    async def nowhere(arguments: str) -> str:
        raise AssertionError("a replay looks nothing up")

    return await told(
        ReplayModel(Transcript.model_validate_json(transcript)), replace(brief(research={FETCH: nowhere}), done=done)
    )


@pytest.mark.requirement("3.6-03", "2.12-04")
@pytest.mark.parametrize("api", APIS, ids=repr)
async def test_what_was_answered_is_not_asked_again(api: Api) -> None:
    """3.6-03: A run whose worker died is taken up again.
    2.12-04: Each attempt is recorded: tools, answers, citations, reasoning, usage, errors.
    """
    web = Web()
    async with provider(api, FIRST, SECOND, HttpError(500), THIRD, LAST) as (model, server):
        story = await told(model, asked(web))
        assert isinstance(story[-1], ModelError)
        done = record(story)
        assert [len(done.calls), len(done.research)] == [2, 1]
        resumed = await told(model, asked(web, done))
    whole, cut = server.requests[3:], server.requests[:3]
    assert len(whole) == 2, "two answers were on record"
    end = resumed[-1]
    assert isinstance(end, Finished)
    assert calls_of(resumed) == ["b", "d"], "what the record told comes again"
    assert [(step.calls, step.begins) for step in advances(story)] == [(1, True), (2, False)]
    assert [(step.calls, step.begins) for step in advances(resumed)] == [(3, False)]
    assert web.asked == 3, "of the lookups only the one after the last answer is made anew"
    assert answers(api, whole[0].body)["c"] == "page 3"
    assert answers(api, cut[1].body)["a"] == "page 1"
    assert story[-1].usage is not None
    assert (story[-1].usage.total_tokens, end.usage.total_tokens) == (3000, 3000), "each attempt counts its own"
    transcript = Transcript.model_validate_json(end.transcript)
    assert (len(transcript.calls), len(transcript.research), transcript.taken_over) == (4, 2, 2)
    assert transcript.calls[:2] == done.calls
    assert await again(end.transcript, done) == resumed
    assert (await again(end.transcript, None))[-1] != resumed[-1], "a run that took nothing over is another"


@pytest.mark.parametrize("api", APIS, ids=repr)
async def test_segments_follow_one_another_over_any_number_of_attempts(api: Api) -> None:
    web = Web()
    segments: list[TranscriptSegment] = []
    async with provider(api, FIRST, HttpError(500), SECOND, HttpError(500), THIRD, LAST) as (model, server):
        for _ in range(3):
            story = await told(model, asked(web, join_segments(segments)))
            segments += [TranscriptSegment.model_validate_json(step.segment) for step in advances(story)]
    assert len(server.requests) == 6
    assert isinstance(story[-1], Finished)
    assert [each.head is not None for each in segments] == [True, False, False]
    assert Transcript.model_validate_json(story[-1].transcript).taken_over == 2


@pytest.mark.requirement("3.7-05")
async def test_limits_are_those_of_the_whole_run() -> None:
    """3.7-05: A refusal of the model fails at once."""
    web = Web()
    async with provider(OPENAI, FIRST, SECOND, HttpError(500), THIRD) as (model, _):
        done = record(await told(model, asked(web)))
        end = (await told(model, asked(web, done, limits=Limits(tokens=4500))))[-1]
    assert isinstance(end, ModelError)
    assert (end.name, end.usage and end.usage.total_tokens) == ("TokenLimit", 1500)


@pytest.mark.parametrize("change", ["instructions", "parts", "model"])
async def test_a_record_of_another_conversation_is_not_gone_on_from(change: str) -> None:
    web = Web()
    async with provider(OPENAI, FIRST, HttpError(500), FIRST, LAST) as (model, server):
        done = record(await told(model, asked(web)))
        of = asked(web, done)
        if change == "model":
            done = done.model_copy(update={"model": "another"})
            of = replace(of, done=done)
        elif change == "parts":
            of = replace(of, parts=("other",))
        else:
            of = replace(of, instructions="other")
        story = await told(model, of)
    assert len(server.requests) == 4
    assert isinstance(story[-1], Finished)
    assert story[-1].usage.total_tokens == 3000
    assert [step.begins for step in advances(story)] == [True]
    assert Transcript.model_validate_json(story[-1].transcript).taken_over == 0


async def test_a_provider_that_forgot_the_conversation_says_so_for_now() -> None:
    gone = {
        "error": {"message": "Previous response with id 'resp_1' not found.", "code": "previous_response_not_found"}
    }
    web = Web()
    async with provider(OPENAI, FIRST, HttpError(400, gone)) as (model, _):
        failed = (await told(model, asked(web)))[-1]
    assert isinstance(failed, ModelError)
    assert (failed.failure, failed.name) == ("TRANSIENT", "ConversationLost")


DOWN: tuple[Turn, ...] = (HttpError(503),)


@pytest.mark.requirement("3.6-03")
async def test_a_provider_that_stands_in_goes_on_too() -> None:
    """3.6-03: A run whose worker died is taken up again."""
    web = Web()
    async with provider(OPENAI, *DOWN) as (first, one), provider(CHAT, FIRST, HttpError(500), LAST) as (second, other):
        model = Failover(first, second)
        done = record(await told(model, asked(web)))
        assert done.instead_of is not None
        resumed = await told(model, asked(web, done))
    assert (len(one.requests), len(other.requests)) == (1, 3)
    end = resumed[-1]
    assert isinstance(end, Finished)
    assert Transcript.model_validate_json(end.transcript).instead_of == done.instead_of
    assert await again(end.transcript, done) == resumed


async def test_where_the_first_is_down_when_it_should_go_on_the_second_begins_anew() -> None:
    web = Web()
    turns = (FIRST, HttpError(500), HttpError(503))
    async with provider(ANTHROPIC, *turns) as (first, one), provider(CHAT, SECOND, LAST) as (second, other):
        model = Failover(first, second)
        story = await told(model, asked(web))
        assert isinstance(story[-1], ModelError), "it had answered in this attempt, so the other is not asked"
        done = record(story)
        resumed = await told(model, asked(web, done))
    assert (len(one.requests), len(other.requests)) == (3, 2)
    end = resumed[-1]
    assert isinstance(end, Finished)
    transcript = Transcript.model_validate_json(end.transcript)
    assert transcript.taken_over == 0
    assert transcript.instead_of is not None
    assert transcript.instead_of.taken_over == 1
    assert await again(end.transcript, done) == resumed
