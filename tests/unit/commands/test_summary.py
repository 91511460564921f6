"""The summary of an investigation, and what an operator may decide about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.transcript import Transcript
from contracts.v1 import Event, decode
from contracts.v1.ids import claim_id
from kit.history import StoredFact
from lifecycle.investigation import Investigation
from services.commands.investigation.operator_events import NotAllowed, make_cancellation, make_retry
from services.commands.investigation.rendering import render
from services.commands.investigation.summary import Summary, summarize
from services.commands.investigation.transcript import render_transcript
from services.commands.terminal import clean
from tests.support import transcripts
from tests.unit.projector.histories import Page, Tape

PAGE = Page("a", pictures=4)
RUN: list[Event] = [
    *PAGE.investigated(),
    PAGE.requested(2),
    PAGE.started(2),
    PAGE.retry(),
    PAGE.failed(),
    PAGE.failed(2, attempt=2),
]


def recorded(*events: Event) -> Investigation | None:
    tape = Tape()
    tape.add(*events)
    return Investigation.fold(
        StoredFact(record.sequence, decode(record.subject, record.data)) for record in tape.records
    )


def lived(*events: Event) -> tuple[Investigation, Summary]:
    found = recorded(*events)
    assert found is not None
    return found, summarize(found)


def text(summary: Summary) -> str:
    return click.unstyle("\n".join(render(summary)))


@pytest.mark.requirement("2.12-04")
def test_the_summary_of_a_run_that_found_something() -> None:
    """2.12-04: Each attempt is recorded: tools, answers, citations, reasoning, usage, errors."""
    _, summary = lived(*PAGE.investigated())
    assert summary.input is not None
    assert text(summary).splitlines() == [
        f"investigation {PAGE.investigation_id}  COMPLETE",
        "  post        WIKIPEDIA: https://site.example/a",
        f"  version     {PAGE.version_id}, text sha256 {summary.input.content.sha256[:16]}\u2026",
        "  provenance  SERVER_VERIFIED; Markdown from SERVER_HTML; 1 of 4 pictures shown",
        "    picture 1 unavailable (http_404): https://img.example/1.png",
        "    picture 2 duplicate (the same as 0): https://img.example/2.png",
        "    picture 3 omitted (too_many): https://img.example/3.png",
        f"  correlation {summary.correlation}",
        "",
        "round 1  requested 2026-01-05 09:00:01 by reader, paid by the instance",
        "  attempt 1  2026-01-05 09:00:02, took 4.0 s, by worker-1",
        "    asked DEMO demo-catalogue (1), prompt v1",
        "    used 15 tokens, money not known",
        "  candidate 1  APPROVED  \u201cWrong sentence 0.\u201d",
        "    It is not so.",
        *_source(0, "found"),
        "    the review used 6 tokens, money not known",
        "  candidate 2  REJECTED by MODEL  \u201cWrong sentence 1.\u201d",
        "    It is not so.",
        "    because: not so wrong",
        *_source(1, "missing"),
        "    source unavailable (http_404): https://source.example/1",
        "  candidate 3  APPROVED  \u201cWrong sentence 2.\u201d",
        "    It is not so.",
        *_source(2, "found"),
        "    the review used 6 tokens, money not known",
        "  COMPLETE 2026-01-05 09:00:10: 2 of 3 candidates published",
        "",
        "in all: 3 paid steps, 27 tokens, money not known",
    ]


def _source(number: int, status: str) -> list[str]:
    url = f"https://source.example/{number}"
    sha = next(
        source.page.sha256
        for event in (PAGE.approved(number), PAGE.rejected(number))
        for source in event.sources
        if source.page is not None and source.url == url
    )
    return [f"    source {status}: {url}, page sha256 {sha[:16]}\u2026"]


def test_failures_are_told_with_what_comes_next() -> None:
    _, summary = lived(PAGE.requested(), PAGE.started(), PAGE.retry())
    said = text(summary)
    assert summary.status == "PENDING"
    assert "failed with Http429 429: provider is busy" in said
    assert "next attempt 2026-01-05 10:00:00" in said
    assert "no end yet" in said
    _, summary = lived(PAGE.requested(), PAGE.started(), PAGE.failed(), PAGE.requested(2))
    assert summary.status == "PENDING"
    assert "FAILED 2026-01-05 09:00:03: the key was refused (NON_RETRYABLE 401)" in text(summary)
    assert [asked.number for asked in summary.rounds] == [1, 2]


@given(st.lists(st.sampled_from(RUN), max_size=16))
def test_any_facts_in_any_order_make_a_summary(events: Sequence[Event]) -> None:
    _, summary = lived(PAGE.requested(), *events)
    assert summary.status in {"PENDING", "PROCESSING", "COMPLETE", "FAILED"}
    assert text(summary)


def test_what_was_never_asked_for_has_no_summary() -> None:
    assert recorded(PAGE.started(), PAGE.drafted()) is None


@pytest.mark.parametrize("strange", ["\x1b[2J", "a\nb", "\u202egnp", "\x9b1m", "\x07"])
def test_nothing_a_stranger_wrote_moves_the_cursor(strange: str) -> None:
    assert clean(strange).isprintable()
    assert "\n" not in clean(strange)
    summary = lived(PAGE.requested(), PAGE.started())[1]
    assert summary.input is not None
    summary = replace(summary, input=summary.input.model_copy(update={"author_name": strange, "url": strange}))
    for line in render(summary):
        assert click.unstyle(line).isprintable() or not line


def test_asking_again() -> None:
    found, _ = lived(PAGE.requested(), PAGE.started(), PAGE.failed())
    event = make_retry(found)
    assert (event.round, event.follows, event.key_source) == (2, 1, "INSTANCE")
    assert (event.investigation_id, event.version_id, event.post_id) == (
        PAGE.investigation_id,
        PAGE.version_id,
        PAGE.post_id,
    )
    assert lived(PAGE.requested(), PAGE.started(), PAGE.failed(), event)[1].status == "PENDING"


@pytest.mark.parametrize("events", [RUN[:1], RUN[:2], RUN[:10]])
def test_only_what_failed_can_be_asked_for_again(events: Sequence[Event]) -> None:
    with pytest.raises(NotAllowed, match="only a FAILED"):
        make_retry(lived(*events)[0])


@pytest.mark.requirement("3.7-09")
@pytest.mark.parametrize(
    ("events", "attempt", "follows"),
    [
        ((PAGE.requested(),), 0, 0),
        ((PAGE.requested(), PAGE.started()), 1, 0),
        ((PAGE.requested(), PAGE.started(), PAGE.retry()), 0, 0),
        ((PAGE.requested(), PAGE.started(), PAGE.failed(), PAGE.requested(2), PAGE.started(2)), 2, 3),
    ],
)
def test_cancelling_ends_it_and_blames_nobody(events: Sequence[Event], attempt: int, follows: int) -> None:
    """3.7-09: FAILED is final."""
    found, summary = lived(*events)
    event = make_cancellation(found)
    assert (event.attempt, event.follows, event.reason) == (attempt, follows, "cancelled by operator")
    assert (event.failure, event.fault, event.round) == ("NON_RETRYABLE", "RUN", summary.rounds[-1].number)
    assert lived(*events, event)[1].status == "FAILED"


@pytest.mark.parametrize("events", [RUN[:10], (PAGE.requested(), PAGE.started(), PAGE.failed())])
def test_what_is_over_cannot_be_cancelled(events: Sequence[Event]) -> None:
    with pytest.raises(NotAllowed, match="nothing to cancel"):
        make_cancellation(lived(*events)[0])


@pytest.mark.requirement("2.12-04")
def test_an_exchange_can_be_read() -> None:
    """2.12-04: Each attempt is recorded: tools, answers, citations, reasoning, usage, errors."""
    said = click.unstyle("\n".join(render_transcript(Transcript.model_validate_json(transcripts.run()))))
    order = [
        "be strict in the look",
        "The moon is made of cheese.",
        "web_search, fetch_url",
        "Look it up.",
        "called web_search_call",
        "called fetch_url",
        '{"contentText": "rock"}',
        "It is rock.",
        "cites E https://e.example",
        "No more.",
        "end: completed",
    ]
    places = [said.index(each) for each in order]
    assert places == sorted(places)
    broken = click.unstyle("\n".join(render_transcript(Transcript.model_validate_json(transcripts.failure()))))
    assert broken.endswith("failed: Http429\nbusy")


def test_a_claim_is_one_claim_in_every_round() -> None:
    claim, payload = PAGE.claim(0)
    assert claim == claim_id(PAGE.investigation_id, payload.text, payload.context)
    again_proposed = PAGE.proposed(0, 2).model_copy(update={"round": 2})
    _, summary = lived(
        PAGE.requested(), PAGE.started(), PAGE.proposed(0), PAGE.failed(), PAGE.requested(2), again_proposed
    )
    assert [[each.claim_id for each in asked.candidates] for asked in summary.rounds] == [[claim], [claim]]


@pytest.mark.requirement("2.12-04")
def test_a_review_that_failed_for_now_is_told_and_counted() -> None:
    """2.12-04: Each attempt is recorded: tools, answers, citations, reasoning, usage, errors."""
    events = (PAGE.requested(), PAGE.started(), PAGE.proposed(0), PAGE.tried(0), PAGE.tried(0), PAGE.approved(0))
    _, summary = lived(*events)
    lines = text(summary).splitlines()
    assert "    review 1 failed with Http503 503: reviewer is busy, used 3 tokens, money not known" in lines
    assert sum(step.usage.total_tokens for step in summary.steps if step.usage) == 3 + 6
    assert len([step for step in summary.steps if step.transcript]) == 2
