"""Whether an event ends a round, decided without the history."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from contracts.v1 import Event
from lifecycle.investigation import ends_round
from tests.support.factories import completed, failed, started


@pytest.mark.parametrize("end", [completed, failed])
def test_a_round_is_ended_by_its_own_end_and_by_that_of_a_later_one(end: Callable[..., Event]) -> None:
    assert [ends_round(2, end(round=round_)) for round_ in (1, 2, 3)] == [False, True, True]


def test_nothing_else_ends_a_round() -> None:
    assert not ends_round(1, started(round=1))
