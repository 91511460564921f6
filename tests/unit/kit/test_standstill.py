"""When a projector stands still, told from nothing but two numbers and a clock."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit import standstill
from kit.standstill import STANDSTILL_S, Progress, progress

Look = tuple[int, int, int]
"""Seconds since the look before, how far the projector has come since, and how much was added to the log."""

LOOKS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 3), st.integers(0, 3)), max_size=30)


def looked(looks: list[Look]) -> list[tuple[Progress, bool]]:
    """What is known after each look."""
    known, position, end, now, found = None, 0, 0, 0.0, []
    for seconds, applied, added in looks:
        now += seconds
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
    now = 0.0
    for (seconds, _, _), (known, stands) in zip(looks, looked(looks), strict=True):
        now += seconds
        if stands:
            assert known.position < known.end
            assert now - known.since_s >= STANDSTILL_S


class Numbers:
    """A position and an end, as the test sets them."""

    def __init__(self) -> None:
        self.position, self.end = 4, 4

    async def at(self, stream: str) -> int:
        return self.position

    async def until(self, stream: str) -> int:
        return self.end


async def test_one_request_is_enough_to_see_a_standstill(monkeypatch: pytest.MonkeyPatch) -> None:
    """Samples are taken in the background, so readiness needs no earlier request to compare with."""
    monkeypatch.setattr(standstill, "SAMPLE_S", 0.01)
    monkeypatch.setattr(standstill, "STANDSTILL_S", 0.05)
    numbers = Numbers()
    watched = standstill.Standstill("ERRATA", position=numbers.at, end=numbers.until)
    watching = asyncio.create_task(watched.watch())
    numbers.end = 7
    async with asyncio.timeout(5):
        while not watched.stands:  # noqa: ASYNC110 (samples are taken by the clock)
            await asyncio.sleep(0.01)
    assert await watched.problem() is not None
    numbers.position = 5
    assert await watched.problem() is None
    watching.cancel()
