"""Which stale entries are analysed again, and when."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.v1.entry import StaleTrigger
from lifecycle.audits.entries import MANY_STALE, STALE_BY, choose_renewals

NIGHT, DAY = datetime(2026, 11, 26, 2, 30, tzinfo=UTC), datetime(2026, 11, 26, 14, 30, tzinfo=UTC)
TRIGGERS: Final = st.lists(st.sampled_from(sorted(STALE_BY)), min_size=1, max_size=3)


@dataclass(frozen=True)
class Stale:
    """An entry that several causes made stale."""

    stale: frozenset[str]


def made_by(*triggers: StaleTrigger) -> Stale:
    return Stale(frozenset(part for each in triggers for part in STALE_BY[each]))


@pytest.mark.requirement("FH-127")
@pytest.mark.parametrize(
    ("trigger", "by_day", "by_night"),
    [
        ("EDIT", True, True),
        ("EVIDENCE", False, True),
        ("SOURCES", False, True),
        ("FLAGS", False, True),
        ("IMPROVEMENT", False, False),
    ],
)
def test_a_cause_decides_when_an_entry_is_analysed_again(trigger: StaleTrigger, by_day: bool, by_night: bool) -> None:
    """FH-127: What makes an entry stale is recorded."""
    entry = made_by(trigger)
    assert choose_renewals([entry], DAY, 1) == [entry] * by_day
    assert choose_renewals([entry], NIGHT, 1) == [entry] * by_night
    many = [made_by(trigger)] * MANY_STALE
    assert bool(choose_renewals(many, NIGHT, 1)) is by_day, "so many are not analysed in one night"
    assert bool(choose_renewals(many[1:], NIGHT, 1)) is by_night


@given(st.lists(TRIGGERS), st.datetimes(timezones=st.just(UTC)), st.integers(0, 9))
def test_no_more_are_chosen_than_may_be_bought_and_none_twice(
    causes: list[list[StaleTrigger]], now: datetime, most: int
) -> None:
    entries = [made_by(*each) for each in causes]
    chosen = choose_renewals(entries, now, most)
    assert len(chosen) <= most
    assert all(chosen.count(each) <= entries.count(each) for each in chosen)
    edited = [each for each in entries if "SUMMARY" in each.stale]
    assert chosen[: len(edited)] == edited[:most]
