"""What is shown of an audit: all of a search, of a submission that there was one, and at length only what is public."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from services.gateway.audit.public import Found, audit, shown
from services.gateway.audit.withheld import MARK, Withheld

WORDS = json.dumps({"text": "A sentence that may be right.", "summary": "It is not so."})
NOTHING = Withheld(())
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
def test_a_submission_is_shown_without_its_words(call: dict[str, object]) -> None:
    public = json.dumps(shown(call, NOTHING))
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
def test_everything_else_is_shown_as_it_was(call: object) -> None:
    assert shown(call, NOTHING) == call


def found(*states: str, submitted: str | None = None) -> Found:
    """A run that submitted candidates, thought about them, and failed once with a message that repeats the last."""
    quotes = [f"The {state.lower()} sentence number {n} is as it is." for n, state in enumerate(states)]
    payloads = [{"text": quote, "context": quote, "summary": f"No: {quote}", "reasoning": "", "sources": []}
                for quote in quotes]  # fmt: skip
    calls = [{"type": "web_search_call", "query": quote} for quote in quotes]
    if submitted is not None:
        calls.append({"name": "submit_correction", "arguments": submitted})
    recorded = [
        {"index": n, "tool": "x", "payload": json.dumps(call), "captured_at": AT.isoformat()}
        for n, call in enumerate(calls)
    ]
    error = {"error_name": "Http400", "error_message": f"about {quotes[-1]}", "status_code": 400, "failed_at": AT}
    attempt: dict[str, Any] = {"number": 1, "tool_calls": recorded, "output_text": "All I say.", **error}
    failure = {"round": 1, "reason": f"about {quotes[-1]}", "status_code": None, "at": AT.isoformat()}
    candidates = [
        {"state": state, "payload": payload, "failures": [failure]}
        for state, payload in zip(states, payloads, strict=True)
    ]
    given = {"version": "1", "hash": "h", "text": "t", "unverified_because": None, "unverified_at": None}
    return Found(given, [attempt], candidates)


EXCHANGE = {
    "number": 1,
    "instructions": "be strict",
    "input": "the post",
    "input_characters": 8,
    "reasoning_effort": None,
    "reasoning_summary": None,
    "tools": None,
    "reasoning_summaries": ["I thought."],
    "citations": [
        {"type": "url_citation", "url": "https://a.example", "title": "The rejected sentence number 1 is so"}
    ],
}


def test_where_all_is_published_all_is_shown() -> None:
    public = audit(
        found("APPROVED", "APPROVED", submitted='{"summary": "no: the approved sentence number 1 is as it is"}')
    )
    (attempt,) = public.whole([EXCHANGE])["attempts"]
    assert (attempt["output_text"], attempt["reasoning_summaries"]) == ("All I say.", ["I thought."])
    assert attempt["citations"] == EXCHANGE["citations"]
    assert attempt["request"]["input"] == "the post"
    assert attempt["error"]["message"] == "about The approved sentence number 1 is as it is."
    assert not public.row["model_text_withheld"]


@pytest.mark.parametrize("state", ["REJECTED", "FAILED", "PENDING"])
def test_what_was_said_at_length_is_kept_back_where_a_candidate_is(state: str) -> None:
    public = audit(found("APPROVED", state))
    (attempt,) = public.whole([EXCHANGE])["attempts"]
    assert (attempt["output_text"], attempt["reasoning_summaries"]) == (None, [])
    assert attempt["request"]["input"] == "the post"
    assert attempt["error"]["message"] == MARK
    queries = [json.loads(call["payload"])["query"] for call in attempt["tool_calls"]]
    assert queries == ["The approved sentence number 0 is as it is.", MARK]
    assert [row["failures"][0]["reason"] for row in public.row["validation"]] == [MARK, MARK]
    assert attempt["citations"] == ([] if state == "REJECTED" else EXCHANGE["citations"])
    assert public.row["model_text_withheld"]


@pytest.mark.parametrize("words", ['{"summary": "Never told before."}', '{"summary": "cut', "[]x"])
def test_what_was_submitted_and_refused_is_kept_back_too(words: str) -> None:
    public = audit(found("APPROVED", submitted=words))
    assert public.row["attempts"][0]["output_text"] is None


def test_an_attempt_without_a_transcript_shows_that_there_is_none() -> None:
    public = audit(found("APPROVED"))
    without = EXCHANGE | {"input": None, "reasoning_summaries": None, "citations": None}
    for rows in ([], [without]):
        (attempt,) = public.whole(rows)["attempts"]
        assert (attempt["request"], attempt["reasoning_summaries"], attempt["citations"]) == (None, [], [])
