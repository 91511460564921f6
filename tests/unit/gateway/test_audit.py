"""What is shown of a tool call: all of a search, and of a submission that there was one."""

from __future__ import annotations

import json

import pytest

from services.gateway.graphql.audit import shown

WORDS = json.dumps({"claimText": "A sentence that may be right."})


@pytest.mark.parametrize(
    "call",
    [
        {"type": "function_call", "name": "submit_correction", "call_id": "c1", "arguments": WORDS},
        {"type": "tool_use", "id": "c1", "name": "submit_correction", "input": {"claimText": WORDS}},
        {"id": "c1", "type": "function", "function": {"name": "submit_correction", "arguments": WORDS}},
    ],
)
def test_a_submission_is_shown_without_its_words(call: dict[str, object]) -> None:
    public = shown(json.dumps(call))
    assert "sentence" not in public
    assert "submit_correction" in public
    assert "c1" in public


@pytest.mark.parametrize(
    "call",
    [
        {"type": "web_search_call", "id": "w1", "action": {"query": "how far is the moon"}},
        {"type": "function_call", "name": "fetch_url", "arguments": '{"url": "https://a.example"}'},
        {"function": None},
        {},
    ],
)
def test_everything_else_is_shown_as_it_was(call: dict[str, object]) -> None:
    assert json.loads(shown(json.dumps(call))) == call
