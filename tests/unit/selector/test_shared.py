"""Platforms share the day's runs; within a platform the given order holds."""

from __future__ import annotations

from collections import Counter
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from services.selector.domain import Candidate, share_by_platform

NAMES = ("LESSWRONG", "SUBSTACK", "WIKIPEDIA", "X")


def candidate(number: int, platform: str, *, confirmed: bool = True, score: int = 1) -> Candidate:
    return Candidate(
        UUID(int=number), UUID(int=number), score, UUID(int=number), platform=platform, confirmed=confirmed
    )


wanted_lists = st.lists(st.sampled_from(NAMES), max_size=40).map(
    lambda names: [candidate(number, name, score=number % 5) for number, name in enumerate(names)]
)
days = st.dictionaries(st.sampled_from(NAMES), st.integers(0, 20))


@given(wanted_lists, days, st.integers(0, 50))
def test_every_place_is_used_and_each_platforms_order_holds(
    wanted: list[Candidate], taken: dict[str, int], runs: int
) -> None:
    chosen = share_by_platform(wanted, taken, runs)
    assert len(chosen) == min(runs, len(wanted))
    for name in NAMES:
        mine = [each for each in wanted if each.platform == name]
        assert [each for each in chosen if each.platform == name] == mine[: sum(c.platform == name for c in chosen)]


@given(wanted_lists, days, st.integers(0, 50))
def test_no_platform_is_ahead_of_one_that_still_waits(
    wanted: list[Candidate], taken: dict[str, int], runs: int
) -> None:
    chosen = share_by_platform(wanted, taken, runs)
    total = Counter(taken) + Counter(each.platform for each in chosen)
    waiting = {each.platform for each in wanted if each not in chosen}
    gained = {each.platform for each in chosen}
    for name in waiting:
        assert all(total[other] <= total[name] + 1 for other in gained)


def test_among_equals_the_confirmed_and_then_the_most_viewed_goes_first() -> None:
    unconfirmed = candidate(1, "X", confirmed=False, score=99)
    viewed, other = candidate(2, "WIKIPEDIA", score=7), candidate(3, "LESSWRONG", score=3)
    assert share_by_platform([unconfirmed, other, viewed], {}, 2) == (viewed, other)
    assert share_by_platform([unconfirmed, other, viewed], {"WIKIPEDIA": 3, "LESSWRONG": 3}, 1) == (unconfirmed,)
