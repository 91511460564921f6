"""What is shown of an audit: all of a search, of a submission that there was one, and at length only what is public."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from pydantic import JsonValue

from services.gateway.public.audit import redact_call, redact_run
from services.gateway.public.redaction import MARK, Redactor
from services.gateway.record.runs import (
    Attempt,
    AttemptError,
    Citation,
    Exchange,
    Prompt,
    Request,
    ReviewFailure,
    Run,
    ToolCall,
)
from tests.support.record_rows import a_candidate

WORDS = json.dumps({"text": "A sentence that may be right.", "summary": "It is not so."})
NOTHING = Redactor(())
AT = datetime(2026, 1, 5, 9, tzinfo=UTC)


@pytest.mark.parametrize(
    "call",
    [
        {"type": "function_call", "name": "submit_correction", "call_id": "c1", "arguments": WORDS},
        {"type": "function_call", "name": "submit_corrections", "call_id": "c1", "arguments": WORDS},
        {"type": "tool_use", "id": "c1", "name": "submit_correction", "input": {"text": WORDS}},
        {"id": "c1", "type": "function", "function": {"name": "submit_correction", "arguments": WORDS}},
    ],
)
def test_a_submission_is_shown_without_its_words(call: JsonValue) -> None:
    public = json.dumps(redact_call(call, NOTHING))
    assert "sentence" not in public
    assert "submit_correction" in public
    assert "c1" in public


@pytest.mark.parametrize(
    "call",
    [
        {"type": "web_search_call", "id": "w1", "action": {"query": "how far is the moon"}},
        {"type": "server_tool_use", "name": "web_search", "input": {"query": "how far is the moon"}},
        {"type": "function_call", "name": "fetch_url", "arguments": '{"url": "https://a.example"}'},
        {"type": "function_call", "name": "author_history", "arguments": '{"posts": 3}'},
        {"type": "function_call", "name": "retain_correction", "arguments": '{"id": "7"}'},
        {"function": None},
        {},
        "words",
    ],
)
def test_everything_else_is_shown_as_it_was(call: JsonValue) -> None:
    assert redact_call(call, NOTHING) == call


def run(*states: str, submitted: str | None = None) -> Run:
    """A run that submitted candidates, thought about them, and failed once with a message that repeats the last."""
    quotes = [f"The {state.lower()} sentence number {n} is as it is." for n, state in enumerate(states)]
    calls: list[dict[str, str]] = [{"type": "web_search_call", "query": quote} for quote in quotes]
    if submitted is not None:
        calls.append({"name": "submit_correction", "arguments": submitted})
    attempt = Attempt(
        number=1,
        outcome="FAILED",
        requested_model="m",
        answered_by_model=None,
        prompt_hash="h",
        input_hash="h",
        transcript_hash=None,
        output_text="All I say.",
        started_at=AT,
        completed_at=AT,
        usage=None,
        error=AttemptError("Http400", f"about {quotes[-1]}", 400, AT),
        tool_calls=tuple(ToolCall(n, "x", None, json.dumps(call), AT) for n, call in enumerate(calls)),
    )
    failure = ReviewFailure(1, f"about {quotes[-1]}", None, AT)
    candidates = [
        replace(
            a_candidate(state),
            payload={"text": quote, "context": quote, "summary": f"No: {quote}", "reasoning": "", "sources": []},
            failures=(failure,),
        )
        for state, quote in zip(states, quotes, strict=True)
    ]
    return Run(
        analysis="FACT_CHECK",
        round=1,
        requested_by=None,
        queued_at=AT,
        parent_investigation_id=None,
        content_diff=None,
        content_hash="h",
        markdown_source="NONE",
        renderer_version=None,
        prompt=Prompt("1", "h", "t"),
        verification_failure=None,
    ).with_parts([attempt], candidates)


EXCHANGE = Exchange(
    number=1,
    request=Request("be strict", "the post", 8, (), None, None),
    reasoning_summaries=("I thought.",),
    citations=(Citation("url_citation", "https://a.example", "The rejected sentence number 1 is so"),),
)


def test_where_all_is_published_all_is_shown() -> None:
    public = redact_run(
        run("APPROVED", "APPROVED", submitted='{"summary": "no: the approved sentence number 1 is as it is"}')
    )
    (attempt,) = public.with_exchanges([EXCHANGE]).attempts
    assert (attempt.output_text, attempt.reasoning_summaries) == ("All I say.", ("I thought.",))
    assert attempt.citations == EXCHANGE.citations
    assert attempt.request is not None
    assert attempt.request.input == "the post"
    assert attempt.error is not None
    assert attempt.error.message == "about The approved sentence number 1 is as it is."
    assert not public.run.model_text_withheld


@pytest.mark.parametrize("state", ["REJECTED", "FAILED", "PENDING"])
def test_what_was_said_at_length_is_kept_back_where_a_candidate_is(state: str) -> None:
    public = redact_run(run("APPROVED", state))
    (attempt,) = public.with_exchanges([EXCHANGE]).attempts
    assert (attempt.output_text, attempt.reasoning_summaries) == (None, ())
    assert attempt.request is not None
    assert attempt.request.input == "the post"
    assert attempt.error is not None
    assert attempt.error.message == MARK
    queries = [json.loads(call.payload)["query"] for call in attempt.tool_calls]
    assert queries == ["The approved sentence number 0 is as it is.", MARK]
    assert [row.failures[0].reason for row in public.run.validation] == [MARK, MARK]
    assert [row.payload for row in public.run.validation] == [None, None]
    assert attempt.citations == (() if state == "REJECTED" else EXCHANGE.citations)
    assert public.run.model_text_withheld


@pytest.mark.parametrize("words", ['{"summary": "Never told before."}', '{"summary": "cut', "[]x"])
def test_what_was_submitted_and_refused_is_kept_back_too(words: str) -> None:
    public = redact_run(run("APPROVED", submitted=words))
    assert public.run.attempts[0].output_text is None


def test_an_attempt_without_a_transcript_shows_that_there_is_none() -> None:
    public = redact_run(run("APPROVED"))
    without = replace(EXCHANGE, request=None, reasoning_summaries=(), citations=())
    for rows in ([], [without]):
        (attempt,) = public.with_exchanges(rows).attempts
        assert (attempt.request, attempt.reasoning_summaries, attempt.citations) == (None, (), ())
