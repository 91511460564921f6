"""When an approved claim may be shown, by a clock that is moved by hand."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifecycle.display import (
    CHECK,
    LONGEST,
    REASONS,
    DisplayRules,
    Fresh,
    HeldClaim,
    LookAgain,
    Release,
    Wait,
    Withhold,
    display,
)

START: Final = datetime(2026, 12, 1, 9, 0, tzinfo=UTC)
RULES: Final = DisplayRules()
STRICT: Final = replace(RULES, second_look=True)


def held(views: int | None, *, requested: bool = False) -> HeldClaim:
    return HeldClaim(held_at=START, views_a_day=views, is_requested=requested)


CLAIMS: Final = st.builds(
    HeldClaim,
    held_at=st.just(START),
    views_a_day=st.none() | st.integers(0, 20_000),
    is_requested=st.booleans(),
    has_passed=st.booleans(),
    has_second_look=st.booleans(),
    is_stopped=st.booleans(),
    fresh=st.none() | st.sampled_from(get_args(Fresh)),
)
MOMENTS: Final = st.timedeltas(timedelta(minutes=-5), timedelta(hours=30)).map(lambda passed: START + passed)


@pytest.mark.requirement("TR-32")
@pytest.mark.parametrize(
    ("views", "requested", "minutes"),
    [
        (0, False, 0),
        (99, False, 0),
        (None, True, 0),
        (None, False, 15),
        (100, False, 15),
        (100, True, 15),
        (10_000, False, 15),
        (10_001, False, 60),
        (10_001, True, 60),
    ],
)
def test_the_more_see_a_post_the_longer_its_finding_is_held(views: int | None, requested: bool, minutes: int) -> None:
    """TR-32: A finding is held by its post's views, looked at twice where many read it, and not switched on and off"""
    claim, due = held(views, requested=requested), START + timedelta(minutes=minutes)
    assert display(claim, due, RULES) == Release()
    if minutes:
        assert display(claim, due - timedelta(microseconds=1), RULES) == Wait(due)


@pytest.mark.requirement("TR-32")
def test_where_many_read_it_a_second_look_must_have_confirmed_it() -> None:
    """TR-32: A finding is held by its post's views, looked at twice where many read it, and not switched on and off"""
    many, later = held(10_001), START + timedelta(hours=1)
    assert display(many, later, STRICT) == Withhold("NO_SECOND_LOOK")
    confirmed = replace(many, has_second_look=True)
    assert display(confirmed, later - timedelta(microseconds=1), STRICT) == Wait(later)
    assert display(confirmed, later, STRICT) == LookAgain()
    assert display(replace(confirmed, fresh="CONFIRMED"), later, STRICT) == Release()
    assert display(replace(confirmed, fresh="CHANGED"), later, STRICT) == Withhold("SOURCE_CHANGED")
    away = replace(confirmed, fresh="UNAVAILABLE")
    assert display(away, later, STRICT) == Wait(later + CHECK)
    assert display(away, START + LONGEST, STRICT) == Withhold("SOURCE_UNAVAILABLE")
    assert display(held(10_000), later, STRICT) == Release()


def test_a_clock_that_was_set_back_makes_no_hold_longer() -> None:
    now = START - timedelta(days=365)
    assert display(held(None), now, RULES) == Wait(now + RULES.medium)


def test_views_that_come_during_the_hold_count() -> None:
    now = START + timedelta(minutes=15)
    assert display(held(500), now, RULES) == Release()
    assert display(held(50_000), now, RULES) == Wait(START + timedelta(minutes=60))


def test_what_a_breaker_stops_waits_for_it_and_is_withheld_after_a_day() -> None:
    stopped = replace(held(0), is_stopped=True)
    assert display(stopped, START, RULES) == Wait(START + CHECK)
    late = START + LONGEST - timedelta(minutes=1)
    assert display(stopped, late, RULES) == Wait(START + LONGEST)
    assert display(stopped, START + LONGEST, RULES) == Withhold("STOPPED")
    assert display(replace(stopped, is_stopped=False), late, RULES) == Release()


def test_what_a_gate_did_not_pass_is_never_shown() -> None:
    assert display(replace(held(0), has_passed=False), START, RULES) == Withhold("GATE_NOT_PASSED")


@given(CLAIMS, MOMENTS, st.booleans())
def test_nothing_is_shown_early_and_everything_is_decided_within_a_day(
    claim: HeldClaim, now: datetime, second_look: bool
) -> None:
    found = display(claim, now, replace(RULES, second_look=second_look))
    match found:
        case Wait(until):
            assert now < until <= START + LONGEST
        case Withhold(code):
            assert code in REASONS
        case LookAgain():
            assert second_look
            assert claim.fresh is None
        case Release():
            assert claim.has_passed
            assert not claim.is_stopped
            assert claim.views_a_day is None or claim.views_a_day <= 10_000 or now >= START + RULES.high
            is_confirmed = claim.has_second_look and claim.fresh == "CONFIRMED"
            assert not second_look or is_confirmed or (claim.views_a_day or 0) <= 10_000
    if now >= START + LONGEST:
        assert not isinstance(found, Wait)
