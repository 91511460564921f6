"""The order in which facts are applied: the log's, except that a fact waits for what it needs.

The result depends on the order of the log alone and never on where one batch ends and the next begins; otherwise a
rebuild would differ from the live tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from services.projector.facts import Fact, Need, makes, needs


@dataclass(frozen=True, slots=True)
class Arranged:
    """Shapes: `parked` is (fact, what it awaits); `released` were parked earlier and wait no longer, or for another."""

    ordered: tuple[Fact, ...]
    parked: tuple[tuple[Fact, Need], ...]
    released: tuple[Fact, ...]


def arrange(facts: Iterable[Fact], known: AbstractSet[Need], waiting: Mapping[Need, Sequence[Fact]]) -> Arranged:
    """Put each fact after what it needs.

    Shapes: `known` holds those needs of the facts that are met already; `waiting` the facts parked earlier.
    """
    there = set(known)
    parked = {need: list(parked_) for need, parked_ in waiting.items()}
    earlier = {fact.sequence for parked_ in waiting.values() for fact in parked_}
    ordered: list[Fact] = []
    released: dict[int, Fact] = {}

    def take(fact: Fact) -> None:
        missing = next((need for need in needs(fact.event) if need not in there), None)
        if missing is not None:
            parked.setdefault(missing, []).append(fact)
            return
        ordered.append(fact)
        for made in makes(fact.event):
            if made in there:
                continue
            there.add(made)
            for waited in parked.pop(made, ()):
                if waited.sequence in earlier:
                    released[waited.sequence] = waited
                take(waited)

    for fact in facts:
        take(fact)
    newly = tuple(
        (fact, need)
        for need, parked_ in parked.items()
        for fact in parked_
        if fact.sequence not in earlier or fact.sequence in released
    )
    return Arranged(tuple(ordered), newly, tuple(released.values()))
