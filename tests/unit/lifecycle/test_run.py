"""The history of a run of any kind, and the attempt that comes next."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.v1.parts import EphemeralRef, Usage
from lifecycle.attempts import Exhausted, Link, NotDue, NothingToDo, OwnedByOtherWorker, follow_chain
from lifecycle.run import NextAttempt, RunHistory
from tests.support.factories import NOW

HOUR = NOW.replace(minute=0, second=0, microsecond=0) + timedelta(hours=24)
Step = Callable[[RunHistory[EphemeralRef]], None]


def words(number: int) -> EphemeralRef:
    return EphemeralRef(sha256=f"{number:064x}", size_bytes=1, until=HOUR)


def link(number: int, before: int | None = None) -> Link[EphemeralRef]:
    return Link(words(number), None if before is None else words(before).sha256)


def cost(micro_usd: int) -> Usage:
    return Usage(cost_micro_usd=micro_usd)


STEPS: tuple[Step, ...] = (
    lambda run: run.start(3, 1, 1),
    lambda run: run.add_segment(1, link(1), cost(5)),
    lambda run: run.add_segment(1, link(2, 1), cost(9)),
    lambda run: run.schedule_retry(1, NOW + timedelta(seconds=10), cost(11), words(7)),
    lambda run: run.start(8, 2, 2),
    lambda run: run.add_segment(2, link(3, 2), cost(4)),
)


def history(*steps: Step) -> RunHistory[EphemeralRef]:
    run: RunHistory[EphemeralRef] = RunHistory()
    for step in steps:
        step(run)
    return run


@given(st.lists(st.integers(0, len(STEPS) - 1), max_size=6))
def test_facts_that_come_twice_change_nothing(again: list[int]) -> None:
    twice = [step for number, step in enumerate(STEPS) for _ in range(1 + again.count(number))]
    assert history(*twice).plan(3, NOW + timedelta(hours=1)) == history(*STEPS).plan(3, NOW + timedelta(hours=1))


def test_the_next_attempt_goes_on_from_all_that_was_published() -> None:
    assert history(*STEPS).plan(3, NOW + timedelta(hours=1)) == NextAttempt(
        attempt=3,
        follows=8,
        done=(words(1), words(2), words(3)),
        on_record=frozenset(words(number).sha256 for number in (1, 2, 3, 7)),
        spent_micro_usd=15,
    )


def test_an_attempt_is_begun_once_on_a_delivery_and_not_on_an_earlier_one() -> None:
    run = history(*STEPS)
    assert isinstance(run.plan(2, NOW), OwnedByOtherWorker)
    assert isinstance(run.plan(1, NOW), OwnedByOtherWorker)
    assert isinstance(run.plan(0, NOW), OwnedByOtherWorker)


def test_an_attempt_waits_until_it_is_due() -> None:
    run = history(*STEPS[:4])
    assert run.plan(2, NOW) == NotDue(10.0)
    assert isinstance(run.plan(2, NOW + timedelta(seconds=10)), NextAttempt)


def test_the_last_attempt_is_the_fourth() -> None:
    run = history()
    for number in range(1, 5):
        assert isinstance(run.plan(number, NOW), NextAttempt)
        run.start(number, number, number)
    assert isinstance(run.plan(5, NOW), Exhausted)


def test_what_is_over_is_left_alone() -> None:
    run = history(*STEPS)
    run.end()
    assert isinstance(run.plan(9, NOW + timedelta(days=1)), NothingToDo)


@pytest.mark.parametrize(
    ("links", "found"),
    [
        ((), ()),
        ((link(1),), (1,)),
        ((link(2, 1),), ()),
        ((link(1), link(2, 1), link(5, 1)), (1, 5)),
        ((link(1), link(2, 1), link(4)), (4,)),
        ((link(1, 2), link(2, 1)), ()),
    ],
    ids=["nothing", "one", "the first is missing", "two went on from one", "begun anew", "in a circle"],
)
def test_the_chain_that_leads_to_the_last(links: tuple[Link[EphemeralRef], ...], found: tuple[int, ...]) -> None:
    assert follow_chain(links) == tuple(words(number) for number in found)
