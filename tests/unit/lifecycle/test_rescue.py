"""A run is started again only if nobody has it in hand: what merely takes long must not be paid for twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.v1 import ClaimHeld, ClaimRetained, Event, InvestigationFailed, InvestigationRequested
from lifecycle.rescue import MAX_RESCUES, Watermarks
from lifecycle.rescue import rescue as rescue_of
from tests.support.factories import NOW
from tests.support.logged import lived
from tests.unit.projector.histories import Page

PAGE = Page("a")
REQUESTED, STARTED, RETRY = PAGE.requested(), PAGE.started(), PAGE.retry()
EVERYTHING = Watermarks(1_000, 1_000, 1_000)


def rescue(events: Sequence[Event], settled: Watermarks) -> InvestigationRequested | InvestigationFailed | None:
    """What is done about a run with these facts, at 10, 20, 30 …"""
    found = lived(events, first=10, apart=10)
    return None if found is None else rescue_of(found, settled)


def again(round_: int, follows: int) -> InvestigationRequested:
    return REQUESTED.model_copy(update={"round": round_, "follows": follows, "requested_by": "SELECTOR"})


@pytest.mark.requirement("3.6-03", "3.6-04")
@pytest.mark.parametrize(
    ("events", "settled"),
    [
        ((REQUESTED,), EVERYTHING),
        ((REQUESTED,), Watermarks(10, 0, 0)),
        ((REQUESTED, STARTED), EVERYTHING),
        ((REQUESTED, STARTED, RETRY), EVERYTHING),
        ((REQUESTED, STARTED, PAGE.proposed(0)), EVERYTHING),
        ((REQUESTED, STARTED, PAGE.proposed(0), PAGE.drafted(1)), Watermarks(10, 30, 0)),
        ((REQUESTED, STARTED, PAGE.proposed(0), PAGE.approved(0)), Watermarks(10, 0, 0)),
    ],
)
def test_a_lost_run_is_asked_for_again(events: Sequence[Event], settled: Watermarks) -> None:
    """3.6-03: A run whose worker died is taken up again.
    3.6-04: A request that was lost is made again.
    """
    assert rescue(events, settled) == again(2, 10)


def test_a_result_of_before_the_round_does_not_end_it() -> None:
    """It could not be stored: otherwise nobody could have asked again."""
    assert rescue((REQUESTED, STARTED, PAGE.completed(), PAGE.requested(2)), EVERYTHING) == again(3, 40)


@pytest.mark.requirement("2.6-15", "3.6-05", "3.6-06")
@pytest.mark.parametrize(
    ("events", "settled"),
    [
        ((), EVERYTHING),
        ((REQUESTED,), Watermarks(9, 1_000, 0)),
        ((REQUESTED, STARTED, RETRY), Watermarks(9, 1_000, 0)),
        ((REQUESTED, STARTED, PAGE.proposed(0), PAGE.drafted(1)), Watermarks(10, 29, 0)),
        ((REQUESTED, STARTED, PAGE.drafted(0)), EVERYTHING),
        ((REQUESTED, STARTED, PAGE.proposed(0), PAGE.drafted(1), PAGE.approved(0)), EVERYTHING),
        ((REQUESTED, STARTED, PAGE.completed()), EVERYTHING),
        ((REQUESTED, STARTED, PAGE.completed(), REQUESTED), EVERYTHING),
        ((REQUESTED, STARTED, PAGE.completed(), PAGE.requested(2), PAGE.completed()), EVERYTHING),
        ((REQUESTED, STARTED, PAGE.failed()), EVERYTHING),
        ((REQUESTED, PAGE.failed(), PAGE.requested(2)), Watermarks(29, 1_000, 0)),
    ],
)
def test_whatever_is_over_or_in_hand_is_left_alone(events: Sequence[Event], settled: Watermarks) -> None:
    """2.6-15: A request during a run starts no second one.
    3.6-05: Failed and finished posts are left alone.
    3.6-06: A run that waits to be tried again is left waiting.
    """
    assert rescue(events, settled) is None


def test_a_later_round_is_judged_by_its_own_facts() -> None:
    events = (REQUESTED, STARTED, PAGE.proposed(0), PAGE.drafted(1), PAGE.approved(0), PAGE.failed(), PAGE.requested(2))
    assert rescue(events, EVERYTHING) == again(3, 70)


@pytest.mark.parametrize(("payer", "settled"), [("INSTANCE", Watermarks(9, 99, 99)), ("USER", Watermarks(99, 99, 9))])
def test_what_the_payers_own_consumer_has_in_hand_is_not_lost(payer: str, settled: Watermarks) -> None:
    history = (REQUESTED.model_copy(update={"key_source": payer}), STARTED)
    assert rescue(history, settled) is None
    assert rescue(history, replace(settled, investigator=10, readers=10)) is not None


def test_what_was_asked_for_on_a_readers_key_stays_on_it() -> None:
    users = REQUESTED.model_copy(update={"key_source": "USER"})
    asked = rescue((users, STARTED), EVERYTHING)
    assert isinstance(asked, InvestigationRequested)
    assert asked.key_source == "USER"


def lost_until_it_ends(*events: Event) -> list[Event]:
    """What a selector says of a run whose requests are all lost, until it says no more."""
    said: list[Event] = []
    while (next_ := rescue((*events, *said), EVERYTHING)) is not None:
        said.append(next_)
    return said


@pytest.mark.requirement("3.6-03", "3.6-04")
def test_a_run_that_is_lost_every_time_ends_as_failed() -> None:
    """Nobody waits for it any longer, and a reader may ask for it again.

    3.6-03: A run whose worker died is taken up again.
    3.6-04: A request that was lost is made again.
    """
    *rescues, end = lost_until_it_ends(REQUESTED, STARTED)
    assert rescues == [again(2, 10), *(again(number, 10 * number) for number in range(3, MAX_RESCUES + 2))]
    assert isinstance(end, InvestigationFailed)
    assert (end.investigation_id, end.version_id) == (PAGE.investigation_id, PAGE.version_id)
    assert (end.round, end.attempt, end.follows, end.failure, end.fault) == (MAX_RESCUES + 1, 1, 0, "TRANSIENT", "RUN")
    assert "lost" in end.reason


def test_whoever_asks_for_it_again_has_it_rescued_as_often() -> None:
    before = (REQUESTED, *lost_until_it_ends(REQUESTED))
    reader = REQUESTED.model_copy(update={"round": MAX_RESCUES + 2})
    *rescues, end = lost_until_it_ends(*before, reader)
    assert len(rescues) == MAX_RESCUES
    assert isinstance(end, InvestigationFailed)
    assert end.follows == 10 * len(before), "after the end before it"


@given(st.integers(0, 3), st.integers(1, 3))
def test_what_was_stored_twice_is_one_request(rescues: int, copies: int) -> None:
    asked = [REQUESTED, *(again(number, 10 * (number - 1)) for number in range(2, rescues + 2))]
    said = rescue([request for request in asked for _ in range(copies)], EVERYTHING)
    assert isinstance(said, InvestigationRequested if rescues < MAX_RESCUES else InvestigationFailed)


RUN: Sequence[Event] = (
    REQUESTED, STARTED, PAGE.proposed(0), PAGE.proposed(1), PAGE.drafted(2), PAGE.approved(0), PAGE.rejected(1),
)  # fmt: skip


@given(st.integers(0, len(RUN)), st.integers(0, 80), st.integers(0, 80))
def test_nothing_in_hand_is_ever_started_again(length: int, investigator: int, validator: int) -> None:
    asked = rescue(RUN[:length], Watermarks(investigator, validator, 0))
    if asked is not None:
        assert investigator >= 10
        places = [10 * number for number in range(1, length + 1)]
        proposals, verdicts = places[2:4], places[5:]
        assert all(place <= validator for place in proposals[len(verdicts) :])


def test_a_run_that_waits_for_a_hold_is_not_lost() -> None:
    approval = PAGE.approved(0)
    held = ClaimHeld(
        investigation_id=approval.investigation_id, claim_id=approval.claim_id, approval=approval, held_at=NOW
    )
    events = (REQUESTED, STARTED, PAGE.proposed(0), PAGE.drafted(1))
    assert rescue(events, EVERYTHING) == again(2, 10)
    assert rescue((*events, held), EVERYTHING) is None


def test_a_run_that_kept_all_its_findings_is_not_lost() -> None:
    claim, payload = PAGE.claim(0)
    kept = ClaimRetained(
        investigation_id=PAGE.investigation_id, claim_id=claim, retained_from=claim, ordinal=0, payload=payload
    )
    draft = PAGE.drafted(1).model_copy(update={"retained_ids": (claim,)})
    assert rescue((REQUESTED, STARTED, draft), EVERYTHING) == again(2, 10)
    assert rescue((REQUESTED, STARTED, kept, draft), EVERYTHING) is None, "its end will be published"
