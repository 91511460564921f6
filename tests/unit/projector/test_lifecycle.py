"""The state of an investigation follows the order of its facts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.v1 import Event
from services.projector.investigations import Lifecycles
from services.projector.lifecycle import fold
from services.projector.reading import read_one
from tests.unit.projector.histories import Page, Tape, digest

PAGE = Page("a")
RUN: list[Event] = [
    PAGE.requested(),
    PAGE.requested(2),
    PAGE.started(),
    PAGE.started(2),
    PAGE.drafted(2),
    PAGE.retry(),
    PAGE.completed((0, 1)),
    PAGE.failed(),
    PAGE.failed(2, attempt=2),
]


def lived(*events: Event) -> Lifecycles:
    tape = Tape()
    tape.add(*events)
    return fold({}, [read_one(record) for record in tape.records], {digest(f"# {PAGE.text}"): f"# {PAGE.text}"})


def status(*events: Event) -> tuple[str, bool]:
    lives = lived(*events)
    return lives.states[PAGE.investigation_id].status, PAGE.investigation_id in lives.leases


def test_every_picture_has_a_fate_and_what_was_shown_an_order() -> None:
    page = Page("b", pictures=6)
    tape = Tape()
    tape.add(page.requested(), page.started(), page.retry(), page.started(2))
    lives = fold({}, [read_one(record) for record in tape.records], {})
    assert [(row.original_index, row.fate, row.same_as, row.reason) for row in lives.picture_fates] == [
        (0, "used", None, None),
        (1, "unavailable", None, "http_404"),
        (2, "duplicate", 0, None),
        (3, "omitted", None, "too_many"),
        (4, "used", None, None),
        (5, "unavailable", None, "http_404"),
    ]
    shown = [digest(f"https://img.example/{n}.png") for n in (0, 4)]
    assert [(row.content_hash, row.image_order) for row in lives.images] == [(shown[0], 0), (shown[1], 1)]
    assert [row.storage_key for row in lives.image_blobs.values()] == [f"sha256/{sha}" for sha in shown]


@pytest.mark.requirement("3.2-08", "3.2-09")
@given(st.lists(st.sampled_from(RUN), max_size=12))
def test_lease_ending_and_input_agree_after_any_facts(events: list[Event]) -> None:
    """3.2-08: A lease exists only while a run is under way.
    3.2-09: A result has a time, anything else has none.
    """
    lives = lived(*events)
    for state in lives.states.values():
        assert (state.status == "PROCESSING") == (state.id in lives.leases)
        assert (state.status == "COMPLETE") == (state.checked_at is not None)
        assert (state.status == "FAILED") == (state.failed_at is not None) == (state.failure is not None)
        assert (state.input_id is None) == (state.prompt_hash is None) == (state.provider is None)
        assert state.input_id is not None or state.status in ("PENDING", "FAILED")
    assert len(lives.results) <= 1


@given(st.lists(st.sampled_from(RUN), max_size=12), st.integers(0, 12))
def test_the_fold_may_be_cut_anywhere(events: list[Event], cut: int) -> None:
    tape = Tape()
    tape.add(*events)
    facts = [read_one(record) for record in tape.records]
    half = fold({}, facts[:cut], {})
    rest = fold(half.states, facts[cut:], {})
    assert rest.states == fold({}, facts, {}).states


def test_the_straight_way() -> None:
    assert status(PAGE.requested()) == ("PENDING", False)
    assert status(PAGE.requested(), PAGE.started()) == ("PROCESSING", True)
    assert status(PAGE.requested(), PAGE.started(), PAGE.drafted()) == ("PROCESSING", True)
    assert status(PAGE.requested(), PAGE.started(), PAGE.completed()) == ("COMPLETE", False)


@pytest.mark.requirement("3.7-01")
def test_a_retry_gives_the_lease_back_and_a_late_one_changes_nothing() -> None:
    """3.7-01: Four attempts, then FAILED."""
    assert status(PAGE.requested(), PAGE.started(), PAGE.retry()) == ("PENDING", False)
    assert status(PAGE.requested(), PAGE.started(), PAGE.started(2), PAGE.retry(1)) == ("PROCESSING", True)


@pytest.mark.requirement("3.7-09")
def test_a_failure_stands_until_it_is_asked_for_again() -> None:
    """3.7-09: FAILED is final."""
    gone = (PAGE.requested(), PAGE.started(), PAGE.failed())
    assert status(*gone, PAGE.started(2)) == ("FAILED", False)
    assert status(*gone, PAGE.completed()) == ("FAILED", False)
    assert status(*gone, PAGE.requested(2)) == ("PENDING", False)
    assert status(*gone, PAGE.requested(2), PAGE.failed(1)) == ("PENDING", False)


@pytest.mark.requirement("3.2-07", "2.4.4-03")
def test_the_input_is_frozen_once() -> None:
    """3.2-07: A frozen input never changes.
    2.4.4-03: The input is frozen and reused by later attempts.
    """
    lives = lived(PAGE.requested(), PAGE.started(), PAGE.retry(), PAGE.started(2))
    (frozen,) = lives.inputs.values()
    assert (frozen.markdown, frozen.markdown_source) == (f"# {PAGE.text}", "SERVER_HTML")
    assert [attempt.attempt_number for attempt in lives.attempts.values()] == [1, 2]
    assert [end.outcome for end in lives.attempt_ends.values()] == ["FAILED"]


@pytest.mark.requirement("2.12-04")
def test_an_attempt_that_drafted_and_then_failed_has_failed() -> None:
    """2.12-04: Each attempt is recorded: tools, answers, citations, reasoning, usage, errors."""
    lives = lived(PAGE.requested(), PAGE.started(), PAGE.drafted(), PAGE.failed())
    (end,) = lives.attempt_ends.values()
    assert (end.outcome, end.response_model_version) == ("FAILED", "1")
    assert len(lives.usages) == len(lives.errors) == 1
