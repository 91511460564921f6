"""The state machine that all runs share, and that the log and the read model say the same by it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.v1 import Event, decode
from kit.history import StoredFact
from lifecycle.investigation import Investigation
from lifecycle.progress import Progress
from services.projector.rows.investigations import INVESTIGATIONS
from tests.support.factories import NOW
from tests.unit.projector.histories import Page, Tape, digest
from tests.unit.projector.test_project import folded

PAGE = Page("a")
LATER = NOW + timedelta(seconds=1)
RUN: list[Event] = [
    PAGE.requested(2),
    PAGE.started(),
    PAGE.started(2),
    PAGE.drafted(2),
    PAGE.retry(),
    PAGE.completed(),
    PAGE.failed(),
    PAGE.failed(2, attempt=2),
]


def fresh() -> Progress:
    return Progress(queued_at=NOW)


@pytest.mark.requirement("2.6-14", "3.7-09")
def test_a_failed_one_is_taken_up_by_a_new_round_only() -> None:
    """2.6-14: FAILED is returned unless somebody retries explicitly.
    3.7-09: FAILED is final.
    """
    progress = fresh()
    assert progress.fail(1, NOW, "TRANSIENT", "busy")
    assert not progress.start(1)
    assert progress.request(1, LATER)
    assert progress.status == "FAILED"
    assert progress.request(2, LATER)
    assert (progress.status, progress.round, progress.queued_at) == ("PENDING", 2, LATER)
    assert (progress.failed_at, progress.failure, progress.failure_reason) == (None, None, None)


def test_a_complete_one_stays_so() -> None:
    progress = fresh()
    assert progress.start(1)
    assert progress.complete(NOW)
    assert not any(
        (
            progress.request(2, LATER),
            progress.start(2),
            progress.schedule_retry(2, LATER),
            progress.complete(LATER),
            progress.fail(2, LATER, "TRANSIENT", "busy"),
        )
    )
    assert (progress.status, progress.checked_at, progress.round) == ("COMPLETE", NOW, 1)


def test_a_replaced_attempt_changes_nothing() -> None:
    progress = fresh()
    assert progress.start(2)
    assert not progress.start(1)
    assert not progress.schedule_retry(1, LATER)
    assert (progress.status, progress.attempt_count, progress.retry_after) == ("PROCESSING", 2, None)
    assert progress.schedule_retry(2, LATER)
    assert (progress.status, progress.retry_after) == ("PENDING", LATER)


def test_the_end_of_an_earlier_round_is_not_the_end_of_a_later_one() -> None:
    progress = fresh()
    progress.fail(1, NOW, "TRANSIENT", "busy")
    progress.request(2, LATER)
    assert not progress.fail(1, LATER, "TRANSIENT", "late")
    assert progress.status == "PENDING"


@given(st.lists(st.sampled_from(RUN), max_size=12))
def test_the_log_and_the_read_model_say_the_same(events: list[Event]) -> None:
    """But for a result asked for again: only the read model knows whether it was refused. See decision 0046."""
    tape = Tape()
    tape.add(PAGE.requested(), PAGE.started(), *events)
    past = [StoredFact(record.sequence, decode(record.subject, record.data)) for record in tape.records]
    found = Investigation.fold(past)
    texts = {digest(f"# {PAGE.text}"): f"# {PAGE.text}"}
    (row,) = folded(PAGE.requested(), PAGE.started(), *events, texts=texts)[INVESTIGATIONS].new
    assert found is not None
    if row.status != "COMPLETE" or found.round.number == 1:
        ours = (found.progress.status, found.progress.round, found.progress.attempt_count)
        assert ours == (row.status, row.round, row.attempt_count)
