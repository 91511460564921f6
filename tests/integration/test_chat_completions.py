"""What is particular to chat completions; what all providers share is in test_model_providers.py."""

from __future__ import annotations

import json

from pydantic import SecretStr

from contracts.transcript import Transcript
from contracts.v1.parts import BlobRef
from kit.models.base import Checkpoint, Decision, Image
from kit.models.replay import ReplayModel
from tests.support.openai_server import Answer, call
from tests.support.providers import ARGUMENTS, CHAT, CLAIM, DONE, FETCH, answers, brief, provider, run, submit

OTHER = ARGUMENTS | {"summary": "They see quite well."}


async def test_the_request_is_as_servers_expect_it() -> None:
    async with provider(CHAT, DONE, key=None) as (model, server):
        await run(model)
    (request,) = server.requests
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == "Bearer none"
    assert [each["role"] for each in request.body["messages"]] == ["system", "user"]
    assert request.body["stream_options"] == {"include_usage": True}
    assert {tool["type"] for tool in request.body["tools"]} == {"function"}
    assert "reasoning_effort" not in request.body


async def test_a_placeholder_for_a_key_is_not_struck_from_what_is_said() -> None:
    async with provider(CHAT, DONE, key=SecretStr("one")) as (model, _):
        _, finished = await run(model)
    assert finished.answer == "done"
    assert json.loads(finished.transcript)["calls"][0]["body"].count("[key]") == 0


async def test_ids_that_a_server_uses_again_for_another_call_are_told_apart() -> None:
    turns = (Answer((submit("call_0"),)), Answer((submit("call_0", OTHER), submit("call_0"))), DONE)
    async with provider(CHAT, *turns) as (model, server):
        outcomes, finished = await run(model)
    assert [each.call_id for each in outcomes] == ["call_0", "call_0-2"]
    assert answers(CHAT, server.requests[2].body).keys() == {"call_0-2", "call_0"}
    said = server.requests[2].body["messages"][-3]
    assert [each["id"] for each in said["tool_calls"]] == ["call_0-2", "call_0"]
    record = Transcript.model_validate_json(finished.transcript)
    assert await retold(record) == [*outcomes, finished]


async def retold(record: Transcript) -> list[object]:
    """What a replay of the record tells, without the notes of how far it is."""
    steps = [step async for step in ReplayModel(record).converse(brief())]
    return [step for step in steps if not isinstance(step, Checkpoint)]


async def test_calls_without_an_id_get_one() -> None:
    async with provider(CHAT, Answer((submit(""), submit("", OTHER))), DONE) as (model, server):
        outcomes, _ = await run(model)
    assert [each.call_id for each in outcomes] == ["call-0-0", "call-0-1"]
    assert answers(CHAT, server.requests[1].body).keys() == {"call-0-0", "call-0-1"}


async def test_pictures_are_only_sent_to_a_model_that_sees() -> None:
    picture = Image(BlobRef(sha256="0" * 64, size_bytes=3, media_type="image/png"), b"png")
    asked = brief(parts=("before ", picture, "after"))
    async with provider(CHAT, DONE, sees_pictures=False) as (model, server):
        await run(model, asked)
    words = server.requests[0].body["messages"][1]["content"]
    assert words.startswith("before after")
    assert "pictures could not be shown" in words


async def test_our_own_search_is_offered_answered_recorded_and_repeated() -> None:
    async def search(arguments: str) -> str:
        return f"found for {arguments}"

    asking = Answer((call("web_search", {"query": "bats"}, "a"), submit("b")))
    async with provider(CHAT, asking, DONE, search=search) as (model, server):
        outcomes, finished = await run(model)
    assert outcomes == [Decision("b", CLAIM)]
    assert server.requests[0].body["tools"][0]["function"]["name"] == "web_search"
    assert answers(CHAT, server.requests[1].body)["a"] == 'found for {"query": "bats"}'
    record = Transcript.model_validate_json(finished.transcript)
    assert [each.name for each in record.research] == ["web_search"]
    assert await retold(record) == [*outcomes, finished]


async def test_without_a_search_none_is_offered_and_lookups_of_the_brief_still_are() -> None:
    async with provider(CHAT, DONE) as (model, server):
        await run(model)
    names = [tool["function"]["name"] for tool in server.requests[0].body["tools"]]
    assert "web_search" not in names
    assert FETCH in names
