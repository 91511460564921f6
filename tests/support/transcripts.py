"""Transcripts for tests: one with a row of every kind, one of a failure, one of a review."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from contracts.transcript import Call, Failed, MessageText, Research, Transcript

BEGAN = datetime(2026, 1, 5, 8, 59, tzinfo=UTC)
SSE = {"content-type": "text/event-stream"}
TOOLS: tuple[dict[str, Any], ...] = (
    {"type": "web_search"},
    {"type": "function", "name": "fetch_url", "strict": True, "parameters": {"type": "object"}},
)
CITED = {"type": "url_citation", "start_index": 1, "end_index": 4, "url": "https://e.example", "title": "E"}
OUTPUT: list[dict[str, Any]] = [
    {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Look it up."}]},
    {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "cheese"}},
    {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "call_1",
        "name": "fetch_url",
        "arguments": '{"url": "https://e.example"}',
        "status": "completed",
    },
    {
        "type": "message",
        "id": "msg_1",
        "status": "completed",
        "content": [
            {"type": "output_text", "text": "It is rock.", "annotations": [CITED]},
            {"type": "refusal", "refusal": "No more."},
        ],
    },
]
PAGE = Research(
    call_id="call_1",
    name="fetch_url",
    arguments='{"url": "https://e.example"}',
    output='{"contentText": "rock"}',
    started_at=BEGAN + timedelta(seconds=2),
    completed_at=BEGAN + timedelta(seconds=3),
)


def run(*, output: Sequence[object] = OUTPUT, **given: Any) -> str:
    """A run that went well."""
    response = {
        "object": "response",
        "id": "resp_1",
        "status": "completed",
        "model": "gpt-test-2026-01-01",
        "output": output,
        "usage": {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15},
    }
    return _written("look", response, tools=TOOLS, research=(PAGE,), **given)


def failure() -> str:
    """A run that failed before anything was said."""
    return _written(
        "investigation", None, tools=TOOLS, error=Failed(failure="TRANSIENT", name="Http429", reason="busy")
    )


def review(*, approved: bool = True) -> str:
    """A review, which asks without tools."""
    said = json.dumps({"approved": approved, "reason": "looked"})
    message = {"type": "message", "id": "m", "status": "completed", "content": [{"type": "output_text", "text": said}]}
    response = {"object": "response", "id": "resp_2", "status": "completed", "model": "gpt-test", "output": [message]}
    return _written("review", response)


def _written(step: str, response: dict[str, Any] | None, **given: Any) -> str:
    completed = {"type": "response.completed", "response": response}
    call = Call(
        request={"model": "gpt-test"},
        started_at=BEGAN,
        completed_at=BEGAN + timedelta(seconds=1),
        status=200 if response else 429,
        headers=SSE,
        body=f"event: response.completed\ndata: {json.dumps(completed)}\n\n" if response else "",
        ending="complete",
    )
    head = {
        "step": f"FACT_CHECK/{step}",
        "protocol": "openai_responses",
        "provider": "openai",
        "model": "gpt-test",
        "instructions": f"be strict in the {step}",
        "input": (MessageText(text="<<<ARTICLE>>> The moon is made of cheese."),),
        "reasoning": {"effort": "low", "summary": "auto"},
        "calls": (call,),
    }
    return Transcript.model_validate(head | given).model_dump_json()
