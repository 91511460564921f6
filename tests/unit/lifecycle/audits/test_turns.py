"""Analyses of one assertion begin one after another, so that they only grow, and none waits for one that is lost."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.v1 import AssertionAnalysed, AssertionAnalysisRequested
from contracts.v1.assertion import Shape
from contracts.v1.ids import analysis_run_id
from lifecycle.audits.cache import LONGEST_RUN
from lifecycle.audits.turns import SHORTEST_WAIT_S, AnalysisTurn
from tests.support.factories import NOW
from tests.unit.lifecycle.audits.test_look import CLAIM, LARGE, SHAPES, SMALL, STANDARD, analysis, request

SECOND = timedelta(seconds=1)
Entry = tuple[int, datetime, AssertionAnalysisRequested | AssertionAnalysed]


def requested(sequence: int, follows: int = 0, shape: Shape = STANDARD) -> Entry:
    return sequence, NOW, request(sequence, follows=follows, shape=shape).event


def analysed(sequence: int, follows: int = 0, shape: Shape = STANDARD) -> Entry:
    return sequence, NOW, analysis(sequence, follows=follows, shape=shape).event


def turn_of(follows: int, *entries: Entry) -> AnalysisTurn:
    turn = AnalysisTurn(analysis_run_id(CLAIM, follows), follows)
    for entry in entries:
        turn.apply(*entry)
    return turn


def test_the_first_begins_at_once() -> None:
    turn = turn_of(0, requested(10))
    assert turn.requested is not None
    assert (turn.awaited, turn.is_done) == (None, False)
    assert turn.wait_s(NOW, failed=False) == 0
    assert turn_of(0).requested is None


def test_the_next_waits_until_the_one_before_has_ended_or_is_lost() -> None:
    waiting = turn_of(10, requested(10), requested(11, 10, LARGE))
    assert waiting.awaited == analysis_run_id(CLAIM, 0)
    assert waiting.wait_s(NOW, failed=False) == SHORTEST_WAIT_S
    assert waiting.wait_s(NOW, failed=True) == 0
    assert waiting.wait_s(NOW + LONGEST_RUN - SECOND, failed=False) > 0
    assert waiting.wait_s(NOW + LONGEST_RUN, failed=False) == 0
    assert turn_of(10, requested(10), requested(11, 10, LARGE), analysed(12)).awaited is None


def test_it_is_looked_for_a_few_times_only() -> None:
    """A delivery that is put off counts as one of its consumer's attempts at some time."""
    turn, now, looks = turn_of(10, requested(10), requested(11, 10)), NOW, 0
    while (wait_s := turn.wait_s(now, failed=False)) > 0:
        now += timedelta(seconds=wait_s)
        looks += 1
    assert LONGEST_RUN <= now - NOW <= LONGEST_RUN + SHORTEST_WAIT_S * SECOND
    assert looks <= 16


def test_it_is_done_with_its_own_result_only() -> None:
    assert turn_of(0, requested(10), analysed(12)).is_done
    assert not turn_of(10, requested(10), requested(11, 10), analysed(12)).is_done


@pytest.mark.requirement("FH-71")
@given(st.permutations(range(4)), st.lists(SHAPES, min_size=4, max_size=4))
def test_whatever_comes_first_no_analysis_is_smaller_than_the_one_before(order: list[int], shapes: list[Shape]) -> None:
    """FH-71: A hit is at least as large as what was asked for, and shapes only grow."""
    log = [requested(10 + number, 10 + number - 1 if number else 0, shape) for number, shape in enumerate(shapes)]
    stored: list[Shape] = []
    for sequence, number in enumerate(order, 20):
        follows = 10 + number - 1 if number else 0
        grown = turn_of(follows, *log).grow(shapes[number])
        assert grown.covers(shapes[number])
        stored.append(grown)
        log.append(analysed(sequence, follows, grown))
    assert all(later.covers(earlier) for earlier, later in pairwise(stored))


def test_nothing_grows_without_an_analysis() -> None:
    assert turn_of(0, requested(10)).grow(SMALL) == SMALL
