"""When a projector stands still, told from nothing but two numbers and a clock."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from services.gateway.vitals import STANDSTILL, Progress, progress
from tests.unit.gateway.fakes import NOW

Look = tuple[int, int, int]
"""Seconds since the look before, how far the projector has come since, and how much was added to the log."""

LOOKS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 3), st.integers(0, 3)), max_size=30)


def looked(looks: list[Look]) -> list[tuple[Progress, bool]]:
    """What is known after each look."""
    known, position, end, now, found = None, 0, 0, NOW, []
    for seconds, applied, added in looks:
        now += timedelta(seconds=seconds)
        end += added
        position = min(end, position + applied)
        known, stands = progress(known, position, end, now)
        found.append((known, stands))
    return found


def test_one_that_lags_for_ten_seconds_without_a_step_stands_still() -> None:
    assert [stands for _, stands in looked([(0, 0, 1), (9, 0, 0), (1, 0, 5)])] == [False, False, True]


def test_one_that_was_idle_has_ten_seconds_for_what_comes() -> None:
    assert [stands for _, stands in looked([(0, 1, 1), (3_600, 0, 1), (9, 0, 0), (1, 0, 0)])] == [
        False,
        False,
        False,
        True,
    ]


@given(LOOKS)
def test_nobody_who_goes_on_or_has_nothing_to_do_stands_still(looks: list[Look]) -> None:
    position = end = 0
    for (_, applied, added), (_, stands) in zip(looks, looked(looks), strict=True):
        end += added
        stepped, position = min(applied, end - position), min(end, position + applied)
        if stepped or position == end:
            assert not stands


@given(LOOKS)
def test_whoever_is_said_to_stand_was_behind_all_the_while(looks: list[Look]) -> None:
    now = NOW
    for (seconds, _, _), (known, stands) in zip(looks, looked(looks), strict=True):
        now += timedelta(seconds=seconds)
        if stands:
            assert known.position < known.end
            assert now - known.since >= STANDSTILL
