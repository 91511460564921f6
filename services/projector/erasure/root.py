"""What can be erased: posts, jobs, assertions and accounts, each with all that belongs to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from contracts.topology import ERRATA, JOBS
from contracts.v1 import (
    PREFIX,
    EntityErasureOrdered,
    EntryPublished,
    ErasureOrdered,
    Event,
    RunStarted,
)
from contracts.v1.entity_erasure import EntityType

ErasureOrder = ErasureOrdered | EntityErasureOrdered
ERASURES: Final = (ErasureOrdered, EntityErasureOrdered)


@dataclass(frozen=True, slots=True, eq=False)
class Root:
    """Something that can be erased with all that belongs to it.

    Shapes: `table` has its row, if there is one. `stream` has its facts; `find_id` returns the id of the root that an
    event is about. `erased` is the table of erased roots, by `erased_id`. `shared` are tables whose rows several roots
    may use; such a row is deleted with the last root that refers to it. `owner` are columns that hold the root's id
    without a foreign key. `loose` are columns without a foreign key because their row may be written before the row
    that it names, each with the table of the latter.
    """

    table: str
    stream: str
    find_id: Callable[[Event], UUID | None]
    erased: str
    erased_id: str
    shared: tuple[str, ...] = ()
    owner: tuple[str, ...] = ()
    loose: tuple[tuple[str, str], ...] = ()


def _find_named(field: str, aggregate: str = "") -> Callable[[Event], UUID | None]:
    """A function that returns the id in a field, for events of one aggregate or of all."""

    def find(event: Event) -> UUID | None:
        id_ = getattr(event, field, None)
        return id_ if isinstance(id_, UUID) and event.SUBJECT.startswith(f"{PREFIX}{aggregate}") else None

    return find


def _find_subject(field: str, aggregate: str) -> Callable[[Event], UUID | None]:
    """As `_find_named`, and also for the runs about that aggregate."""
    of_aggregate = _find_named(field, f"{aggregate}.")

    def find(event: Event) -> UUID | None:
        return event.subject_id if isinstance(event, RunStarted) else of_aggregate(event)

    return find


def _find_assertion(event: Event) -> UUID | None:
    """The assertion of an event; also of `EntryPublished`, so that an erased assertion gets no entry."""
    return event.assertion_id if isinstance(event, EntryPublished) else _OF_ASSERTION(event)


_OF_ASSERTION: Final = _find_subject("assertion_id", "assertion")
POST: Final = Root(
    table="post",
    stream=ERRATA.name,
    find_id=_find_named("post_id"),
    erased="forgotten",
    erased_id="post_id",
    shared=("author", "content_blob", "html_blob", "image_occurrence_set", "image_blob", "prompt"),
    loose=(("post_id", "post"), ("post_version_id", "post_version"), ("investigation_id", "investigation")),
)
JOB: Final = Root(
    table="job",
    stream=JOBS.name,
    find_id=_find_subject("job_id", "job"),
    erased="erased_entity",
    erased_id="entity_id",
    loose=(("subject_id", "job"),),
)
"""Entries of credit stay: they hold amounts and ids, and the next one is computed from the newest."""
ASSERTION: Final = Root(
    table="assertion",
    stream=JOBS.name,
    find_id=_find_assertion,
    erased="erased_entity",
    erased_id="entity_id",
    loose=(("assertion_id", "assertion"), ("subject_id", "assertion"), ("entity_id", "entry")),
)
"""Its entry is erased with it."""
ACCOUNT: Final = Root(
    table="account",
    stream=JOBS.name,
    find_id=_find_named("account_id"),
    erased="erased_entity",
    erased_id="entity_id",
    owner=("account_id",),
    loose=(("subject_id", "job"),),
)
"""Its jobs and credit are erased with it; the row with its name is the operator's and not in the read model."""
ROOTS: Final = (POST, JOB, ASSERTION, ACCOUNT)
ENTITIES: Final[dict[EntityType, Root]] = {"JOB": JOB, "ASSERTION": ASSERTION, "ACCOUNT": ACCOUNT}


def find_root(order: ErasureOrder) -> tuple[Root, UUID]:
    """What an order erases."""
    if isinstance(order, ErasureOrdered):
        return POST, order.post_id
    return ENTITIES[order.entity_type], order.entity_id
