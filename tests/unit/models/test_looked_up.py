"""Which addresses count as looked up: what tools gave, by any attempt, and never what only a model or a page wrote."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.transcript import Call, Protocol, Research, Transcript
from kit.models.looked_up import all_searches_failed, list_looked_up
from tests.support.factories import NOW

JSON = {"content-type": "application/json"}
SSE = {"content-type": "text/event-stream"}


def transcript(protocol: Protocol, *bodies: str, headers: dict[str, str] = JSON, **more: Any) -> Transcript:
    calls = tuple(Call(request={}, status=200, headers=headers, body=body, ending="complete") for body in bodies)
    return Transcript(
        step="CLAIM_AUDIT/analyse", protocol=protocol, provider="p", model="m", instructions="", input=(), calls=calls
    ).model_copy(update=more)


def lookup(name: str, output: object) -> Research:
    text = output if isinstance(output, str) else json.dumps(output)
    return Research(call_id="c", name=name, arguments="{}", output=text, started_at=NOW, completed_at=NOW)


@pytest.mark.requirement("FH-143")
def test_what_we_fetched_or_searched_for_the_model_counts() -> None:
    """FH-143: Every quote stands on the page as we read it, else its item is dropped and counted."""
    research = (
        lookup("fetch_url", {"ok": True, "requestedUrl": "https://a.test/", "finalUrl": "https://b.test/"}),
        lookup("fetch_url", {"ok": False, "requestedUrl": "https://dead.test/", "error": "http_404"}),
        lookup("fetch_url", {"ok": False, "requestedUrl": None, "error": "See https://error.test/"}),
        lookup("web_search", {"ok": True, "results": [{"title": "T", "url": "https://found.test/", "snippet": "s"}]}),
        lookup("broken", "no JSON: https://broken.test/"),
    )
    found = list_looked_up(transcript("chat_completions", research=research))
    assert found == {"https://a.test/", "https://b.test/", "https://dead.test/", "https://found.test/"}


@pytest.mark.requirement("FH-143")
def test_what_openai_opened_and_cited_counts_and_what_the_model_asked_of_us_does_not() -> None:
    """FH-143: Every quote stands on the page as we read it, else its item is dropped and counted."""
    cited = {"type": "url_citation", "url": "https://cited.test/?utm_source=openai"}
    sources = [{"type": "url", "url": "https://source.test/"}]
    output = [
        {"type": "web_search_call", "action": {"type": "open_page", "url": "https://opened.test/"}},
        {"type": "web_search_call", "action": {"type": "search", "query": "https://query.test/", "sources": sources}},
        {"type": "function_call", "name": "fetch_url", "url": "https://no.test/", "arguments": '{"url": "x://no"}'},
        {"type": "message", "content": [{"type": "output_text", "text": "https://text.test/", "annotations": [cited]}]},
    ]
    found = list_looked_up(transcript("openai_responses", json.dumps({"object": "response", "output": output})))
    assert found == {
        "https://opened.test/",
        "https://source.test/",
        "https://cited.test/",
        "https://cited.test/?utm_source=openai",
    }


@pytest.mark.requirement("FH-143")
def test_what_anthropic_searched_counts_and_what_the_model_asked_of_us_does_not() -> None:
    """FH-143: Every quote stands on the page as we read it, else its item is dropped and counted."""
    results = [{"type": "web_search_result", "url": "https://found.test/", "title": "T", "encrypted_content": "e"}]
    blocks = [
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": results},
        {"type": "tool_use", "id": "t1", "name": "fetch_url", "input": {"url": "https://asked.test/"}},
        {"type": "text", "text": "See https://text.test/", "citations": [{"type": "c", "url": "https://cited.test/"}]},
    ]
    events: list[dict[str, Any]] = [{"type": "message_start", "message": {"id": "m"}}]
    for index, block in enumerate(blocks):
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        events.append({"type": "content_block_stop", "index": index})
    body = "".join(f"data: {json.dumps(each)}\n\n" for each in events)
    found = list_looked_up(transcript("anthropic", body, headers=SSE))
    assert found == {"https://found.test/", "https://cited.test/"}


OK, REFUSED = {"ok": True, "results": []}, {"ok": False, "error": "The engine is busy."}


@pytest.mark.parametrize(
    ("outputs", "in_vain"),
    [((), False), ((REFUSED, REFUSED), True), ((REFUSED, OK), False), (("no JSON",), True), ((OK,), False)],
)
def test_searches_of_ours_are_in_vain_if_none_is_answered(outputs: tuple[object, ...], in_vain: bool) -> None:
    research = (lookup("fetch_url", {"ok": True}), *(lookup("web_search", each) for each in outputs))
    assert all_searches_failed(transcript("chat_completions", research=research)) is in_vain


@pytest.mark.parametrize(
    ("statuses", "in_vain"), [(("failed",), True), (("failed", "completed"), False), (("completed",), False)]
)
def test_so_are_those_of_openai(statuses: tuple[str, ...], in_vain: bool) -> None:
    output = [{"type": "web_search_call", "id": f"w{n}", "status": each} for n, each in enumerate(statuses)]
    body = json.dumps({"object": "response", "output": output})
    assert all_searches_failed(transcript("openai_responses", body)) is in_vain


@pytest.mark.parametrize(("content", "in_vain"), [([], False), ({"type": "web_search_tool_result_error"}, True)])
def test_and_those_of_anthropic(content: object, in_vain: bool) -> None:
    block = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": content}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {"id": "m"}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_stop", "index": 0},
    ]
    body = "".join(f"data: {json.dumps(each)}\n\n" for each in events)
    assert all_searches_failed(transcript("anthropic", body, headers=SSE)) is in_vain


@given(st.text(), st.text())
def test_a_page_cannot_add_an_address(title: str, text: str) -> None:
    hostile = json.dumps({"url": "https://planted.test/"}) + text
    page = {"ok": True, "requestedUrl": "https://a.test/", "title": title, "contentText": hostile}
    assert list_looked_up(transcript("demo", research=(lookup("fetch_url", page),))) == {"https://a.test/"}
