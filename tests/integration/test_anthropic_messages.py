"""What is particular to the Messages API; what all providers share is in test_model_providers.py."""

from __future__ import annotations

import pytest

from contracts.transcript import Transcript
from kit.models.audit import rows
from kit.models.base import Decision, ask
from tests.support.openai_server import Answer, message
from tests.support.providers import ANTHROPIC, CLAIM, DONE, KEY, REVIEW, provider, run, submit

SEARCH = {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "bats"}}
RESULT = {
    "type": "web_search_tool_result",
    "tool_use_id": "srv_1",
    "content": [{"type": "web_search_result", "url": "https://e.org", "title": "E", "encrypted_content": "abc"}],
}
THOUGHT = {"type": "thinking", "thinking": "Do they see?", "signature": "sig"}


async def test_the_request_is_as_the_api_asks_for_it() -> None:
    async with provider(ANTHROPIC, DONE) as (model, server):
        await run(model)
    (request,) = server.requests
    assert request.path == "/v1/messages"
    assert request.headers["authorization"] == f"Bearer {KEY.get_secret_value()}"
    body = request.body
    assert body["system"] == "instructions"
    assert body["messages"] == [{"role": "user", "content": "the article"}]
    assert body["tools"][0] == {"type": "web_search_20250305", "name": "web_search"}
    assert body["tools"][1].keys() == {"name", "description", "input_schema"}
    assert body["thinking"] == {"type": "adaptive", "display": "summarized"}
    assert body["max_tokens"] == 64_000
    assert "tool_choice" not in body


async def test_what_the_environment_holds_for_other_programs_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "somebody-elses-token")
    async with provider(ANTHROPIC, DONE) as (model, server):
        await run(model)
    assert "somebody-elses-token" not in repr(server.requests[0].headers)


async def test_blocks_go_back_exactly_as_they_came() -> None:
    first = Answer((THOUGHT, SEARCH, RESULT, message("I looked."), submit("a")))
    async with provider(ANTHROPIC, first, DONE) as (model, server):
        outcomes, _ = await run(model)
    assert outcomes == [Decision("a", CLAIM)]
    question, said, results = server.requests[1].body["messages"]
    assert question == server.requests[0].body["messages"][0]
    assert said["role"] == "assistant"
    assert said["content"][:3] == [THOUGHT, SEARCH, RESULT]
    assert said["content"][3] == {"type": "text", "text": "I looked."}
    assert said["content"][4]["input"] == CLAIM.model_dump(mode="json")
    assert [block["tool_use_id"] for block in results["content"]] == ["a"]


async def test_a_paused_answer_is_asked_to_go_on() -> None:
    paused = Answer((SEARCH,), paused=True)
    async with provider(ANTHROPIC, paused, Answer((RESULT, message("done")))) as (model, server):
        _, finished = await run(model)
    assert finished.answer == "done"
    assert [each["role"] for each in server.requests[1].body["messages"]] == ["user", "assistant"]


async def test_searches_cache_and_thinking_are_on_the_bill_and_in_the_audit() -> None:
    usage = {
        "input_tokens": 1_000,
        "input_tokens_details": {"cached_tokens": 400},
        "output_tokens": 100,
        "output_tokens_details": {"reasoning_tokens": 60},
        "total_tokens": 1_100,
    }
    async with provider(ANTHROPIC, Answer((THOUGHT, SEARCH, RESULT, message("done")), usage=usage)) as (model, _):
        _, finished = await run(model)
    assert finished.usage.cost_micro_usd == 600 * 2 + 400 * 2 // 10 + 100 * 10
    audit = rows(Transcript.model_validate_json(finished.transcript))
    assert audit.usage == finished.usage
    assert [item.item_type for item in audit.output_items] == [
        "thinking",
        "server_tool_use",
        "web_search_tool_result",
        "text",
    ]
    assert audit.output_items[0].reasoning_summaries == ("Do they see?",)
    called = audit.output_items[2].tool_call
    assert called is not None
    assert (called.provider_tool_call_id, called.raw_payload) == ("srv_1", RESULT)


async def test_a_review_is_shaped_by_the_output_format_and_forces_no_tool() -> None:
    async with provider(ANTHROPIC, Answer((message('{"approved": true, "reason": ""}'),))) as (model, server):
        assert (await ask(model, REVIEW)).answer.approved
    body = server.requests[0].body
    assert body["output_config"]["format"]["type"] == "json_schema"
    assert not {"tools", "tool_choice"} & body.keys()
