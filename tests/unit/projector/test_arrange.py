"""Facts wait for what they need, and the order that results does not depend on batches."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from itertools import pairwise
from sys import getrefcount

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.v1 import Event
from services.projector.facts.arrange import arrange
from services.projector.facts.fact import Fact, Need, makes
from services.projector.facts.reading import read_one
from tests.unit.projector.histories import Page, Tape

PAGES = [Page(name) for name in "ab"]
EVENTS: list[Event] = [
    event
    for page in PAGES
    for event in (page.registered(), page.seen("x"), page.verified(), *page.investigated(), page.failed())
]


def facts(events: Sequence[Event]) -> list[Fact]:
    tape = Tape()
    tape.add(*events)
    return [read_one(record) for record in tape.records]


def in_batches(all_facts: Sequence[Fact], cuts: Sequence[int]) -> tuple[list[int], list[int]]:
    """What the store does, with sets for tables: the order of application, and what still waits at the end."""
    known: set[Need] = set()
    waiting: dict[Need, list[Fact]] = {}
    order: list[int] = []
    edges = [0, *sorted(cuts), len(all_facts)]
    for start, end in pairwise(edges):
        arranged = arrange(all_facts[start:end], known, waiting)
        order += [fact.sequence for fact in arranged.ordered]
        known |= {need for fact in arranged.ordered for need in makes(fact.event)}
        gone = {fact.sequence for fact in arranged.released}
        waiting = {need: [fact for fact in held if fact.sequence not in gone] for need, held in waiting.items()}
        for fact, need in arranged.parked:
            waiting.setdefault(need, []).append(fact)
    return order, sorted(fact.sequence for held in waiting.values() for fact in held)


@pytest.mark.requirement("3.5-03")
@given(st.permutations(EVENTS), st.lists(st.integers(0, len(EVENTS)), max_size=6))
def test_any_order_in_any_batches_applies_everything_once(events: list[Event], cuts: list[int]) -> None:
    """3.5-03: Registrations at once make one version."""
    shuffled = facts(events)
    order, left = in_batches(shuffled, cuts)
    assert sorted(order) == [fact.sequence for fact in shuffled]
    assert not left
    assert (order, left) == in_batches(shuffled, [])


@given(st.permutations(EVENTS), st.integers(0, len(EVENTS)), st.lists(st.integers(0, len(EVENTS)), max_size=6))
def test_what_never_gets_its_need_waits_in_any_batches(events: list[Event], until: int, cuts: list[int]) -> None:
    some = facts(events[:until])
    assert in_batches(some, [cut for cut in cuts if cut <= until]) == in_batches(some, [])


def test_facts_in_order_stay_in_order() -> None:
    straight = facts(EVENTS)
    assert in_batches(straight, [])[0] == [fact.sequence for fact in straight]


def test_a_release_comes_right_after_what_it_waited_for() -> None:
    page = PAGES[0]
    order, _ = in_batches(facts([page.approved(0), page.proposed(0), page.requested(), page.registered()]), [])
    assert order == [4, 3, 2, 1]


def test_no_fact_is_held_once_a_batch_is_arranged() -> None:
    """A rebuild runs without the collector of cycles: what one batch left in one would stay until the last batch."""
    shuffled = facts(EVENTS)[::-1]
    held = [getrefcount(fact) for fact in shuffled]
    gc.disable()
    try:
        arrange(shuffled, set(), {})
        assert [getrefcount(fact) for fact in shuffled] == held
    finally:
        gc.enable()
