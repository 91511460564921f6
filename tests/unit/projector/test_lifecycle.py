"""The state of an investigation follows the order of its facts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.v1 import Event
from contracts.v1.parts import Prompt
from services.projector.rows.attempts import ATTEMPTS, ERRORS, USAGES
from services.projector.rows.claims import EXPENSES, PROMPTS
from services.projector.rows.investigations import (
    IMAGE_BLOBS,
    IMAGES,
    INPUTS,
    INVESTIGATIONS,
    LEASES,
    PICTURE_FATES,
    PROVENANCES,
    RESULTS,
)
from services.projector.rows.table import AnyTable, Tables
from tests.unit.projector.histories import Page, digest
from tests.unit.projector.test_project import folded

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


def lived(*events: Event, tables: Tables | None = None) -> Tables:
    return folded(*events, texts={digest(f"# {PAGE.text}"): f"# {PAGE.text}"}, tables=tables)


def status(*events: Event) -> tuple[str, bool]:
    tables = lived(*events)
    state = tables[INVESTIGATIONS].get(PAGE.investigation_id)
    assert state is not None
    return state.status, tables[LEASES].get(PAGE.investigation_id) is not None


def test_every_picture_has_a_fate_and_what_was_shown_an_order() -> None:
    page = Page("b", pictures=6)
    tables = folded(page.requested(), page.started(), page.retry(), page.started(2))
    assert [(row.original_index, row.fate, row.same_as, row.reason) for row in tables[PICTURE_FATES].written] == [
        (0, "used", None, None),
        (1, "unavailable", None, "http_404"),
        (2, "duplicate", 0, None),
        (3, "omitted", None, "too_many"),
        (4, "used", None, None),
        (5, "unavailable", None, "http_404"),
    ]
    shown = [digest(f"https://img.example/{n}.png") for n in (0, 4)]
    assert [(row.content_hash, row.image_order) for row in tables[IMAGES].written] == [(shown[0], 0), (shown[1], 1)]
    assert [row.storage_key for row in tables[IMAGE_BLOBS].written] == [f"sha256/{sha}" for sha in shown]


@pytest.mark.requirement("3.2-08", "3.2-09")
@given(st.lists(st.sampled_from(RUN), max_size=12))
def test_lease_ending_and_input_agree_after_any_facts(events: list[Event]) -> None:
    """3.2-08: A lease exists only while a run is under way.
    3.2-09: A result has a time, anything else has none.
    """
    tables = lived(*events)
    for state in tables[INVESTIGATIONS].current:
        assert (state.status == "PROCESSING") == (tables[LEASES].get(state.id) is not None)
        assert (state.status == "COMPLETE") == (state.checked_at is not None)
        assert (state.status == "FAILED") == (state.failed_at is not None) == (state.failure is not None)
        assert (state.input_id is None) == (state.prompt_hash is None) == (state.provider is None)
        assert state.input_id is not None or state.status in ("PENDING", "FAILED")
    assert len(tables[RESULTS].written) <= 1


@given(st.lists(st.sampled_from(RUN), max_size=12), st.integers(0, 12))
def test_the_fold_may_be_cut_anywhere(events: list[Event], cut: int) -> None:
    tables = lived(*events[:cut])
    folds: tuple[AnyTable, ...] = (INVESTIGATIONS, LEASES, PROVENANCES, ATTEMPTS)
    kept = {table: tables[table].current for table in folds}
    rest = lived(*events[cut:], tables=Tables(kept))
    states = [(row.status, row.round, row.attempt_count) for row in rest[INVESTIGATIONS].current]
    assert states == [(row.status, row.round, row.attempt_count) for row in lived(*events)[INVESTIGATIONS].current]


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
    tables = lived(PAGE.requested(), PAGE.started(), PAGE.retry(), PAGE.started(2))
    (frozen,) = tables[INPUTS].new
    assert (frozen.markdown, frozen.markdown_source) == (f"# {PAGE.text}", "SERVER_HTML")
    assert [(row.attempt_number, row.outcome) for row in tables[ATTEMPTS].new] == [(1, "FAILED"), (2, None)]


@pytest.mark.requirement("2.12-04")
def test_an_attempt_that_drafted_and_then_failed_has_failed() -> None:
    """2.12-04: Each attempt is recorded: tools, answers, citations, reasoning, usage, errors."""
    tables = lived(PAGE.requested(), PAGE.started(), PAGE.drafted(), PAGE.failed())
    (attempt,) = tables[ATTEMPTS].new
    assert (attempt.outcome, attempt.response_model_version) == ("FAILED", "1")
    assert len(tables[USAGES].new) == len(tables[ERRORS].new) == 1


def test_a_checkpoint_that_comes_late_takes_nothing_off_what_was_paid() -> None:
    tables = lived(PAGE.requested(), PAGE.started(), PAGE.advanced(2), PAGE.advanced(1))
    (expense,) = tables[EXPENSES].current
    assert (expense.total_tokens, expense.cost_micro_usd) == (10, 14)


def test_instructions_that_share_their_version_with_others_get_a_name_of_their_own() -> None:
    other = Prompt(version="v1", sha256=digest("look twice"), text="look twice")
    tables = lived(PAGE.requested(), PAGE.started(), PAGE.started(2, prompt=other), PAGE.started(3, prompt=other))
    assert [each.version for each in tables[PROMPTS].new] == ["v1", f"v1+{digest('look twice')[:12]}"]
