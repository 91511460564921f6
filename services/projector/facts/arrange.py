"""The order in which facts are applied: the log's, except that a fact waits for what it needs.

The result depends on the order of the log alone and never on where one batch ends and the next begins; otherwise a
rebuild would differ from the live tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from services.projector.facts.fact import Fact, Need, find_need, makes


@dataclass(frozen=True, slots=True)
class Arranged:
    """Facts in the order to apply them, and those that wait.

    Shapes: `parked` is (fact, what it awaits); `released` were parked earlier and wait no longer, or for another need.
    """

    ordered: tuple[Fact, ...]
    parked: tuple[tuple[Fact, Need], ...]
    released: tuple[Fact, ...]


def arrange(facts: Iterable[Fact], known: AbstractSet[Need], waiting: Mapping[Need, Sequence[Fact]]) -> Arranged:
    """Put each fact after what it needs.

    Shapes: `known` are the needs that are met already; `waiting` has the facts parked earlier, by need.
    """
    order = _Order(known, waiting)
    for fact in facts:
        order.add(fact)
    return order.arranged()


class _Order:
    """The order under construction. Not a recursive closure: that cycle would keep all facts of its batch alive."""

    def __init__(self, known: AbstractSet[Need], waiting: Mapping[Need, Sequence[Fact]]) -> None:
        self._met = set(known)
        self._parked = {need: list(parked) for need, parked in waiting.items()}
        self._earlier = {fact.sequence for parked in waiting.values() for fact in parked}
        self._ordered: list[Fact] = []
        self._released: dict[int, Fact] = {}

    def add(self, fact: Fact) -> None:
        """Append the fact, then those that waited for what it makes; or park it."""
        need = find_need(fact.event)
        if need is not None and need not in self._met:
            self._parked.setdefault(need, []).append(fact)
            return
        self._ordered.append(fact)
        for made in makes(fact.event):
            if made in self._met:
                continue
            self._met.add(made)
            for waited in self._parked.pop(made, ()):
                if waited.sequence in self._earlier:
                    self._released[waited.sequence] = waited
                self.add(waited)

    def arranged(self) -> Arranged:
        newly = tuple(
            (fact, need)
            for need, parked in self._parked.items()
            for fact in parked
            if fact.sequence not in self._earlier or fact.sequence in self._released
        )
        return Arranged(tuple(self._ordered), newly, tuple(self._released.values()))
