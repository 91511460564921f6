"""Gives each decision its place in the log, and what it refers to. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from contracts.v1 import ErasureOrdered, InvestigationCompleted
from services.notary.decisions import Entry, Fact, make_entry
from services.notary.documents import Run
from services.notary.references import find_references, find_subject


@dataclass(frozen=True, slots=True)
class Known:
    """What the log holds of what a batch of facts refers to: leaves by the id of their event, subject and sequence."""

    events: Mapping[UUID, int] = field(default_factory=dict)
    subjects: Mapping[UUID, int] = field(default_factory=dict)
    sequences: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Placed:
    """An entry with its index and the fact it was made from."""

    index: int
    fact: Fact
    entry: Entry


@dataclass(frozen=True, slots=True)
class Batch:
    """What a batch of facts adds. Shapes: `erased` are earlier leaves that lose their openings and subjects."""

    placed: Sequence[Placed]
    erased: Collection[int]


def place(facts: Iterable[Fact], runs: Mapping[UUID, Run], known: Known, size: int) -> Batch:
    """The leaves of facts in their order, from the index `size` on; a repeated fact has none."""
    events, subjects, sequences = dict(known.events), dict(known.subjects), dict(known.sequences)
    placed: dict[int, Placed] = {}
    erased: set[int] = set()
    for fact in facts:
        if fact.id in events:
            continue
        references: list[int] = []
        if isinstance(fact.event, ErasureOrdered):
            references = [sequences[each.sequence] for each in fact.event.facts if each.sequence in sequences]
            erased.update(references)
        elif fact.event is not None:
            references = [events[id_] for id_ in find_references(fact.event) if id_ in events]
            if (subject := find_subject(fact.event)) in subjects:
                references.append(subjects[subject])
        run = runs.get(fact.event.investigation_id) if isinstance(fact.event, InvestigationCompleted) else None
        entry = make_entry(fact, references, run)
        if entry is None:
            continue
        index = size + len(placed)
        placed[index] = Placed(index, fact, entry)
        events[fact.id] = index
        sequences[fact.sequence] = index
        for each in entry.subjects:
            subjects.setdefault(each, index)
    for index in erased & placed.keys():
        placed[index] = Placed(index, placed[index].fact, Entry(placed[index].entry.leaf))
    return Batch(list(placed.values()), erased - placed.keys())
