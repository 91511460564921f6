"""Every exchange with a model is in the tables, word for word, and a transcript that is not to be had stops nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from contracts.v1.parts import TextRef
from services.projector.rebuild.rebuild import rebuild
from tests.integration.readmodel_tables import ANALYSES, NoTexts, everything, fill, prepare, store_at
from tests.support import transcripts
from tests.support.servers import Prepare
from tests.unit.projector.histories import TRANSCRIPT, Page, Tape, digest, inline

pytest_plugins = ["tests.support.servers"]


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return prepare


def named(text: str) -> TextRef:
    """A text that lies in the blob store."""
    return TextRef(sha256=digest(text), size_bytes=len(text.encode()))


async def told(url: str, tape: Tape, texts: NoTexts | None = None) -> dict[str, list[dict[str, Any]]]:
    """The tables after these facts."""
    store = store_at(url, texts=texts)
    await fill(store, tape.records)
    await store.close()
    return await everything(url)


@pytest.mark.requirement("2.12-02", "2.12-03", "2.12-04")
async def test_every_row_of_an_attempt(database_url: str) -> None:
    """2.12-02: Prompt version/hash/text persisted.
    2.12-03: Provider/model/version metadata.
    2.12-04: Each attempt is recorded: tools, answers, citations, reasoning, usage, errors.
    """
    page, tape = Page("a"), Tape()
    tape.add(
        page.registered(), page.requested(), page.started(), page.retry(), page.started(2), page.drafted(attempt=2)
    )
    found = await told(database_url, tape)
    failed, drafted = sorted(found["investigation_attempt"], key=lambda row: row["attempt_number"])
    assert (failed["outcome"], failed["transcript_state"]) == ("FAILED", "read")
    (error,) = found["investigation_attempt_error"]
    assert (error["attempt_id"], error["error_name"], error["status_code"]) == (failed["id"], "Http429", 429)
    assert {
        name: value for name, value in drafted.items() if name.startswith(("request", "response", "transcript"))
    } == {
        "request_model": "gpt-test",
        "request_instructions": "be strict in the look",
        "request_input": "<<<ARTICLE>>> The moon is made of cheese.",
        "request_reasoning_effort": "low",
        "request_reasoning_summary": "auto",
        "response_id": "resp_1",
        "response_status": "completed",
        "response_model_version": "1",
        "response_output_text": "It is rock.",
        "transcript_hash": TRANSCRIPT.sha256,
        "transcript_state": "read",
    }
    assert drafted["prompt_hash"] == found["prompt"][0]["hash"]
    assert drafted["content_hash"] == digest(page.text)
    mine = [row for row in found["investigation_attempt_requested_tool"] if row["attempt_id"] == drafted["id"]]
    assert sorted((row["request_order"], row["tool_type"], row["raw_definition"]) for row in mine) == [
        (place, tool["type"], tool) for place, tool in enumerate(transcripts.TOOLS)
    ]
    items = sorted(found["investigation_attempt_output_item"], key=lambda row: row["output_index"])
    assert [(row["item_type"], row["provider_item_id"], row["item_status"]) for row in items] == [
        ("reasoning", None, None),
        ("web_search_call", "ws_1", "completed"),
        ("function_call", "fc_1", "completed"),
        ("message", "msg_1", "completed"),
    ]
    (thought,) = found["investigation_attempt_reasoning_summary"]
    assert (thought["output_item_id"], thought["summary_index"], thought["text"]) == (items[0]["id"], 0, "Look it up.")
    calls = sorted(found["investigation_attempt_tool_call"], key=lambda row: row["output_index"])
    assert [(row["output_item_id"], row["provider_tool_call_id"], row["raw_payload"]) for row in calls] == [
        (items[1]["id"], "ws_1", transcripts.OUTPUT[1]),
        (items[2]["id"], "call_1", transcripts.OUTPUT[2]),
    ]
    assert [row["captured_at"] for row in calls] == ["2026-01-05T08:59:01+00:00"] * 2
    parts = sorted(found["investigation_attempt_text_part"], key=lambda row: row["part_index"])
    assert [(row["output_item_id"], row["part_type"], row["text"]) for row in parts] == [
        (items[3]["id"], "output_text", "It is rock."),
        (items[3]["id"], "refusal", "No more."),
    ]
    (cited,) = found["investigation_attempt_annotation"]
    assert (cited["text_part_id"], cited["start_index"], cited["end_index"]) == (parts[0]["id"], 1, 4)
    assert (cited["annotation_type"], cited["url"], cited["title"]) == ("url_citation", "https://e.example", "E")
    (usage,) = found["investigation_attempt_usage"]
    assert (usage["attempt_id"], usage["total_tokens"]) == (drafted["id"], 15)


@pytest.mark.requirement("2.12-03", "2.12-04")
async def test_reviews_that_failed_for_now_stay_beside_the_verdict(database_url: str) -> None:
    """2.12-03: Provider/model/version metadata.
    2.12-04: Each attempt is recorded: tools, answers, citations, reasoning, usage, errors.
    """
    page, tape = Page("a"), Tape()
    tape.add(page.registered(), page.requested(), page.started(), page.tried(0), page.proposed(0))
    tape.add(page.tried(0), page.tried(0, 2), page.approved(0))
    found = await told(database_url, tape)
    rows = sorted(found["claim_review"], key=lambda row: row["attempt"])
    assert [(row["attempt"], row["outcome"]) for row in rows] == [(0, "APPROVED"), (1, "RETRIED"), (2, "RETRIED")]
    assert [(row["status_code"], row["total_tokens"]) for row in rows] == [(None, 6), (503, 3), (503, 3)]
    assert rows[1]["reason"] == "reviewer is busy"
    assert rows[1]["transcript_state"] == "read"
    (asked,) = [row for row in found["prompt"] if row["hash"] == rows[1]["prompt_hash"]]
    assert (asked["version"], asked["text"]) == ("r1", "doubt")
    assert sum(row["total_tokens"] for row in found["expense"] if row["stage"] == "VALIDATION") == 12
    (candidate,) = found["claim_candidate"]
    assert candidate["state"] == "APPROVED"


@pytest.mark.requirement("2.12-04")
async def test_what_a_reviewer_was_really_asked(database_url: str) -> None:
    """2.12-04: Each attempt is recorded: tools, answers, citations, reasoning, usage, errors."""
    page, tape = Page("a"), Tape()
    tape.add(page.registered(), *page.investigated())
    rows = {row["claim_id"]: row for row in (await told(database_url, tape))["claim_review"]}
    yes, no = rows[str(page.claim(0)[0])], rows[str(page.claim(1)[0])]
    assert (yes["outcome"], yes["gate"], yes["total_tokens"]) == ("APPROVED", None, 6)
    assert (no["outcome"], no["gate"], no["reason"]) == ("REJECTED", "MODEL", "not so wrong")
    for row, approved in ((yes, True), (no, False)):
        assert row["request_instructions"] == "be strict in the review"
        assert row["request_input"] == "<<<ARTICLE>>> The moon is made of cheese."
        assert json.loads(row["response_output_text"])["approved"] is approved
        assert row["output_items"][0]["text_parts"][0]["text"] == row["response_output_text"]
        assert row["requested_tools"] == []


@pytest.mark.requirement("2.12-04")
async def test_a_transcript_that_is_not_to_be_had_stops_nothing(database_url: str) -> None:
    """2.12-04: Each attempt is recorded: tools, answers, citations, reasoning, usage, errors."""
    tape, states = Tape(), ("missing", "unreadable", "unreadable")
    too_far = {"type": "url_citation", "start_index": 2**40, "url": "https://e.example"}
    text = {"type": "output_text", "text": "x", "annotations": [too_far]}
    refused = transcripts.run(output=[{"type": "message", "content": [text]}])
    pages = [Page(name) for name in ("gone", "strange", "refused")]
    for page, transcript in zip(pages, (named("gone"), inline("{}"), inline(refused)), strict=True):
        events = (page.requested(), page.started(), page.proposed(0), page.drafted(1, transcript=transcript))
        tape.add(page.registered(), *events, page.approved(0), page.completed([0]))
    found = await told(database_url, tape)
    state = {row["investigation_id"]: row["transcript_state"] for row in found["investigation_attempt"]}
    assert [state[str(page.investigation_id)] for page in pages] == list(states)
    assert {row["outcome"] for row in found["investigation_attempt"]} == {"SUCCEEDED"}
    assert {row["status"] for row in found["investigation"]} == {"COMPLETE"}
    assert len(found["investigation_attempt_usage"]) == len(found["investigation_doc"]) == 3
    assert not found["investigation_attempt_output_item"]


@pytest.mark.requirement("2.12-04")
async def test_five_megabytes_and_the_same_rows_again(database_url: str) -> None:
    """2.12-04: Each attempt is recorded: tools, answers, citations, reasoning, usage, errors."""
    said = [
        {"type": "function_call", "id": f"fc_{n}", "call_id": f"c{n}", "status": "completed", "arguments": "x" * 5_000}
        for n in range(1_000)
    ]
    large = transcripts.run(output=said)
    assert len(large) > 5_000_000
    texts, tape, page = NoTexts(**{digest(large): large}), Tape(), Page("a")
    tape.add(page.registered(), page.requested(), page.started(), page.retry())
    tape.add(page.started(2), page.drafted(attempt=2, transcript=named(large)), page.completed(attempt=2))
    other = Page("b")
    tape.add(other.registered(), other.requested(), other.started(), other.drafted(transcript=named(large)))
    found = await told(database_url, tape, texts)
    assert len(found["investigation_attempt_tool_call"]) == 2_000
    assert sum(len(json.dumps(row["raw_payload"])) for row in found["investigation_attempt_tool_call"]) > 10_000_000
    await rebuild(database_url, texts, analyses=ANALYSES)
    assert await everything(database_url) == found


@pytest.mark.requirement("2.12-04")
async def test_what_a_lost_attempt_had_spent_is_counted_once_and_grows(database_url: str) -> None:
    """The first attempt is cut short after two answers, the second ends; facts are told again, and out of order.

    2.12-04: Each attempt is recorded: tools, answers, citations, reasoning, usage, errors.
    """
    page, tape = Page("a"), Tape()
    tape.add(page.registered(), page.requested(), page.started(), page.advanced(2), page.advanced(1), page.advanced(2))
    tape.add(page.started(2), page.advanced(1, attempt=2), page.drafted(attempt=2), page.advanced(1, attempt=2))
    rows = (await told(database_url, tape))["expense"]
    assert sorted((row["total_tokens"], row["cost_micro_usd"]) for row in rows) == [(10, 14), (15, None)]
