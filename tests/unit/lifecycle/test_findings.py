"""What becomes of a published finding: which state may follow which, and that the log's order decides."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.v1 import FindingChanged
from contracts.v1.event import Envelope
from contracts.v1.finding import FindingState
from lifecycle.findings import HOLD, RELEASES, FindingHistory, Refused, Unchanged, Wanted, change

START: Final = datetime(2026, 12, 1, 9, 0, tzinfo=UTC)
HISTORY: Final = FindingHistory(claim_id=UUID(int=1), investigation_id=UUID(int=2))
STATES: Final[tuple[FindingState, ...]] = ("SUSPENDED", "RELEASED", "RETRACTED")
WISHES: Final = st.lists(st.tuples(st.sampled_from(STATES), st.booleans(), st.integers(0, 48)), min_size=1, max_size=12)
"""States, whether the suspension was a mistake, and the hours since the wish before."""


def want(state: FindingState, *, mistake: bool = False) -> Wanted:
    return Wanted(state=state, cause="OPERATOR", note="Because.", mistake=mistake)


def after(*steps: tuple[FindingState, timedelta]) -> FindingHistory:
    """A finding that was in these states, each this long after the start."""
    history = HISTORY
    for sequence, (state, passed) in enumerate(steps, 1):
        event = FindingChanged(
            claim_id=HISTORY.claim_id,
            investigation_id=HISTORY.investigation_id,
            state=state,
            cause="OPERATOR",
            note="Because.",
        )
        history = history.apply(sequence, START + passed, event)
    return history


@dataclass(frozen=True)
class Stored:
    sequence: int
    envelope: Envelope


def test_a_finding_that_nobody_has_changed_stands_and_can_be_suspended_or_retracted() -> None:
    assert change(HISTORY, want("RELEASED"), START) == Unchanged()
    for state in ("SUSPENDED", "RETRACTED"):
        event = change(HISTORY, want(state), START)
        assert isinstance(event, FindingChanged)
        assert (event.state, event.follows, event.key()) == (state, 0, str(HISTORY.claim_id))


@pytest.mark.requirement("TR-32")
@pytest.mark.parametrize(
    ("passed", "mistake", "is_allowed"),
    [
        (HOLD - timedelta(seconds=1), False, False),
        (HOLD, False, True),
        (timedelta(0), True, True),
    ],
)
def test_a_suspension_lasts_a_day_unless_it_was_a_slip(passed: timedelta, mistake: bool, is_allowed: bool) -> None:
    """TR-32: A finding is held by its post's views, looked at twice where many read it, and not switched on and off"""
    decided = change(after(("SUSPENDED", timedelta(0))), want("RELEASED", mistake=mistake), START + passed)
    assert isinstance(decided, FindingChanged) == is_allowed
    if isinstance(decided, FindingChanged):
        assert decided.mistake == mistake
    else:
        assert decided == Refused("a suspension lasts 24 hours; it can be released after 2026-12-02 09:00 UTC")


@pytest.mark.requirement("TR-32")
def test_after_two_releases_only_a_retraction_is_left() -> None:
    """TR-32: A finding is held by its post's views, looked at twice where many read it, and not switched on and off"""
    days = [timedelta(days=day) for day in range(5)]
    states: tuple[FindingState, ...] = ("SUSPENDED", "RELEASED", "SUSPENDED", "RELEASED", "SUSPENDED")
    twice = after(*zip(states, days, strict=True))
    for mistake in (False, True):
        refused = change(twice, want("RELEASED", mistake=mistake), START + timedelta(days=30))
        assert isinstance(refused, Refused)
        assert "only be retracted" in refused.why
    assert isinstance(change(twice, want("RETRACTED"), START + timedelta(days=4)), FindingChanged)


@pytest.mark.parametrize("state", ["SUSPENDED", "RELEASED"])
def test_a_retraction_is_final(state: FindingState) -> None:
    refused = change(after(("RETRACTED", timedelta(0))), want(state), START + timedelta(days=400))
    assert isinstance(refused, Refused)
    assert "final" in refused.why


@pytest.mark.requirement("TR-30")
@given(WISHES)
def test_whatever_is_wished_the_rules_hold(wishes: list[tuple[FindingState, bool, int]]) -> None:
    """TR-30: The states of a finding are ordered by the stream, and a retraction is final"""
    history, now, events = HISTORY, START, list[FindingChanged]()
    for sequence, (state, mistake, hours) in enumerate(wishes, 1):
        now += timedelta(hours=hours)
        before = history
        decided = change(before, want(state, mistake=mistake), now)
        if not isinstance(decided, FindingChanged):
            assert isinstance(decided, Unchanged) == (state == before.state)
            continue
        assert decided.follows == before.sequence
        assert before.state != "RETRACTED"
        assert decided.state != before.state
        if decided.state == "RELEASED" and not decided.mistake:
            assert before.changed_at is not None
            assert now - before.changed_at >= HOLD
        history = before.apply(sequence, now, decided)
        assert change(history, want(state, mistake=mistake), now) == Unchanged(), "repeating changes nothing"
        assert history.apply(sequence, now, decided) == history, "nor does a repeated fact"
        events.append(decided)
    assert history.releases <= RELEASES
    if "RETRACTED" in (states := [event.state for event in events]):
        assert states.index("RETRACTED") == len(states) - 1
    assert history.state == (states[-1] if states else "RELEASED")


def test_changes_of_other_findings_are_passed_over() -> None:
    event = FindingChanged(
        claim_id=UUID(int=9), investigation_id=UUID(int=2), state="RETRACTED", cause="OPERATOR", note="Because."
    )
    envelope = Envelope(id=event.event_id(), occurred_at=START, correlation=UUID(int=3), event=event)
    assert HISTORY.fold([Stored(4, envelope)]) == HISTORY
