"""What is particular to the Responses API; what all providers share is in test_model_providers.py."""

from __future__ import annotations

import json

import pytest
from pydantic import SecretStr

from contracts.transcript import Transcript
from kit.models.audit import rows
from kit.models.base import Decision, KeyAccepted, KeyRefused, Limits, ModelError, ask
from tests.support.openai_server import Answer, Broken, HttpError, Turn, message
from tests.support.providers import (
    CLAIM,
    DONE,
    OPENAI,
    REVIEW,
    SUBMIT,
    USER_KEY,
    VERDICT_SCHEMA,
    brief,
    provider,
    run,
    submit,
)


@pytest.mark.requirement("2.2-04", "2.4-01", "2.4.1-01")
async def test_the_request_holds_instructions_article_web_search_and_strict_tools() -> None:
    """2.2-04: The provider's own tools are used.
    2.4-01: One conversation of the model over the whole post.
    2.4.1-01: The model gives quote and context, no offsets.
    """
    async with provider(OPENAI, DONE) as (model, server):
        await run(model)
    (request,) = server.requests
    assert request.path == "/v1/responses"
    assert request.body["instructions"] == "instructions"
    assert request.body["input"] == "the article"
    assert request.body["reasoning"] == {"effort": "medium", "summary": "detailed"}
    assert "previous_response_id" not in request.body
    search, submitting, *_ = request.body["tools"]
    assert search == {"type": "web_search"}
    assert (submitting["type"], submitting["name"], submitting["strict"]) == ("function", SUBMIT, True)
    assert set(submitting["parameters"]["required"]) == {"text", "context", "summary", "reasoning", "sources"}


async def test_later_questions_refer_to_the_answer_before_and_hold_only_outputs() -> None:
    async with provider(OPENAI, Answer((submit("a"),)), DONE) as (model, server):
        await run(model)
    first, second = server.requests
    assert second.body["previous_response_id"] == "resp_1"
    assert second.body["tools"] == first.body["tools"]
    assert [item["type"] for item in second.body["input"]] == ["function_call_output"]


async def test_a_call_that_only_the_final_response_names_is_not_lost() -> None:
    async with provider(OPENAI, Answer((submit("a"),), announced=False), DONE) as (model, _):
        outcomes, _ = await run(model)
    assert outcomes == [Decision("a", CLAIM)]


async def test_the_lower_limit_of_rounds_counts() -> None:
    turns = [Answer((submit(str(number)),)) for number in range(4)]
    async with provider(OPENAI, *turns, max_rounds=2) as (model, server):
        with pytest.raises(ModelError) as raised:
            await run(model, brief(limits=Limits(rounds=3)))
    assert raised.value.name == "RoundLimit"
    assert len(server.requests) == 2


async def test_an_answer_with_an_error_of_ours_in_it_is_final() -> None:
    failed = Answer((), status="failed", error={"code": "invalid_image", "message": "x"})
    async with provider(OPENAI, failed) as (model, _):
        with pytest.raises(ModelError) as raised:
            await run(model)
    assert raised.value.failure == "NON_RETRYABLE"


@pytest.mark.parametrize(
    "turn",
    [
        Answer((message("done") | {"content": None},)),
        Answer((message("done"),), usage={"input_tokens": 1, "output_tokens": 1, "input_tokens_details": ["odd"]}),
    ],
    ids=["content", "usage"],
)
async def test_an_answer_of_another_shape_cannot_be_read(turn: Turn) -> None:
    async with provider(OPENAI, turn) as (model, _):
        with pytest.raises(ModelError) as raised:
            await run(model)
    assert (raised.value.failure, raised.value.name) == ("NON_RETRYABLE", "Unreadable")


async def test_only_searches_are_billed_besides_tokens() -> None:
    usage = {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}
    searches = tuple(
        {"type": "web_search_call", "id": f"ws_{kind}", "status": "completed", "action": {"type": kind, "query": "q"}}
        for kind in ("search", "open_page", "search")
    )
    async with provider(OPENAI, Answer((*searches, message("done")), usage=usage)) as (model, _):
        _, finished = await run(model)
    assert finished.usage.cost_micro_usd == 20_000
    items = rows(Transcript.model_validate_json(finished.transcript)).output_items
    assert [item.tool_call.tool_type for item in items if item.tool_call] == ["web_search_call"] * 3


async def test_the_operators_organisation_is_not_sent_with_a_readers_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-operator")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-operator")
    async with provider(OPENAI, DONE) as (model, server):
        await run(model, key=USER_KEY)
    assert not {"openai-organization", "openai-project"} & set(server.requests[0].headers)


@pytest.mark.parametrize("key", [None, SecretStr("")])
async def test_without_a_key_nothing_is_sent(key: SecretStr | None) -> None:
    async with provider(OPENAI, key=key) as (model, server):
        with pytest.raises(ModelError) as raised:
            await run(model)
    assert (raised.value.failure, raised.value.name) == ("NON_RETRYABLE", "MissingKey")
    assert server.requests == []


async def test_a_review_has_no_tools_and_a_named_strict_shape() -> None:
    async with provider(OPENAI, Answer((message('{"approved": true, "reason": ""}'),))) as (model, server):
        await ask(model, REVIEW)
    body = server.requests[0].body
    assert body["input"] == "the claim"
    assert body["text"]["format"] == {
        "type": "json_schema",
        "name": "review",
        "schema": dict(VERDICT_SCHEMA),
        "strict": True,
    }


async def test_a_key_that_works_is_accepted_after_one_tiny_call() -> None:
    tiny = Answer((message("OK"),), status="incomplete", incomplete_reason="max_output_tokens")
    async with provider(OPENAI, tiny) as (model, server):
        assert await model.probe(USER_KEY) == KeyAccepted()
    (request,) = server.requests
    assert request.body["max_output_tokens"] == 16
    assert request.body["store"] is False
    assert request.headers["authorization"] == f"Bearer {USER_KEY.get_secret_value()}"


@pytest.mark.parametrize(
    ("turn", "status"),
    [
        (HttpError(401), "invalid"),
        (HttpError(403), "authenticated_restricted"),
        (HttpError(429), "error"),
        (HttpError(404), "error"),
        (HttpError(500), "error"),
        (Broken("lost"), "error"),
    ],
    ids=repr,
)
async def test_a_key_that_does_not_work_is_described_without_showing_it(turn: Turn, status: str) -> None:
    async with provider(OPENAI, turn) as (model, _):
        result = await model.probe(USER_KEY)
    assert isinstance(result, KeyRefused)
    assert result.status == status
    assert result.message
    assert USER_KEY.get_secret_value() not in result.message


@pytest.mark.parametrize("key", ["", "sk-short", "not-a-key-at-all-0123456789", "sk-0123456789 0123456789 01"])
async def test_a_key_of_the_wrong_form_is_not_sent(key: str) -> None:
    async with provider(OPENAI) as (model, server):
        result = await model.probe(SecretStr(key))
    assert isinstance(result, KeyRefused)
    assert result.status == "format_invalid"
    assert server.requests == []


async def test_a_key_that_the_provider_quotes_is_struck_however_it_is_written() -> None:
    odd = SecretStr('sk-"quoted"\\and-more-of-it')
    said = message(f"the key {odd.get_secret_value()} was used")
    async with provider(OPENAI, Answer((said,)), key=odd) as (model, _):
        _, finished = await run(model)
    assert b"quoted" not in finished.transcript
    assert "[key]" in json.loads(finished.transcript)["calls"][0]["body"]
