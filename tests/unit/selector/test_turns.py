"""Whatever waits gets its turn: of lost runs and new posts, the one passed over last time goes first."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.selector.domain import Candidate, Pick, Reason, alternate, make_request

few = st.integers(min_value=0, max_value=4)


def pick(number: int, why: Reason) -> Pick:
    """A run to ask for."""
    candidate = Candidate(UUID(int=number), UUID(int=1_000 + number), 0, UUID(int=2_000 + number))
    return Pick(candidate, make_request(candidate, "FACT_CHECK"), why)


LOST = [pick(number, "lost") for number in range(3)]
NEW = [pick(number, "most viewed") for number in range(10, 13)]


@dataclass(frozen=True)
class Round:
    """What one round may take, and what has come to wait since the one before."""

    allowed: int
    lost: int
    new: int


def rounds(allowed: st.SearchStrategy[int]) -> st.SearchStrategy[list[Round]]:
    """Rounds in which what waits is often more than what is allowed."""
    return st.lists(st.builds(Round, allowed, few, few), max_size=40)


@pytest.mark.requirement("3.6-03", "3.6-04", "2.10-01")
@given(rounds(st.integers(min_value=1, max_value=5)))
def test_neither_is_passed_over_twice_running_while_it_waits(history: list[Round]) -> None:
    """3.6-03: A run whose worker died is taken up again.
    3.6-04: A request that was lost is made again.
    2.10-01: Order by capped unique score.
    """
    lost, new, last, passed = 0, 0, None, dict.fromkeys(("lost", "most viewed"), 0)
    for each in history:
        lost, new = lost + each.lost, new + each.new
        waiting = {"lost": lost, "most viewed": new}
        taken = alternate(
            [pick(number, "lost") for number in range(lost)],
            [pick(number, "most viewed") for number in range(new)],
            each.allowed,
            last,
        )
        assert len(taken) == min(each.allowed, lost + new), "nothing that is allowed is left unused"
        for one in taken:
            other = "lost" if one.why == "most viewed" else "most viewed"
            waiting[one.why] -= 1
            passed[one.why], passed[other] = 0, passed[other] + 1 if waiting[other] else 0
            assert passed[other] <= 1
            last = one.why
        lost, new = waiting["lost"], waiting["most viewed"]


@pytest.mark.parametrize("last", ["lost", "most viewed", None])
@pytest.mark.parametrize("allowed", range(8))
def test_each_list_is_taken_in_its_own_order(allowed: int, last: Reason | None) -> None:
    taken = alternate(LOST, NEW, allowed, last)
    assert [one for one in taken if one.why == "lost"] == LOST[: sum(one.why == "lost" for one in taken)]
    assert [one for one in taken if one.why != "lost"] == NEW[: sum(one.why != "lost" for one in taken)]


def test_the_one_that_was_not_taken_last_begins() -> None:
    assert alternate(LOST, NEW, 3, None) == (LOST[0], NEW[0], LOST[1])
    assert alternate(LOST, NEW, 3, "most viewed") == (LOST[0], NEW[0], LOST[1])
    assert alternate(LOST, NEW, 3, "lost") == (NEW[0], LOST[0], NEW[1])
    assert alternate((), NEW, 2, "most viewed") == (NEW[0], NEW[1])
    assert alternate(LOST, (), 2, "lost") == (LOST[0], LOST[1])
