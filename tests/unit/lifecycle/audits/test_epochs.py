"""The weeks of publishers' scores."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifecycle.audits.epochs import epoch_at, epoch_of, find_due

MOMENTS = st.datetimes(datetime(1990, 1, 1), datetime(2090, 1, 1), timezones=st.just(UTC))
WEEK = timedelta(days=7)


def test_a_week_closes_on_the_sunday_after_it_at_two() -> None:
    epoch = epoch_at(datetime(2026, 11, 18, 9, tzinfo=UTC))
    assert epoch == epoch_of(202647)
    assert epoch.begins == datetime(2026, 11, 16, tzinfo=UTC)
    assert epoch.ends == datetime(2026, 11, 23, tzinfo=UTC)
    assert epoch.closes == datetime(2026, 11, 29, 2, tzinfo=UTC)
    assert f"{epoch.closes:%A}" == "Sunday"
    assert epoch.rated_until == datetime(2026, 11, 29, tzinfo=UTC)


@given(MOMENTS)
def test_weeks_and_their_ratings_leave_no_gap(moment: datetime) -> None:
    epoch = epoch_at(moment)
    assert epoch.begins <= moment < epoch.ends
    assert epoch_of(epoch.number) == epoch
    later = epoch.next()
    assert later.number > epoch.number
    assert (later.begins, later.rated_since) == (epoch.ends, epoch.rated_until)


@pytest.mark.requirement("FH-128")
@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe"])
@pytest.mark.parametrize("month", [3, 4, 10, 11])
def test_a_clock_change_moves_no_week(zone: str, month: int) -> None:
    """FH-128: Scores are computed weekly, never by an analysis."""
    start = datetime(2026, month, 1, tzinfo=UTC)
    for hour in range(24 * 31):
        moment = start + timedelta(hours=hour)
        epoch = epoch_at(moment.astimezone(ZoneInfo(zone)))
        assert epoch == epoch_at(moment)
        assert epoch.closes.utctimetuple()[3:6] == (2, 0, 0)
        assert epoch.ends - epoch.begins == WEEK


def test_the_number_of_a_week_is_that_of_its_iso_year() -> None:
    assert epoch_at(datetime(2027, 1, 2, tzinfo=UTC)).number == 202653
    assert epoch_at(datetime(2027, 1, 4, tzinfo=UTC)).number == 202701
    assert epoch_of(202653).next().number == 202701
    with pytest.raises(ValueError, match="week"):
        epoch_of(202753)


FIRST = datetime(2026, 11, 18, 9, tzinfo=UTC)


@pytest.mark.requirement("FH-128")
@pytest.mark.parametrize(
    ("now", "closed", "expected"),
    [
        (datetime(2026, 11, 29, 1, 59, 59, tzinfo=UTC), 0, None),
        (datetime(2026, 11, 29, 2, tzinfo=UTC), 0, 202647),
        (datetime(2026, 11, 29, 4, tzinfo=timezone(timedelta(hours=2))), 0, 202647),
        (datetime(2027, 2, 1, tzinfo=UTC), 0, 202647),  # each missed week in its turn
        (datetime(2027, 2, 1, tzinfo=UTC), 202653, 202701),
        (datetime(2026, 12, 6, 1, tzinfo=UTC), 202647, None),
        (datetime(2026, 12, 6, 2, tzinfo=UTC), 202647, 202648),
    ],
)
def test_a_week_is_due_on_its_sunday_and_no_week_is_left_out(now: datetime, closed: int, expected: int | None) -> None:
    """FH-128: Scores are computed weekly, never by an analysis."""
    due = find_due(now, closed, FIRST, None)
    assert (due and due.number) == expected


@given(MOMENTS, st.integers(0, 30), st.booleans())
def test_nothing_that_was_rated_or_analysed_first_is_left_out(first: datetime, weeks: int, rated: bool) -> None:
    now = first + weeks * WEEK
    due = find_due(now, 0, None if rated else first, first if rated else None)
    if due is not None:
        assert (due.rated_since if rated else due.begins) <= first
    elif weeks > 1:
        raise AssertionError("it is due after two weeks at the latest")
    assert find_due(now, 0, None, None) is None
