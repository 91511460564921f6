"""The OpenAI provider against a server that keeps the protocol, and against one that breaks it in every way we know."""

from __future__ import annotations

import asyncio
import json
import logging
import traceback
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from pydantic import SecretStr

from analyses import analysis
from contracts.v1.parts import ClaimPayload, Source, Usage
from kit.models.base import (
    Finished,
    InvestigationBrief,
    KeyAccepted,
    KeyRefused,
    ModelError,
    ReviewBrief,
    Submission,
)
from kit.models.openai_responses import OpenAIResponses
from tests.support.openai_server import (
    Answer,
    Broken,
    HttpError,
    OpenAIServer,
    Turn,
    call,
    message,
    openai_server,
)

FACT_CHECK = analysis("FACT_CHECK")
TEXT = "It was a fine day. Bats are blind. We went home."
KEY = SecretStr("sk-instance-key-0123456789abcdef")
USER_KEY = SecretStr("sk-reader-key-fedcba9876543210")
SUBMIT = "submit_correction"
CLAIM = ClaimPayload(
    text="Bats are blind.",
    context=TEXT,
    summary="They see.",
    reasoning="All species see.",
    sources=(Source(url="https://example.org/bats", title="Bats", snippet="Bats can see."),),
)
ARGUMENTS = CLAIM.model_dump(mode="json")
INVESTIGATION = InvestigationBrief(
    "instructions", ("the article",), TEXT, FACT_CHECK.tools, FACT_CHECK.parse_submission
)
REVIEW = ReviewBrief("review instructions", "the claim", TEXT, CLAIM, FACT_CHECK.review_schema)
DONE = Answer((message("done"),))


@asynccontextmanager
async def provider(
    *turns: Turn, key: SecretStr | None = KEY, max_rounds: int = 150, silence_s: float = 5.0
) -> AsyncIterator[tuple[OpenAIResponses, OpenAIServer]]:
    async with openai_server() as server:
        server.script(*turns)
        model = OpenAIResponses(key=key, base_url=server.url, max_rounds=max_rounds, silence_s=silence_s)
        try:
            yield model, server
        finally:
            await model.aclose()


async def run(model: OpenAIResponses, key: SecretStr | None = None) -> tuple[list[Submission], Finished]:
    steps = [step async for step in model.investigate(INVESTIGATION, key)]
    assert isinstance(steps[-1], Finished)
    return [step for step in steps[:-1] if isinstance(step, Submission)], steps[-1]


async def failure(model: OpenAIResponses, key: SecretStr | None = None) -> ModelError:
    with pytest.raises(ModelError) as raised:
        await run(model, key)
    return raised.value


@pytest.mark.requirement("2.2-04", "2.4-01", "2.4.1-01", "2.4.2-02")
async def test_the_request_holds_instructions_article_web_search_and_strict_tools() -> None:
    async with provider(DONE) as (model, server):
        submissions, finished = await run(model)
    assert submissions == []
    assert finished.output_text == "done"
    assert finished.response_id == "resp_1"
    assert finished.model.model == "gpt-5.4"
    assert finished.model.version == "gpt-5.4-2026-01-01"
    (request,) = server.requests
    assert request.path == "/v1/responses"
    assert request.body["instructions"] == "instructions"
    assert request.body["input"] == "the article"
    assert request.body["reasoning"] == {"effort": "medium", "summary": "detailed"}
    assert "previous_response_id" not in request.body
    search, submit = request.body["tools"]
    assert search == {"type": "web_search"}
    assert (submit["type"], submit["name"], submit["strict"]) == ("function", SUBMIT, True)
    assert set(submit["parameters"]["required"]) == {"text", "context", "summary", "reasoning", "sources"}


@pytest.mark.requirement("2.4.3-04")
async def test_a_submission_is_passed_on_while_the_model_still_streams() -> None:
    gate = asyncio.Event()
    first = Answer((call(SUBMIT, ARGUMENTS, "a"), call(SUBMIT, ARGUMENTS, "b")), gate=gate)
    async with provider(first, DONE) as (model, server):
        steps = model.investigate(INVESTIGATION)
        assert await anext(steps) == Submission("a", CLAIM)
        assert len(server.requests) == 1
        gate.set()
        rest = [step async for step in steps]
    assert rest[0] == Submission("b", CLAIM)
    assert isinstance(rest[1], Finished)


async def test_the_next_round_answers_every_call_and_names_the_response_before() -> None:
    async with provider(Answer((call(SUBMIT, ARGUMENTS, "a"), call("dance", {}, "b"))), DONE) as (model, server):
        submissions, _ = await run(model)
    assert [each.call_id for each in submissions] == ["a"]
    body = server.requests[1].body
    assert body["previous_response_id"] == "resp_1"
    assert body["instructions"] == "instructions"
    assert len(body["tools"]) == 2
    outputs = {item["call_id"]: json.loads(item["output"]) for item in body["input"]}
    assert outputs["a"] == {"acknowledged": True}
    assert outputs["b"]["ok"] is False
    assert all(item["type"] == "function_call_output" for item in body["input"])


@pytest.mark.requirement("3.7-04")
@pytest.mark.parametrize(
    "arguments",
    ["{", "[]", "{}", ARGUMENTS | {"sources": []}, ARGUMENTS | {"text": " "}, ARGUMENTS | {"verdict": "false"}],
)
async def test_bad_arguments_are_answered_and_the_model_may_try_again(arguments: object) -> None:
    again = Answer((call(SUBMIT, ARGUMENTS, "b"),))
    async with provider(Answer((call(SUBMIT, arguments, "a"),)), again, DONE) as (model, server):
        submissions, _ = await run(model)
    assert [each.call_id for each in submissions] == ["b"]
    (output,) = server.requests[1].body["input"]
    assert json.loads(output["output"])["error"]


async def test_a_repeated_call_id_submits_once_and_is_answered_in_each_round() -> None:
    twice = Answer((call(SUBMIT, ARGUMENTS, "a"), call(SUBMIT, ARGUMENTS, "a")))
    again = Answer((call(SUBMIT, ARGUMENTS, "a"),))
    async with provider(twice, again, DONE) as (model, server):
        submissions, _ = await run(model)
    assert [each.call_id for each in submissions] == ["a"]
    assert [len(request.body["input"]) for request in server.requests[1:]] == [1, 1]


async def test_a_call_that_only_the_final_response_names_is_not_lost() -> None:
    async with provider(Answer((call(SUBMIT, ARGUMENTS, "a"),), announced=False), DONE) as (model, _):
        submissions, _ = await run(model)
    assert [each.call_id for each in submissions] == ["a"]


async def test_usage_is_the_sum_of_all_calls_and_absent_details_stay_absent() -> None:
    counted = {
        "input_tokens": 10,
        "input_tokens_details": {"cached_tokens": 4},
        "output_tokens": 5,
        "output_tokens_details": {"reasoning_tokens": 3},
        "total_tokens": 15,
    }
    bare = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
    first, second = Answer((call(SUBMIT, ARGUMENTS, "a"),), usage=counted), Answer((message("x"),), usage=bare)
    async with provider(first, second) as (model, _):
        _, finished = await run(model)
    assert finished.usage == Usage(
        input_tokens=11, output_tokens=7, total_tokens=18, cached_input_tokens=4, reasoning_output_tokens=3
    )
    async with provider(Answer((message("x"),), usage=bare)) as (model, _):
        _, finished = await run(model)
    assert finished.usage.cached_input_tokens is None


async def test_the_transcript_holds_what_was_asked_and_answered_but_no_key() -> None:
    said = message(f"my key is {USER_KEY.get_secret_value()}")
    async with provider(Answer((call(SUBMIT, ARGUMENTS, "a"),)), Answer((said,))) as (model, _):
        _, finished = await run(model, USER_KEY)
    assert USER_KEY.get_secret_value().encode() not in finished.transcript
    transcript = json.loads(finished.transcript)
    assert transcript["stage"] == "investigation"
    assert transcript["instructions"] == "instructions"
    assert [each["previous_response_id"] for each in transcript["calls"]] == [None, "resp_1"]
    assert transcript["calls"][0]["response"]["output"][0]["call_id"] == "a"
    assert transcript["error"] is None


@pytest.mark.requirement("2.1-08")
async def test_a_readers_key_is_used_for_its_own_call_only() -> None:
    async with provider(DONE, DONE) as (model, server):
        await run(model, USER_KEY)
        await run(model)
    sent = [request.headers["authorization"] for request in server.requests]
    assert sent == [f"Bearer {USER_KEY.get_secret_value()}", f"Bearer {KEY.get_secret_value()}"]


@pytest.mark.parametrize("key", [None, SecretStr(""), SecretStr("sk-with space"), SecretStr("sk-\u00fc\u00f1\u00ee\n")])
async def test_without_a_usable_key_nothing_is_sent(key: SecretStr | None) -> None:
    async with provider(key=key) as (model, server):
        failed = await failure(model)
    assert (failed.failure, failed.name) == ("NON_RETRYABLE", "MissingKey")
    assert server.requests == []


async def test_the_operators_organisation_is_not_sent_with_a_readers_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-operator")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-operator")
    async with provider(DONE) as (model, server):
        await run(model, USER_KEY)
    assert not {"openai-organization", "openai-project"} & set(server.requests[0].headers)


@pytest.mark.requirement("3.7-03")
@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
async def test_statuses_that_will_not_change_are_not_retried(status: int) -> None:
    async with provider(HttpError(status)) as (model, server):
        failed = await failure(model)
    assert (failed.failure, failed.status_code) == ("NON_RETRYABLE", status)
    assert len(server.requests) == 1


@pytest.mark.requirement("3.7-01")
@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503])
async def test_statuses_that_may_pass_are_transient_and_the_sdk_does_not_retry(status: int) -> None:
    async with provider(HttpError(status)) as (model, server):
        failed = await failure(model)
    assert (failed.failure, failed.status_code) == ("TRANSIENT", status)
    assert len(server.requests) == 1


@pytest.mark.requirement("2.2-06")
@pytest.mark.parametrize("status", [400, 401, 403, 500])
@pytest.mark.parametrize("secret", [USER_KEY.get_secret_value(), "key-of-a-compatible-server"])
async def test_no_error_shows_a_key(status: int, secret: str, caplog: pytest.LogCaptureFixture) -> None:
    body = {"error": {"message": f"Incorrect key {secret}, not sk-proj-another*key", "code": secret, "type": secret}}
    with caplog.at_level(logging.DEBUG):
        async with provider(HttpError(status, body)) as (model, _):
            failed = await failure(model, SecretStr(secret))
    shown = "".join(traceback.format_exception(failed)) + repr(failed) + caplog.text
    assert secret not in shown
    assert "sk-proj-another" not in shown
    assert failed.__context__ is None
    assert failed.transcript is not None
    assert secret.encode() not in failed.transcript


@pytest.mark.parametrize(
    ("turn", "expected"),
    [
        (Broken("error"), "TRANSIENT"),
        (Broken("error", code="rate_limit_exceeded"), "TRANSIENT"),
        (Broken("error", code="invalid_prompt"), "NON_RETRYABLE"),
        (Broken("silence"), "TRANSIENT"),
        (Broken("lost"), "TRANSIENT"),
        (Broken("ends"), "PARTIAL"),
        (Broken("garbage"), "NON_RETRYABLE"),
        (Answer((), status="failed", error={"code": "server_error", "message": "x"}), "TRANSIENT"),
        (Answer((), status="failed", error={"code": "invalid_image", "message": "x"}), "NON_RETRYABLE"),
        (Answer((), status="incomplete", incomplete_reason="content_filter"), "NON_RETRYABLE"),
        pytest.param(
            Answer((), status="incomplete", incomplete_reason="max_output_tokens"),
            "PARTIAL",
            marks=pytest.mark.requirement("3.7-06"),
        ),
        pytest.param(
            Answer((message("I cannot help with that.", "refusal"),)),
            "NON_RETRYABLE",
            marks=pytest.mark.requirement("3.7-05"),
        ),
    ],
    ids=repr,
)
async def test_a_run_that_breaks_is_classed_and_never_reads_as_no_findings(turn: Turn, expected: str) -> None:
    async with provider(turn, silence_s=0.2) as (model, server):
        failed = await failure(model)
    assert failed.failure == expected
    assert len(server.requests) == 1


@pytest.mark.parametrize("how", ["error", "silence", "lost", "ends", "garbage"])
async def test_what_was_submitted_before_the_break_was_passed_on_and_is_on_record(how: str) -> None:
    async with provider(Broken(how, (call(SUBMIT, ARGUMENTS, "a"),)), silence_s=0.2) as (model, _):
        steps = model.investigate(INVESTIGATION)
        assert await anext(steps) == Submission("a", CLAIM)
        with pytest.raises(ModelError) as raised:
            await anext(steps)
    assert raised.value.transcript is not None
    recorded = json.loads(raised.value.transcript)
    assert recorded["calls"][0]["items"][0]["call_id"] == "a"
    assert recorded["error"]["failure"] == raised.value.failure


async def test_rounds_are_limited() -> None:
    turns = [Answer((call(SUBMIT, ARGUMENTS, str(number)),)) for number in range(3)]
    async with provider(*turns, max_rounds=3) as (model, server):
        failed = await failure(model)
    assert (failed.failure, failed.name) == ("NON_RETRYABLE", "RoundLimit")
    assert len(server.requests) == 3


async def test_a_server_that_is_not_there_is_transient() -> None:
    async with openai_server() as server:
        url = server.url
    model = OpenAIResponses(key=KEY, base_url=url)
    failed = await failure(model)
    await model.aclose()
    assert failed.failure == "TRANSIENT"


async def test_a_run_given_up_by_its_caller_closes_the_stream() -> None:
    gate = asyncio.Event()
    async with provider(Answer((call(SUBMIT, ARGUMENTS, "a"), message("x")), gate=gate)) as (model, server):
        steps = model.investigate(INVESTIGATION)
        await anext(steps)
        assert not server.left.is_set()
        await steps.aclose()
        await asyncio.wait_for(server.left.wait(), 5)
        gate.set()


@pytest.mark.requirement("2.4.3-09")
@pytest.mark.parametrize("approved", [True, False])
async def test_a_review_asks_for_a_strict_answer_and_reads_it(approved: bool) -> None:
    answer = message(json.dumps({"approved": approved, "reason": "because"}))
    async with provider(Answer((answer,))) as (model, server):
        verdict = await model.review(REVIEW)
    assert (verdict.approved, verdict.reason) == (approved, "because")
    assert json.loads(verdict.transcript)["stage"] == "review"
    body = server.requests[0].body
    assert body["input"] == "the claim"
    assert "tools" not in body
    assert body["text"]["format"] == {
        "type": "json_schema",
        "name": "claim_validation_result",
        "schema": FACT_CHECK.review_schema,
        "strict": True,
    }


@pytest.mark.parametrize(
    ("turn", "expected"),
    [
        (Answer((message("yes"),)), "NON_RETRYABLE"),
        (Answer((message('{"approved": "true", "reason": ""}'),)), "NON_RETRYABLE"),
        (Answer((message('{"reason": "none"}'),)), "NON_RETRYABLE"),
        (Answer(()), "NON_RETRYABLE"),
        (Answer((message("no", "refusal"),)), "NON_RETRYABLE"),
        (Answer((message('{"approved": true, "reason": ""}'),), status="incomplete"), "PARTIAL"),
        (HttpError(401), "NON_RETRYABLE"),
        (HttpError(429), "TRANSIENT"),
        (HttpError(500), "TRANSIENT"),
        (Broken("silence"), "TRANSIENT"),
        (Broken("lost"), "TRANSIENT"),
    ],
    ids=repr,
)
@pytest.mark.requirement("2.4.3-10")
async def test_a_review_that_fails_is_an_error_and_never_a_verdict(turn: Turn, expected: str) -> None:
    async with provider(turn, silence_s=0.2) as (model, _):
        with pytest.raises(ModelError) as raised:
            await model.review(REVIEW)
    assert raised.value.failure == expected


async def test_a_key_that_works_is_accepted_after_one_tiny_call() -> None:
    async with provider(Answer((message("OK"),), status="incomplete", incomplete_reason="max_output_tokens")) as (m, s):
        assert await m.probe(USER_KEY) == KeyAccepted()
    (request,) = s.requests
    assert request.body["max_output_tokens"] == 16
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
    async with provider(turn) as (model, _):
        result = await model.probe(USER_KEY)
    assert isinstance(result, KeyRefused)
    assert result.status == status
    assert result.message
    assert USER_KEY.get_secret_value() not in result.message


@pytest.mark.parametrize("key", ["", "sk-short", "not-a-key-at-all-0123456789", "sk-0123456789 0123456789 01"])
async def test_a_key_of_the_wrong_form_is_not_sent(key: str) -> None:
    async with provider() as (model, server):
        result = await model.probe(SecretStr(key))
    assert isinstance(result, KeyRefused)
    assert result.status == "format_invalid"
    assert server.requests == []
