"""How a stream's events are projected: a rule for each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from contracts.v1 import Event
from services.projector.facts.fact import Fact
from services.projector.projections.material import Material
from services.projector.rows.table import Lookup, RowKey, Tables


class Rule(NamedTuple):
    """How an event is projected.

    Shapes: `keys` are the rows it is about, among them what it needs and what it makes; `apply` takes the tables, the
    fact, its event and the material.
    """

    keys: Callable[..., Sequence[RowKey]]
    apply: Callable[..., None]


Rules = Mapping[type[Event], Rule]


def rows_by(*about: tuple[Lookup, str]) -> Callable[[object], Sequence[RowKey]]:
    """A function that returns the row keys of an event: each lookup, with the value of the event's attribute."""
    return lambda event: [(lookup, getattr(event, name)) for lookup, name in about]


def find_row_keys(rules: Rules, fact: Fact) -> Sequence[RowKey]:
    """The rows that a fact is about, among them what it needs and what it makes."""
    rule = rules.get(type(fact.event))
    return () if rule is None else rule.keys(fact.event)


def fold(rules: Rules, tables: Tables, facts: Iterable[Fact], material: Material) -> int:
    """Apply facts in order; returns how many are about something unknown: none, since each has what it needs."""
    for fact in facts:
        if (rule := rules.get(type(fact.event))) is not None:
            rule.apply(tables, fact, fact.event, material)
    return 0
