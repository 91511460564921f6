"""What is particular to Google's address for chat completions; what all providers share is in test_model_providers.py.

Sources: ai.google.dev/gemini-api/docs/openai and /thought-signatures, google.rpc.Status, and reports of its users.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from contracts.transcript import Price
from kit.model_settings import GoogleSettings
from kit.models.base import Decision, Limits, ModelError, Sampling, ask
from kit.models.provider import Provider, ProviderDeps
from tests.support.openai_server import Answer, Broken, HttpError, OpenAIServer, Request, Turn, message, openai_server
from tests.support.providers import (
    ARGUMENTS,
    CLAIM,
    DONE,
    FETCH,
    GOOGLE,
    KEY,
    REVIEW,
    answers,
    brief,
    provider,
    run,
    submit,
)
from tests.support.speeches import Google, Json, sign

OTHER = ARGUMENTS | {"summary": "They see quite well."}
APPROVED = Answer((message('{"approved": true, "reason": "looked"}'),))
FIELDS = {
    "model",
    "messages",
    "stream",
    "stream_options",
    "tools",
    "response_format",
    "max_tokens",
    "temperature",
    "stop",
}
PRICED = ProviderDeps(price=lambda _: Price(input=1_000_000, cached=0, cache_write=0, output=10_000_000, search=0))


def refuse(status: int, word: str, said: str, *details: Json) -> HttpError:
    """An error as this address writes it: a list."""
    body: Any = [{"error": {"code": status, "message": said, "status": word, "details": [*details]}}]
    return HttpError(status, body)


class Strict(OpenAIServer):
    """Refuses what Google refuses."""

    def turn(self, request: Request) -> Turn:
        unknown = request.body.keys() - FIELDS
        if unknown:
            return refuse(400, "INVALID_ARGUMENT", f"Invalid JSON payload received. Unknown name {sorted(unknown)}")
        if request.body.keys() >= {"tools", "response_format"}:
            said = "Function calling with a response mime type: 'application/json' is unsupported"
            return refuse(400, "INVALID_ARGUMENT", said)
        for said in request.body["messages"]:
            for each in said.get("tool_calls", ()):
                if not each.get("extra_content", {}).get("google", {}).get("thought_signature"):
                    missing = "Function call is missing a thought_signature in functionCall parts."
                    return refuse(400, "INVALID_ARGUMENT", missing)
        return super().turn(request)


async def converse(*turns: Turn, **brief_of: Any) -> tuple[list[Decision[Any]], OpenAIServer]:
    """A conversation with a server that is strict."""
    async with openai_server(Strict(Google())) as server:
        server.script(*turns)
        model: Provider = GOOGLE.make(server.url, key=KEY)
        try:
            decisions, _ = await run(model, brief(**brief_of))
        finally:
            await model.aclose()
    return decisions, server


@pytest.mark.requirement("FH-101")
async def test_requests_go_to_the_documented_path_with_fields_that_are_known() -> None:
    """FH-101: Anthropic, OpenAI, Google and local servers can be chosen."""
    assert GoogleSettings().base_url == "https://generativelanguage.googleapis.com/v1beta/openai/"
    _, server = await converse(DONE, sampling=Sampling(100, 0.3, ("###",)))
    (request,) = server.requests
    assert request.path == "/v1beta/openai/chat/completions"
    assert request.headers["authorization"] == f"Bearer {KEY.get_secret_value()}"
    assert (request.body["max_tokens"], request.body["temperature"], request.body["stop"]) == (100, 0.3, ["###"])


@pytest.mark.requirement("FH-100")
async def test_a_calls_signature_goes_back_with_it() -> None:
    """FH-100: All providers have one interface."""

    async def fetch(arguments: str) -> str:
        return "page"

    turns = Answer((submit("a"),)), Answer((submit("b", OTHER),)), DONE
    decisions, server = await converse(*turns, research={FETCH: fetch})
    assert [each.call_id for each in decisions] == ["a", "b"]
    said = [each for each in server.requests[-1].body["messages"] if each["role"] == "assistant"]
    assert [call["extra_content"] for each in said for call in each["tool_calls"]] == [
        sign(name)["extra_content"] for name in ("a", "b")
    ]


@pytest.mark.parametrize("ids", [("a", "b", "c"), ("", "", ""), ("a", "", "")], ids=repr)
async def test_calls_that_are_all_numbered_0_are_told_apart(ids: tuple[str, ...]) -> None:
    given = ARGUMENTS, OTHER, ARGUMENTS | {"summary": "And hear."}
    items = tuple(submit(id_, each) for id_, each in zip(ids, given, strict=True))
    decisions, server = await converse(Answer(items), DONE)
    assert [each.value.summary for each in decisions] == [each["summary"] for each in given]
    assert len(answers(GOOGLE, server.requests[1].body)) == 3


async def test_usage_that_grows_is_counted_once_and_thinking_is_output() -> None:
    usage = {"input_tokens": 20, "output_tokens": 151, "total_tokens": 553}
    async with provider(GOOGLE, Answer((message("done"),), usage=usage), deps=PRICED) as (model, _):
        _, finished = await run(model)
    assert (finished.usage.input_tokens, finished.usage.output_tokens, finished.usage.total_tokens) == (20, 533, 553)
    assert finished.usage.cost_micro_usd == 20 + 533 * 10


async def test_an_answer_without_usage_is_an_answer() -> None:
    async with provider(GOOGLE, DONE, deps=PRICED) as (model, _):
        _, finished = await run(model)
    assert (finished.answer, finished.usage.total_tokens) == ("done", 0)


async def test_an_answer_has_the_schema_where_no_tools_are_offered() -> None:
    async with openai_server(Strict(Google())) as server:
        server.script(APPROVED)
        model: Provider = GOOGLE.make(server.url, key=KEY)
        assert (await ask(model, REVIEW)).answer.approved
        await model.aclose()
    shape = server.requests[0].body["response_format"]
    assert (shape["type"], shape["json_schema"]["schema"]) == ("json_schema", dict(REVIEW.schema or {}))


LIMITED = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"}
ECHOED = {"@type": "type.googleapis.com/google.rpc.DebugInfo", "detail": f"Invalid API key: {KEY.get_secret_value()}"}


@pytest.mark.parametrize(
    ("turn", "failure", "said", "wait_s"),
    [
        (refuse(429, "RESOURCE_EXHAUSTED", "Quota exceeded.", LIMITED), "TRANSIENT", "429: Quota exceeded.", 34.5),
        (
            replace(refuse(429, "RESOURCE_EXHAUSTED", "Wait.", LIMITED), headers={"retry-after": "2"}),
            "TRANSIENT",
            "429: Wait.",
            2.0,
        ),
        (refuse(503, "UNAVAILABLE", "The model is overloaded."), "TRANSIENT", "503: The model is overloaded.", None),
        (refuse(400, "INVALID_ARGUMENT", "API key not valid.", ECHOED), "NON_RETRYABLE", "API key not valid.", None),
        (HttpError(404, [{"error": "no such model"}]), "NON_RETRYABLE", "no such model", None),
        (HttpError(500, []), "TRANSIENT", "no message", None),
        (Broken("error", (message("a"),), "UNAVAILABLE"), "TRANSIENT", "UNAVAILABLE: scripted", None),
        (Broken("error", (message("a"),), "INVALID_ARGUMENT"), "NON_RETRYABLE", "INVALID_ARGUMENT: scripted", None),
    ],
    ids=repr,
)
async def test_errors_that_are_lists_are_read(turn: Turn, failure: str, said: str, wait_s: float | None) -> None:
    async with provider(GOOGLE, turn) as (model, _):
        with pytest.raises(ModelError) as raised:
            await run(model)
    failed = raised.value
    assert (failed.failure, failed.retry_after_s) == (failure, wait_s)
    assert said in failed.reason
    assert KEY.get_secret_value() not in failed.reason
    assert failed.transcript is not None
    assert KEY.get_secret_value().encode() not in failed.transcript


@pytest.mark.parametrize(
    ("finish", "failure", "name"),
    [
        ("content_filter: PROHIBITED_CONTENT", "NON_RETRYABLE", "Refusal"),
        ("SAFETY", "NON_RETRYABLE", "Refusal"),
        ("MAX_TOKENS", "PARTIAL", "Incomplete"),
        ("function_call_filter: MALFORMED_FUNCTION_CALL", "NON_RETRYABLE", "EmptyAnswer"),
    ],
)
async def test_why_an_answer_ended_is_read_in_googles_words(finish: str, failure: str, name: str) -> None:

    class Ends(Google):
        def _why(self, turn: Any) -> str:
            return finish

    async with openai_server(OpenAIServer(Ends())) as server:
        server.script(Answer(()))
        model: Provider = GOOGLE.make(server.url, key=KEY)
        with pytest.raises(ModelError) as raised:
            await run(model)
        await model.aclose()
    assert (raised.value.failure, raised.value.name) == (failure, name)


@pytest.mark.parametrize("finish", ["function_call_filter: MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"])
async def test_a_run_whose_later_call_was_dropped_is_not_taken_for_done(finish: str) -> None:

    class Drops(Google):
        def _why(self, turn: Any) -> str:
            return super()._why(turn) if turn.items else finish

    async with openai_server(OpenAIServer(Drops())) as server:
        server.script(Answer((submit("a"),)), Answer(()))
        model: Provider = GOOGLE.make(server.url, key=KEY)
        with pytest.raises(ModelError) as raised:
            await run(model)
        await model.aclose()
    assert (raised.value.failure, raised.value.name) == ("NON_RETRYABLE", "EmptyAnswer")


async def test_what_may_cost_too_much_is_not_sent() -> None:
    async with provider(GOOGLE, DONE, deps=PRICED) as (model, server):
        with pytest.raises(ModelError, match="could cost"):
            await run(model, brief(sampling=Sampling(100_000), limits=Limits(call_micro_usd=10_000)))
    assert server.requests == []


async def test_a_claim_comes_as_it_was_submitted() -> None:
    decisions, server = await converse(Answer((message("I looked."), submit("a"))), DONE)
    assert decisions == [Decision("a", CLAIM)]
    said = server.requests[1].body["messages"][2]
    assert said["content"] == "I looked."
    assert json.loads(said["tool_calls"][0]["function"]["arguments"]) == ARGUMENTS
