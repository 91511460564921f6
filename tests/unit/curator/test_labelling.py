"""When a label begins, is renewed and ends, and what never gets one."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import pytest

from contracts.v1 import LabelIssued
from services.curator.labelling import CurrentLabel, PinnedRecord, PinnedResult, decide
from tests.support.factories import NOW

URI: Final = "at://did:plc:ewvi7nxzyoun6zhxrhs64oiz/app.bsky.feed.post/3l6oveex3ii2l"
CID: Final = "b" + "a" * 58
POST, RUN = UUID(int=1), UUID(int=2)
RESULT: Final = PinnedResult(
    investigation_id=RUN,
    post_id=POST,
    findings=1,
    is_confirmed=True,
    is_newest=True,
    is_hidden=False,
    is_demo=False,
)


def decided(result: PinnedResult | None, *before: LabelIssued, at: datetime = NOW, **more: bool) -> LabelIssued | None:
    """What follows from a result, after these events of the label, the newest of sequence 5."""
    label = None
    if before:
        newest = before[-1]
        label = CurrentLabel(
            post_id=newest.post_id,
            investigation_id=newest.investigation_id,
            neg=newest.neg,
            cts=newest.cts,
            exp=newest.exp,
            sequence=5,
            is_forgotten=more.get("is_forgotten", False),
        )
    return decide(PinnedRecord(uri=URI, cid=CID, result=result, label=label), at)


def published(at: datetime = NOW) -> LabelIssued:
    """A label on the record."""
    event = decided(RESULT, at=at)
    assert event is not None
    return event


@pytest.mark.requirement("FS-55")
def test_a_finding_on_a_pinned_record_is_labelled_until_it_ends_by_itself() -> None:
    """FS-55: A published finding on a pinned record may be issued as a signed label"""
    assert published().model_dump(exclude_none=True) == {
        "follows": 0,
        "uri": URI,
        "cid": CID,
        "val": "erratum",
        "neg": False,
        "cts": NOW,
        "exp": NOW + timedelta(days=30),
        "post_id": POST,
        "investigation_id": RUN,
        "why": "PUBLISHED",
    }


@pytest.mark.requirement("FS-56")
@pytest.mark.parametrize(
    "but",
    [
        pytest.param(replace(RESULT, findings=0), id="nothing was found"),
        pytest.param(replace(RESULT, is_confirmed=False), id="not proved"),
        pytest.param(replace(RESULT, is_newest=False), id="an earlier version"),
        pytest.param(replace(RESULT, is_hidden=True), id="not public"),
        pytest.param(replace(RESULT, is_demo=True), id="demonstration"),
    ],
)
def test_nothing_else_is_labelled(but: PinnedResult) -> None:
    """FS-56: Labels are for verified findings of the fact check only, and carry no quote"""
    assert decided(but) is None


def test_it_is_renewed_each_week_while_the_finding_stands() -> None:
    first = published()
    assert decided(RESULT, first, at=NOW + timedelta(days=7, milliseconds=-1)) is None
    again = decided(RESULT, first, at=NOW + timedelta(days=7))
    assert again is not None
    assert (again.why, again.neg, again.follows) == ("RENEWED", False, 5)
    assert (again.cts, again.exp) == (NOW + timedelta(days=7), NOW + timedelta(days=37))


@pytest.mark.parametrize(
    ("result", "is_forgotten", "why"),
    [
        (None, True, "FORGOTTEN"),
        (None, False, "REPLACED"),
        (replace(RESULT, is_newest=False), False, "REPLACED"),
        (replace(RESULT, is_hidden=True), False, "NOT_PUBLIC"),
        (replace(RESULT, findings=0), False, "WITHDRAWN"),
    ],
)
def test_what_does_not_stand_any_more_is_negated_once(
    result: PinnedResult | None, is_forgotten: bool, why: str
) -> None:
    later = NOW + timedelta(hours=1)
    end = decided(result, published(), at=later, is_forgotten=is_forgotten)
    assert end is not None
    assert (end.neg, end.why, end.follows, end.cts, end.exp) == (True, why, 5, later, later + timedelta(days=30))
    assert end.key() == published().key()
    assert decided(result, end, at=later + timedelta(days=8), is_forgotten=is_forgotten) is None


def test_a_finding_that_stands_again_is_labelled_again() -> None:
    end = decided(None, published(), at=NOW + timedelta(hours=1))
    assert end is not None
    again = decided(RESULT, end, at=NOW + timedelta(hours=2))
    assert again is not None
    assert (again.why, again.neg) == ("PUBLISHED", False)


def test_the_later_of_two_labels_has_the_later_moment_though_the_clock_jumps_back() -> None:
    end = decided(None, published(), at=NOW - timedelta(hours=1))
    assert end is not None
    assert end.cts == NOW + timedelta(milliseconds=1)


def test_a_label_that_ended_by_itself_is_not_negated_and_begins_anew() -> None:
    later = NOW + timedelta(days=30)
    assert decided(None, published(), at=later) is None
    again = decided(RESULT, published(), at=later)
    assert again is not None
    assert again.why == "PUBLISHED"
