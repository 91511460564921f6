"""Every provider against a server that keeps its protocol, and against one that breaks it in every way we know."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import traceback
from base64 import b64decode
from contextlib import aclosing
from dataclasses import replace
from types import AsyncGeneratorType
from typing import Any
from uuid import UUID

import httpx2
import pytest
from pydantic import SecretStr

from analyses.flagging import Review
from contracts.transcript import Transcript
from contracts.v1.parts import ClaimPayload, Usage
from kit.models.audit import rows
from kit.models.base import (
    Checkpoint,
    Decision,
    Finished,
    KeyAccepted,
    KeyRefused,
    Limits,
    ModelError,
    ask,
)
from kit.models.conversation import ACKNOWLEDGED
from kit.models.provider import Provider, ProviderDeps
from kit.models.replay import ReplayModel
from tests.support.openai_server import Answer, Broken, HttpError, OpenAIServer, Turn, call, message, openai_server
from tests.support.providers import (
    APIS,
    ARGUMENTS,
    CLAIM,
    DONE,
    FETCH,
    KEY,
    OLD,
    OPENAI,
    RETAIN,
    REVIEW,
    SUBMIT,
    USER_KEY,
    Api,
    Look,
    answers,
    brief,
    provider,
    run,
    submit,
)

pytestmark = pytest.mark.parametrize("api", APIS, ids=repr)

USAGE = {"input_tokens": 100, "output_tokens": 50, "total_tokens": 150}


async def failure(model: Provider, asked: Look | None = None, key: SecretStr | None = None) -> ModelError:
    with pytest.raises(ModelError) as raised:
        await run(model, asked, key)
    return raised.value


def recorded(error: ModelError) -> Transcript:
    assert error.transcript is not None
    return Transcript.model_validate_json(error.transcript)


def said_again(api: Api, body: dict[str, Any]) -> list[tuple[str, Any]]:
    """The calls of its own that a request tells the provider again."""
    spoken = [each for each in body.get("messages", ()) if each["role"] == "assistant"]
    if api.is_chat:
        calls = [made for each in spoken for made in each["tool_calls"]]
        return [(made["id"], json.loads(made["function"]["arguments"])) for made in calls]
    return [(block["id"], block["input"]) for each in spoken for block in each["content"]]


@pytest.mark.requirement("2.4-01", "2.12-03")
async def test_a_run_ends_with_words_usage_and_the_providers_own_version(api: Api) -> None:
    """2.4-01: One conversation of the model over the whole post.
    2.12-03: Provider/model/version metadata.
    """
    async with provider(api, Answer((message("done"),), usage=USAGE)) as (model, server):
        outcomes, finished = await run(model)
    assert outcomes == []
    assert finished.answer == "done"
    assert finished.model.version == f"{finished.model.model}-2026-01-01"
    assert finished.usage.total_tokens == 150
    (request,) = server.requests
    sent = json.dumps(request.body)
    assert "instructions" in sent
    assert "the article" in sent
    assert SUBMIT in sent


@pytest.mark.requirement("2.4.3-04")
async def test_an_outcome_is_passed_on_while_the_model_still_streams(api: Api) -> None:
    """2.4.3-04: Candidates are visible as they are submitted."""
    gate = asyncio.Event()
    held = Answer((submit("a"), submit("b"), submit("c")), gate=gate, gate_at=1)
    async with provider(api, held, DONE) as (model, server):
        steps = model.converse(brief())
        assert await anext(steps) == Decision("a", CLAIM)
        assert not gate.is_set()
        gate.set()
        rest = [step async for step in steps]
    assert [step.call_id for step in rest if isinstance(step, Decision)] == ["b", "c"]
    assert len(server.requests) == 2


@pytest.mark.requirement("2.4.3-05")
async def test_each_call_is_answered_once_whatever_it_asks_for(api: Api) -> None:
    """2.4.3-05: Keeping an old claim is possible in update runs only."""

    async def fetch(arguments: str) -> str:
        return f"page {json.loads(arguments)['url']}"

    first = Answer(
        (
            call(FETCH, {"url": "u"}, "a"),
            submit("b"),
            call("unheard_of", {}, "c"),
            call(RETAIN, {"id": str(OLD)}, "d"),
            submit("e", ARGUMENTS | {"sources": []}),
        )
    )
    async with provider(api, first, DONE) as (model, server):
        outcomes, finished = await run(model, brief(research={FETCH: fetch}))
    assert outcomes == [Decision("b", CLAIM), Decision("d", OLD)]
    given = answers(api, server.requests[1].body)
    assert given.keys() == set("abcde")
    assert given["a"] == "page u"
    assert json.loads(given["b"]) == json.loads(given["d"]) == {"acknowledged": True}
    assert json.loads(given["c"])["ok"] is False
    assert json.loads(given["e"])["error"]
    (looked_up,) = Transcript.model_validate_json(finished.transcript).research
    assert (looked_up.call_id, looked_up.name, looked_up.output) == ("a", FETCH, "page u")
    assert json.loads(looked_up.arguments) == {"url": "u"}
    assert looked_up.started_at <= looked_up.completed_at


async def test_lookups_of_one_round_run_beside_each_other_and_after_the_outcomes(api: Api) -> None:
    together = asyncio.Barrier(2)

    async def fetch(arguments: str) -> str:
        async with asyncio.timeout(60):
            await together.wait()
        return arguments

    first = Answer((call(FETCH, {"n": 1}, "a"), call(FETCH, {"n": 2}, "b"), submit("c")))
    async with provider(api, first, DONE) as (model, _):
        steps = model.converse(brief(research={FETCH: fetch}))
        assert await anext(steps) == Decision("c", CLAIM)
        assert together.n_waiting == 0
        rest = [step async for step in steps]
    assert [type(step) for step in rest] == [Checkpoint, Finished]


@pytest.mark.requirement("3.7-04")
@pytest.mark.parametrize(
    "arguments", ["{", "[]", "{}", "[" * 2_000, ARGUMENTS | {"text": " "}, ARGUMENTS | {"verdict": "false"}]
)
async def test_bad_arguments_are_answered_and_the_model_may_try_again(api: Api, arguments: object) -> None:
    """3.7-04: A malformed submission ends the run."""
    again = Answer((submit("b"),))
    async with provider(api, Answer((submit("a", arguments),)), again, DONE) as (model, server):
        outcomes, _ = await run(model)
    assert outcomes == [Decision("b", CLAIM)]
    assert json.loads(answers(api, server.requests[1].body)["a"])["error"]


async def test_a_repeated_call_id_counts_once_and_is_answered_in_each_round(api: Api) -> None:
    async with provider(api, Answer((submit("a"), submit("a"))), Answer((submit("a"),)), DONE) as (model, server):
        outcomes, _ = await run(model)
    assert [each.call_id for each in outcomes] == ["a"]
    assert [list(answers(api, request.body)) for request in server.requests[1:]] == [["a"], ["a"]]


async def test_different_calls_under_one_id_are_all_heard_and_no_id_goes_back_twice(api: Api) -> None:
    """Where we tell the conversation ourselves, the second call gets an id of its own; else one answer is for both."""
    looked_up: list[str] = []

    async def fetch(arguments: str) -> str:
        looked_up.append(arguments)
        return f"page of {arguments}"

    other = ARGUMENTS | {"summary": "Something else."}
    pages = call(FETCH, {"n": 1}, "f"), call(FETCH, {"n": 2}, "f")
    async with provider(api, Answer((submit("a"), submit("a", other), *pages)), DONE) as (model, server):
        outcomes, finished = await run(model, brief(research={FETCH: fetch}))
    assert [(each.call_id, summary(each)) for each in outcomes if isinstance(each, Decision)] == [
        ("a", ARGUMENTS["summary"]),
        ("a-2", "Something else."),
    ]
    assert sorted(looked_up) == ['{"n": 1}', '{"n": 2}']
    given = answers(api, server.requests[1].body)
    if api is OPENAI:
        assert given.keys() == {"a", "f"}
        assert json.loads(given["a"])["answers"] == [ACKNOWLEDGED, ACKNOWLEDGED]
        assert json.loads(given["f"])["answers"] == ['page of {"n": 1}', 'page of {"n": 2}']
    else:
        assert given == {
            "a": ACKNOWLEDGED,
            "a-2": ACKNOWLEDGED,
            "f": 'page of {"n": 1}',
            "f-2": 'page of {"n": 2}',
        }
        assert said_again(api, server.requests[1].body) == [
            ("a", ARGUMENTS),
            ("a-2", other),
            ("f", {"n": 1}),
            ("f-2", {"n": 2}),
        ]
    record = Transcript.model_validate_json(finished.transcript)
    payloads = [item.tool_call.raw_payload for item in rows(record).output_items if item.tool_call]
    assert len(payloads) == 4, "the audit has them all"
    retold = [step async for step in ReplayModel(record).converse(brief(research={FETCH: fetch}))]
    assert len(looked_up) == 2, "a replay reads nothing anew"
    assert [step for step in retold if not isinstance(step, Checkpoint)] == [*outcomes, finished]


def summary(decision: Decision[ClaimPayload | UUID]) -> str:
    """The summary of a claim that was submitted."""
    assert isinstance(decision.value, ClaimPayload)
    return decision.value.summary


async def test_an_id_that_comes_again_with_another_call_is_another_call(api: Api) -> None:
    other = ARGUMENTS | {"summary": "Something else."}
    turns = Answer((submit("a"),)), Answer((submit("a", other), submit("a", "{"))), DONE
    async with provider(api, *turns) as (model, server):
        outcomes, _ = await run(model)
    assert [summary(each) for each in outcomes if isinstance(each, Decision)] == ["They see.", "Something else."]
    given = answers(api, server.requests[2].body)
    if api is OPENAI:
        good, bad = json.loads(given.pop("a"))["answers"]
    else:
        good, bad = given.pop("a-2"), given.pop("a-3")
    assert good == ACKNOWLEDGED
    assert json.loads(bad)["error"]
    assert given == {}


async def test_a_lookup_that_is_asked_for_again_is_not_made_again(api: Api) -> None:
    asked: list[str] = []

    async def fetch(arguments: str) -> str:
        asked.append(arguments)
        return "page"

    fetching = Answer((call(FETCH, {"url": "u"}, "a"),))
    async with provider(api, fetching, fetching, DONE) as (model, _):
        await run(model, brief(research={FETCH: fetch}))
    assert len(asked) == 1


async def test_usage_and_cost_are_the_sum_of_all_calls_and_absent_details_stay_absent(api: Api) -> None:
    counted = {
        "input_tokens": 10,
        "input_tokens_details": {"cached_tokens": 4},
        "output_tokens": 5,
        "output_tokens_details": {"reasoning_tokens": 3},
        "total_tokens": 15,
    }
    bare = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
    first, second = Answer((submit("a"),), usage=counted), Answer((message("x"),), usage=bare)
    async with provider(api, first, second) as (model, _):
        _, finished = await run(model)
    assert finished.usage.model_copy(update={"cost_micro_usd": None}) == Usage(
        input_tokens=11, output_tokens=7, total_tokens=18, cached_input_tokens=4, reasoning_output_tokens=3
    )
    assert finished.usage.cost_micro_usd == {"openai": 124, "anthropic": 85, "chat": None}[api.protocol]
    async with provider(api, Answer((message("x"),), usage=bare)) as (model, _):
        _, finished = await run(model)
    assert finished.usage.cached_input_tokens is None
    assert finished.usage.reasoning_output_tokens is None


async def test_the_record_holds_what_was_asked_and_answered_but_no_key(api: Api) -> None:
    said = message(f"my key is {KEY.get_secret_value()}")
    given = submit("a", ARGUMENTS | {"summary": f"It is {KEY.get_secret_value()}."})
    async with provider(api, Answer((given,)), Answer((said,))) as (model, server):
        decisions, finished = await run(model)
    assert [summary(each) for each in decisions] == ["It is [key]."]
    assert finished.answer == "my key is [key]", "nor has what becomes of the answer"
    assert KEY.get_secret_value().encode() not in finished.transcript
    record = Transcript.model_validate_json(finished.transcript)
    assert record.instructions == "instructions"
    sent = [json.loads(json.dumps(each.body).replace(KEY.get_secret_value(), "[key]")) for each in server.requests]
    assert [dict(body) for body in record.requests()] == sent
    assert [(each.status, each.started_at is not None, each.completed_at is not None) for each in record.calls] == [
        (200, True, True),
        (200, True, True),
    ]
    assert "my key is [key]" in record.calls[1].body
    assert record.error is None


@pytest.mark.parametrize("key", [SecretStr("sk-with space"), SecretStr("sk-\u00fc\u00f1\u00ee\n")])
async def test_a_key_that_cannot_be_sent_is_not(api: Api, key: SecretStr) -> None:
    async with provider(api, key=key) as (model, server):
        failed = await failure(model)
    assert (failed.failure, failed.name) == ("NON_RETRYABLE", "MissingKey")
    assert server.requests == []


@pytest.mark.requirement("3.7-03")
@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
async def test_statuses_that_will_not_change_are_not_retried(api: Api, status: int) -> None:
    """3.7-03: A refused key or request fails at once."""
    async with provider(api, HttpError(status)) as (model, server):
        failed = await failure(model)
    assert (failed.failure, failed.status_code) == ("NON_RETRYABLE", status)
    assert len(server.requests) == 1


@pytest.mark.requirement("3.7-01")
@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503])
async def test_statuses_that_may_pass_are_transient_and_the_library_does_not_retry(api: Api, status: int) -> None:
    """3.7-01: Four attempts, then FAILED."""
    async with provider(api, HttpError(status)) as (model, server):
        failed = await failure(model)
    assert (failed.failure, failed.status_code, failed.retry_after_s) == ("TRANSIENT", status, None)
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [429, 503])
async def test_how_long_to_wait_is_passed_on(api: Api, status: int) -> None:
    async with provider(api, HttpError(status, headers={"Retry-After": "17"})) as (model, _):
        failed = await failure(model)
    assert (failed.failure, failed.retry_after_s) == ("TRANSIENT", 17.0)
    assert recorded(failed).calls[0].headers["retry-after"] == "17"


@pytest.mark.requirement("2.2-06")
@pytest.mark.parametrize("status", [400, 401, 403, 500])
async def test_no_error_shows_a_key(api: Api, status: int, caplog: pytest.LogCaptureFixture) -> None:
    """2.2-06: User key never stored in plaintext server-side."""
    secret = "key-of-a-compatible-server"
    body = {"error": {"message": f"Incorrect key {secret}, not sk-proj-another*key", "code": secret, "type": secret}}
    with caplog.at_level(logging.DEBUG):
        async with provider(api, HttpError(status, body), key=SecretStr(secret)) as (model, _):
            failed = await failure(model)
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
        (Broken("error", code="overloaded_error"), "TRANSIENT"),
        (Broken("error", code="invalid_request_error"), "NON_RETRYABLE"),
        (Broken("silence"), "TRANSIENT"),
        (Broken("lost"), "TRANSIENT"),
        (Broken("ends"), "PARTIAL"),
        (Broken("garbage"), "NON_RETRYABLE"),
        (Answer((), status="failed", error={"code": "server_error", "message": "x"}), "TRANSIENT"),
        (Answer((), status="incomplete", incomplete_reason="content_filter"), "NON_RETRYABLE"),
        (Answer(()), "NON_RETRYABLE"),
        (Answer((message("  "),)), "NON_RETRYABLE"),
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
async def test_a_run_that_breaks_is_classed_and_never_reads_as_no_findings(api: Api, turn: Turn, expected: str) -> None:
    """3.7-06: An answer that was cut short is PARTIAL.
    3.7-05: A refusal of the model fails at once.
    """
    async with provider(api, turn, silence_s=0.3) as (model, server):
        failed = await failure(model)
    assert failed.failure == expected
    assert len(server.requests) == 1
    error = recorded(failed).error
    assert error is not None
    assert (error.failure, error.name, error.reason) == (failed.failure, failed.name, failed.reason)


async def test_a_page_in_place_of_an_answer_is_a_passing_error_and_no_key_is_accepted_by_it(api: Api) -> None:
    page = HttpError(200, "<!doctype html><title>We will be back soon</title>")
    async with provider(api, page, page) as (model, _):
        failed = await failure(model)
        probed = await model.probe_own()
    assert (failed.failure, failed.name) == ("TRANSIENT", "Page")
    assert "a proxy" in failed.reason
    assert probed == KeyRefused("error", failed.reason)


@pytest.mark.filterwarnings("error")
async def test_a_call_of_another_shape_is_an_answer_that_cannot_be_read(api: Api) -> None:
    async with provider(api, Answer((submit("a") | {"call_id": ["a"]},))) as (model, _):
        failed = await failure(model)
    assert (failed.failure, failed.name) == ("NON_RETRYABLE", "Unreadable")


async def test_an_empty_last_answer_after_an_outcome_is_an_end(api: Api) -> None:
    async with provider(api, Answer((submit("a"),)), Answer(())) as (model, _):
        outcomes, _ = await run(model)
    assert outcomes == [Decision("a", CLAIM)]


@pytest.mark.parametrize("how", ["error", "silence", "lost", "ends", "garbage"])
async def test_what_was_submitted_before_the_break_was_passed_on_and_is_on_record(api: Api, how: str) -> None:
    async with provider(api, Broken(how, (submit("a"), submit("b"))), silence_s=0.5) as (model, _):
        steps = model.converse(brief())
        assert await anext(steps) == Decision("a", CLAIM)
        with pytest.raises(ModelError) as raised:
            async for _ in steps:
                pass
    record = recorded(raised.value)
    (first, *_) = rows(record).output_items
    assert first.tool_call is not None
    assert first.tool_call.provider_tool_call_id == "a"
    if how in ("silence", "lost"):
        assert record.calls[0].ending == {"silence": "timeout", "lost": "lost"}[how]


async def test_rounds_are_limited_and_the_outcomes_before_stay(api: Api) -> None:
    turns = [Answer((submit(str(number)),)) for number in range(3)]
    async with provider(api, *turns) as (model, server):
        steps = model.converse(brief(limits=Limits(rounds=3)))
        seen = [await anext(steps) for _ in range(5)]
        with pytest.raises(ModelError) as raised:
            await anext(steps)
    assert [step.call_id for step in seen if isinstance(step, Decision)] == ["0", "1", "2"]
    assert (raised.value.failure, raised.value.name) == ("NON_RETRYABLE", "RoundLimit")
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("limits", "name"),
    [(Limits(tokens=150), "TokenLimit"), (Limits(cost_micro_usd=1), "CostLimit")],
)
async def test_tokens_and_money_are_limited(api: Api, limits: Limits, name: str) -> None:
    turns = (Answer((submit("a"),), usage=USAGE), DONE)
    async with provider(api, *turns) as (model, server):
        failed = await failure(model, brief(limits=limits))
    if api.is_chat and name == "CostLimit":
        assert (failed.name, len(server.requests)) == ("PriceUnknown", 0)
        return
    assert (failed.failure, failed.name) == ("NON_RETRYABLE", name)
    assert failed.usage is not None
    assert failed.usage.total_tokens == 150
    assert len(server.requests) == 1


async def test_a_run_that_is_done_may_have_used_up_its_limit(api: Api) -> None:
    async with provider(api, Answer((message("done"),), usage=USAGE)) as (model, _):
        _, finished = await run(model, brief(limits=Limits(rounds=1, tokens=1)))
    assert finished.usage.total_tokens == 150


async def test_a_server_that_is_not_there_is_transient_and_on_record(api: Api) -> None:
    async with openai_server() as server:
        url = server.url
    model = api.make(url, key=KEY, silence_s=5.0)
    failed = await failure(model)
    await model.aclose()
    assert (failed.failure, failed.name) == ("TRANSIENT", "Unreached")
    assert recorded(failed).calls[0].ending == "unreached"


async def test_a_key_that_is_quoted_in_another_encoding_is_struck(api: Api) -> None:
    async def quote(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        body = f"Clé refusée : {KEY.get_secret_value()}".encode("latin-1")
        writer.write(b"HTTP/1.1 401 Unauthorized\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body))
        await writer.drain()
        await reader.read()
        writer.close()

    async with await asyncio.start_server(quote, "127.0.0.1", 0) as server:
        model = api.make(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", key=KEY)
        failed = await failure(model)
        await model.aclose()
    (answered,) = recorded(failed).calls
    assert b64decode(answered.body) == "Clé refusée : [key]".encode("latin-1")


async def test_a_redirect_is_followed_within_one_origin_only(api: Api) -> None:
    elsewhere = OpenAIServer(api.speech())
    async with openai_server(elsewhere), provider(api) as (model, server):
        elsewhere.script(DONE)
        server.script(HttpError(307, headers={"Location": f"{server.url}/moved"}), DONE)
        await run(model)
        server.script(HttpError(307, headers={"Location": f"{elsewhere.url}/moved"}))
        failed = await failure(model)
    assert [request.path for request in server.requests[1:2]] == ["/v1/moved"]
    assert (failed.status_code, elsewhere.requests) == (307, [])


async def test_a_proxy_that_does_not_let_a_request_out_is_on_record_as_unreached(api: Api) -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as proxy:
        http = httpx2.AsyncClient(proxy=f"http://127.0.0.1:{proxy.sockets[0].getsockname()[1]}")
        model = api.make("https://provider.example/v1", key=KEY, deps=ProviderDeps(http))
        failed = await failure(model)
        await model.aclose()
    assert (failed.failure, failed.name) == ("TRANSIENT", "Unreached")
    assert recorded(failed).calls[0].ending == "unreached"


async def test_a_run_given_up_by_its_caller_closes_the_stream(api: Api) -> None:
    gate = asyncio.Event()
    held = Answer((submit("a"), submit("b"), message("x")), gate=gate, gate_at=1)
    async with provider(api, held) as (model, server):
        async with aclosing(model.converse(brief())) as steps:
            await anext(steps)
            assert not server.left.is_set()
        await asyncio.wait_for(server.left.wait(), 60)
        gate.set()


@pytest.mark.requirement("2.4.3-09")
@pytest.mark.parametrize("approved", [True, False])
async def test_a_review_asks_for_a_strict_answer_and_reads_it(api: Api, approved: bool) -> None:
    """2.4.3-09: A review answers approved or not, nothing else."""
    answer = message(json.dumps({"approved": approved, "reason": "because"}))
    async with provider(api, Answer((answer,), usage=USAGE)) as (model, server):
        verdict = await ask(model, REVIEW)
    assert verdict.answer == Review(approved, "because")
    assert verdict.usage.total_tokens == 150
    assert Transcript.model_validate_json(verdict.transcript).step == "FACT_CHECK/review"
    body = server.requests[0].body
    assert "the claim" in json.dumps(body)
    assert "tools" not in body
    shape = {"openai": "text", "anthropic": "output_config", "chat": "response_format"}[api.protocol]
    assert json.dumps(dict(REVIEW.schema or {}))[1:-1] in json.dumps(body[shape])


@pytest.mark.parametrize(
    ("turn", "expected"),
    [
        (Answer((message("yes"),)), "NON_RETRYABLE"),
        (Answer((message('{"approved": "true", "reason": ""}'),)), "NON_RETRYABLE"),
        (Answer((message('{"reason": "none"}'),)), "NON_RETRYABLE"),
        (Answer(()), "NON_RETRYABLE"),
        (Answer((message("no", "refusal"),)), "NON_RETRYABLE"),
        (
            Answer((message('{"approved": true, "reason": ""}'),), status="incomplete", incomplete_reason="x"),
            "PARTIAL",
        ),
        (Broken("ends", (message('{"approved": true, "reason": ""}'),)), "PARTIAL"),
        (HttpError(401), "NON_RETRYABLE"),
        (HttpError(429), "TRANSIENT"),
        (HttpError(500), "TRANSIENT"),
        (Broken("silence"), "TRANSIENT"),
        (Broken("lost"), "TRANSIENT"),
        (Broken("error"), "TRANSIENT"),
    ],
    ids=repr,
)
@pytest.mark.requirement("2.4.3-10")
async def test_a_review_that_fails_is_an_error_and_never_a_verdict(api: Api, turn: Turn, expected: str) -> None:
    """2.4.3-10: An error of a review fails the attempt, it drops no claim."""
    async with provider(api, turn, silence_s=0.3) as (model, _):
        with pytest.raises(ModelError) as raised:
            await ask(model, REVIEW)
    assert raised.value.failure == expected
    assert raised.value.transcript is not None


@pytest.mark.requirement("2.4.3-10")
async def test_where_money_is_limited_no_review_is_bought_without_a_price(api: Api) -> None:
    """2.4.3-10: An error of a review fails the attempt, it drops no claim."""
    said = Answer((message(json.dumps({"approved": True, "reason": "ok"})),), usage=USAGE)
    async with provider(api, said) as (model, server):
        if not api.is_chat:
            assert (await ask(model, replace(REVIEW, limits=Limits(cost_micro_usd=1_000_000)))).answer.approved
            return
        with pytest.raises(ModelError) as raised:
            await ask(model, replace(REVIEW, limits=Limits(cost_micro_usd=1_000_000)))
    assert (raised.value.failure, raised.value.name) == ("NON_RETRYABLE", "PriceUnknown")
    assert server.requests == []


async def test_the_instances_own_key_can_be_tried(api: Api) -> None:
    async with provider(api, DONE, HttpError(401)) as (model, server):
        assert await model.probe_own() == KeyAccepted()
        refused = await model.probe_own()
    assert not isinstance(refused, KeyAccepted)
    assert refused.status == "invalid"
    assert len(server.requests) == 2


@pytest.mark.requirement("2.1-08")
async def test_a_readers_key_is_used_for_its_own_call_only_and_only_by_openai(api: Api) -> None:
    """2.1-08: User OpenAI key path."""
    async with provider(api, DONE, DONE) as (model, server):
        if not model.takes_readers_keys:
            failed = await failure(model, key=USER_KEY)
            assert (failed.failure, failed.name) == ("NON_RETRYABLE", "KeyOfNoUse")
            with pytest.raises(ModelError):
                await ask(model, REVIEW, USER_KEY)
            assert not isinstance(await model.probe(USER_KEY), KeyAccepted)
            assert server.requests == []
            return
        await run(model, key=USER_KEY)
        await run(model)
    assert api is OPENAI
    sent = [request.headers["authorization"] for request in server.requests]
    assert sent == [f"Bearer {USER_KEY.get_secret_value()}", f"Bearer {KEY.get_secret_value()}"]


async def test_only_so_many_claims_are_taken_and_the_model_is_told(api: Api) -> None:
    turns = Answer((submit("a"), submit("b"), submit("c"))), Answer((submit("d"), call(RETAIN, {"id": str(OLD)}, "e")))
    async with provider(api, *turns, DONE) as (model, server):
        outcomes, _ = await run(model, brief(limits=Limits(decisions={"submit_correction": 2})))
    assert [outcome.call_id for outcome in outcomes] == ["a", "b", "e"]
    assert "Nothing more of this" in answers(api, server.requests[1].body)["c"]
    assert "Nothing more of this" in answers(api, server.requests[2].body)["d"]


async def test_no_half_read_answer_is_left_to_the_garbage_collector(api: Api) -> None:
    """It runs in any thread, and would finalize what the event loop closes."""

    def half_read() -> list[object]:
        found = (each for each in gc.get_objects() if isinstance(each, AsyncGeneratorType))
        return [each for each in found if each.ag_frame is not None and "httpx2" in each.ag_code.co_filename]

    gc.collect()
    gc.disable()
    try:
        before = len(half_read())
        async with provider(api, Answer((submit("a"),)), DONE) as (model, _):
            await run(model)
        assert len(half_read()) == before
    finally:
        gc.enable()
