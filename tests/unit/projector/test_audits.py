"""Transcripts become rows, or leave word that they could not; none of them stops anything."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.v1.parts import TextRef
from services.projector.facts.reading import Batch, read
from services.projector.rows.attempts import ATTEMPTS, ToolCall
from services.projector.store.write import as_json
from services.projector.transcripts.exchange import MISSING, UNREADABLE, read_transcript
from services.projector.transcripts.fetch import LARGEST_BYTES, fetch_exchanges, mark_unreadable, split_by_size
from tests.integration.readmodel_tables import NoTexts
from tests.support import transcripts
from tests.unit.projector.histories import START, Page, Tape, digest, uid
from tests.unit.projector.test_project import folded

ATTEMPT = (uid("attempt"), digest("t"), START)


def drafts(*sizes: int) -> Batch:
    """Attempts that drafted, with transcripts of so many bytes that lie elsewhere."""
    tape, page = Tape(), Page("a")
    for number, size in enumerate(sizes, 1):
        tape.add(page.drafted(attempt=number, transcript=TextRef(sha256=digest(str(number)), size_bytes=size)))
    return read(tape.records)


@given(st.lists(st.integers(0, 30), min_size=1, max_size=12))
def test_no_part_of_a_batch_has_more_transcripts_than_a_transaction_bears(sizes: Sequence[int]) -> None:
    batch = drafts(*sizes)
    parts = list(split_by_size(batch, 20))
    assert [record for part in parts for record in part.records] == list(batch.records)
    assert [fact for part in parts for fact in part.facts] == list(batch.facts)
    for part in parts:
        held = [sizes[record.sequence - 1] for record in part.records]
        assert sum(held) <= 20 or len([size for size in held if size]) == 1


def test_a_batch_that_can_be_borne_is_not_cut() -> None:
    batch = drafts(5, 5)
    assert list(split_by_size(batch, 10)) == [batch]


@pytest.mark.parametrize("text", ["", "{}", "[]", '"\\ud800"', "[" * 100_000, '{"format": 2}'])
def test_what_is_no_transcript_is_unreadable(text: str) -> None:
    assert read_transcript(text) == UNREADABLE


@given(st.text(max_size=60))
def test_no_answer_of_a_provider_is_too_strange(body: str) -> None:
    whole = json.loads(transcripts.run())
    whole["calls"][0]["body"] = body
    found = read_transcript(json.dumps(whole))
    assert found.state == "read"
    as_json([found.head])


def test_what_json_of_ours_cannot_hold_is_unreadable() -> None:
    deep: object = "x"
    for _ in range(300):
        deep = [deep]
    for strange in (2**70, deep):
        item = {"type": "function_call", "call_id": "c", "arguments": strange}
        assert read_transcript(transcripts.run(output=[item])) == UNREADABLE


async def test_every_transcript_has_an_answer() -> None:
    tape, page = Tape(), Page("a")
    stored = TextRef(sha256=digest("stored"), size_bytes=1)
    huge = TextRef(sha256=digest("huge"), size_bytes=LARGEST_BYTES + 1)
    tape.add(page.drafted(transcript=stored), page.drafted(attempt=2, transcript=huge), page.approved(0), page.retry())
    tape.add(page.drafted(attempt=3, transcript=TextRef(sha256=digest("gone"), size_bytes=1)), page.requested())
    facts = read(tape.records).facts
    found = await fetch_exchanges(facts, NoTexts(**{stored.sha256: transcripts.run()}))
    assert sorted(each.state for each in found.values()) == ["missing", "read", "read", "read", "too_large"]
    assert mark_unreadable(facts) == dict.fromkeys(found, UNREADABLE)
    assert not await fetch_exchanges(facts[-1:], NoTexts())


@pytest.mark.requirement("2.12-04")
def test_calls_of_our_own_tools_say_when_they_were_carried_out() -> None:
    """2.12-04: Each attempt is recorded: tools, answers, citations, reasoning, usage, errors."""
    found = read_transcript(transcripts.run())
    searched, fetched = [row for _, row in found.parts(*ATTEMPT) if isinstance(row, ToolCall)]
    assert (searched.provider_started_at, searched.provider_completed_at) == (None, None)
    assert fetched.provider_started_at == transcripts.PAGE.started_at
    assert fetched.provider_completed_at == transcripts.PAGE.completed_at
    assert fetched.raw_payload == transcripts.OUTPUT[2]


def test_an_attempt_without_its_transcript_says_so() -> None:
    page = Page("a")
    (attempt,) = folded(page.requested(), page.started(), page.drafted())[ATTEMPTS].new
    assert (attempt.transcript_state, attempt.request_input) == ("missing", None)
    assert not list(MISSING.parts(*ATTEMPT))


def test_the_first_transcript_of_an_attempt_is_its_record() -> None:
    page = Page("a")
    (first,) = folded(page.requested(), page.started(), page.drafted())[ATTEMPTS].new
    again = page.drafted(transcript=TextRef(sha256=digest("other"), size_bytes=1))
    (second,) = folded(page.requested(), page.started(), page.drafted(), again)[ATTEMPTS].new
    assert first.transcript_hash == second.transcript_hash != digest("other")
