"""Every provider's answers as rows of the same tables, and no rows where there is nothing to read."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.transcript import Call, Failed, MessagePicture, MessageText, Protocol, Research, Transcript
from contracts.v1.parts import Usage
from kit.models.audit import RequestedTool, rows
from kit.models.audit_rows import Annotation, TextPart
from kit.models.prices import LISTED

NOW = datetime(2026, 11, 20, tzinfo=UTC)
SSE = {"content-type": "text/event-stream; charset=utf-8"}
CITED = {"type": "url_citation", "start_index": 1, "end_index": 4, "url": "https://e.org", "title": "E"}
OUTPUT: list[dict[str, Any]] = [
    {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "First."}, {"text": "Then."}]},
    {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "bats"}},
    {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "arguments": "{}", "status": "completed"},
    {
        "type": "message",
        "id": "msg_1",
        "status": "completed",
        "content": [
            {"type": "output_text", "text": "They see.", "annotations": [CITED]},
            {"type": "refusal", "refusal": "Not that."},
        ],
    },
]
RESPONSE = {
    "object": "response",
    "id": "resp_1",
    "status": "completed",
    "model": "gpt-5.4-2026-03-05",
    "output": OUTPUT,
    "usage": {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15},
}


def stream(*events: dict[str, Any]) -> str:
    return "".join(f"event: {event.get('type', 'x')}\r\ndata: {json.dumps(event)}\r\n\r\n" for event in events)


def transcript(protocol: Protocol, *bodies: str, headers: dict[str, str] | None = None, **more: Any) -> Transcript:
    calls = tuple(
        Call(
            request={},
            started_at=NOW + timedelta(seconds=2 * place),
            completed_at=NOW + timedelta(seconds=2 * place + 1),
            status=200,
            headers=SSE if headers is None else headers,
            body=body,
            ending="complete",
        )
        for place, body in enumerate(bodies)
    )
    whole: dict[str, Any] = {
        "step": "FACT_CHECK/look",
        "protocol": protocol,
        "provider": "p",
        "model": "gpt-5.4",
        "instructions": "be strict",
        "input": (MessageText(text="look: "), MessagePicture(sha256="a" * 64, media_type="image/png", size_bytes=1)),
        "calls": calls,
    }
    return Transcript.model_validate(whole | more)


@pytest.mark.requirement("2.12-04")
def test_every_row_of_a_responses_answer() -> None:
    """2.12-04: Each attempt is recorded: tools, answers, citations, reasoning, usage, errors."""
    completed = {"type": "response.completed", "response": RESPONSE}
    tool: dict[str, Any] = {"type": "web_search"}
    audit = rows(
        transcript(
            "openai_responses",
            stream({"type": "response.created", "response": {"id": "x"}}, completed),
            tools=(tool,),
            reasoning={"effort": "medium", "summary": "detailed"},
            price=LISTED["gpt-5.4"],
        )
    )
    assert (audit.request_model, audit.request_instructions) == ("gpt-5.4", "be strict")
    assert audit.request_input == f"look: [picture sha256:{'a' * 64}]"
    assert (audit.request_reasoning_effort, audit.request_reasoning_summary) == ("medium", "detailed")
    assert audit.requested_tools == (RequestedTool(0, "web_search", tool),)
    assert (audit.response_id, audit.response_status) == ("resp_1", "completed")
    assert (audit.response_model_version, audit.response_output_text) == ("gpt-5.4-2026-03-05", "They see.")
    assert audit.usage == Usage(input_tokens=10, output_tokens=5, total_tokens=15, cost_micro_usd=10_100)
    assert (audit.started_at, audit.completed_at) == (NOW, NOW + timedelta(seconds=1))
    thinking, searching, calling, saying = audit.output_items
    assert thinking.reasoning_summaries == ("First.", "Then.")
    assert (thinking.provider_item_id, thinking.item_status) == (None, None)
    assert (searching.provider_item_id, searching.item_status) == ("ws_1", "completed")
    assert searching.tool_call is not None
    assert searching.tool_call.raw_payload == OUTPUT[1]
    assert calling.tool_call is not None
    assert (calling.tool_call.tool_type, calling.tool_call.provider_tool_call_id) == ("function_call", "c1")
    assert calling.tool_call.captured_at == NOW + timedelta(seconds=1)
    assert saying.tool_call is None
    assert saying.text_parts == (
        TextPart(0, "output_text", "They see.", (Annotation(0, "url_citation", 1, 4, "https://e.org", "E"),)),
        TextPart(1, "refusal", "Not that."),
    )


def test_items_of_a_stream_that_broke_are_kept() -> None:
    done = [{"type": "response.output_item.done", "item": item} for item in OUTPUT[:2]]
    cut = stream({"type": "response.created", "response": {"id": "r", "model": "m"}}, *done) + 'data: {"type": "resp'
    audit = rows(transcript("openai_responses", cut))
    assert [item.item_type for item in audit.output_items] == ["reasoning", "web_search_call"]
    assert (audit.response_id, audit.response_output_text, audit.usage) == ("r", None, None)


def test_calls_of_a_run_are_counted_on_and_added_up() -> None:
    whole = json.dumps(RESPONSE)
    audit = rows(transcript("openai_responses", whole, whole, headers={"content-type": "application/json"}))
    assert [item.output_index for item in audit.output_items] == list(range(8))
    assert audit.usage == Usage(input_tokens=20, output_tokens=10, total_tokens=30)
    assert audit.completed_at == NOW + timedelta(seconds=3)


def test_a_messages_answer_has_the_same_rows() -> None:
    start = {"id": "m1", "model": "claude-x", "content": [], "usage": {"input_tokens": 7, "output_tokens": 1}}
    cited = {"type": "web_search_result_location", "url": "https://e.org", "title": "E", "cited_text": "t"}
    audit = rows(
        transcript(
            "anthropic",
            stream(
                {"type": "message_start", "message": start},
                {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
                {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "They "}},
                {"type": "content_block_delta", "index": 0, "delta": {"type": "citations_delta", "citation": cited}},
                {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "see."}},
                {"type": "content_block_stop", "index": 0},
                {
                    "type": "content_block_start",
                    "index": 1,
                    "content_block": {"type": "tool_use", "id": "c1", "name": "f", "input": {}},
                },
                {
                    "type": "content_block_delta",
                    "index": 1,
                    "delta": {"type": "input_json_delta", "partial_json": '{"a": 1}'},
                },
                {"type": "content_block_stop", "index": 1},
                {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 9}},
                {"type": "message_stop"},
            ),
        )
    )
    said, called = audit.output_items
    assert said.text_parts[0].text == "They see."
    assert said.text_parts[0].annotations == (
        Annotation(0, "web_search_result_location", url="https://e.org", title="E"),
    )
    assert called.tool_call is not None
    assert called.tool_call.raw_payload == {"type": "tool_use", "id": "c1", "name": "f", "input": {"a": 1}}
    assert (audit.response_id, audit.response_status, audit.response_model_version) == ("m1", "tool_use", "claude-x")
    assert audit.usage == Usage(input_tokens=7, output_tokens=9, total_tokens=16)


def test_a_chat_answer_has_the_same_rows() -> None:
    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        return {"id": "c", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    piece = {"index": 0, "id": "c1", "function": {"name": "f", "arguments": "{}"}}
    usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
    audit = rows(
        transcript(
            "chat_completions",
            stream(
                chunk({"reasoning_content": "Hm."}),
                chunk({"content": "They see."}),
                chunk({"tool_calls": [piece]}),
                chunk({}, "tool_calls"),
                {"choices": [], "usage": usage},
            )
            + "data: [DONE]\n\n",
            tools=({"type": "function", "function": {"name": "f"}},),
        )
    )
    thinking, said, called = audit.output_items
    assert thinking.reasoning_summaries == ("Hm.",)
    assert said.text_parts == (TextPart(0, "output_text", "They see."),)
    assert called.tool_call is not None
    assert called.tool_call.provider_tool_call_id == "c1"
    assert audit.usage == Usage(input_tokens=3, output_tokens=2, total_tokens=5)
    assert audit.requested_tools[0].tool_type == "function"


def test_a_failure_is_a_row_too() -> None:
    error = Failed(failure="TRANSIENT", name="Http500", reason="The provider answered 500", status_code=500)
    looked = Research(call_id="a", name="f", arguments="", output="", started_at=NOW, completed_at=NOW)
    audit = rows(transcript("openai_responses", '{"error": {}}', headers={}, error=error, research=(looked,)))
    assert audit.error == error
    assert audit.output_items == ()
    assert audit.usage is None


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["message", "response", "text", "x"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "type",
                    "item",
                    "response",
                    "output",
                    "usage",
                    "content",
                    "message",
                    "index",
                    "delta",
                    "choices",
                    "calls",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
TYPES = st.sampled_from(
    [
        "response.completed",
        "response.output_item.done",
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
    ]
)


@given(st.sampled_from(get_args(Protocol)), st.lists(st.tuples(TYPES, JUNK), max_size=4), st.booleans())
def test_nothing_that_a_provider_sends_breaks_the_audit(
    protocol: Protocol, events: list[tuple[str, Any]], named: bool
) -> None:
    sent = [({"type": kind} | junk) if named and isinstance(junk, dict) else junk for kind, junk in events]
    body = "".join(f"data: {json.dumps(event)}\n\n" for event in sent)
    audit = rows(transcript(protocol, body))
    assert [item.output_index for item in audit.output_items] == list(range(len(audit.output_items)))


def test_what_no_database_can_hold_is_not_in_the_rows() -> None:
    said = {"type": "message", "content": [{"type": "output_text", "text": "a\x00b\ud800"}]}
    audit = rows(transcript("openai_responses", json.dumps(RESPONSE | {"output": [said]}), headers={}))
    assert audit.output_items[0].text_parts[0].text == "a\ufffdb\ufffd"
