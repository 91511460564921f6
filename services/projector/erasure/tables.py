"""Deletes a root's rows from the tables: all that belong to it, and shared rows that nothing else uses.

The rows are found by the tables' foreign keys, so a new table cannot be overlooked, as long as it has one or names its
root in a column that the root lists.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final
from uuid import UUID

from sqlalchemy import Table

from contracts.readmodel.columns import READMODEL
from services.projector.erasure.root import ASSERTION, ERASURES, ErasureOrder, Root, find_root
from services.projector.facts.fact import Fact
from services.projector.store.load import Connection

NOT_OWNED: Final = (
    "breaker",
    "control_batch",
    "erased_entity",
    "error_pattern",
    "forgotten",
    "label",
    "publisher",
    "publisher_rating",
    "publisher_score",
    "purge",
    "quality_day",
    "quality_metric",
    "review_sample",
    "score_epoch",
    "stage_config",
    "variant",
)
"""Tables without a root: what was erased or configured, and counts that triggers maintain; labels, which
subscribers have until the end of the label is published; samples and lists of controls, of which only the
places of posts are erased; variants and breakers, which name no post; publishers, whose counts name no claim;
metrics; and causes of errors, whose claim id means nothing once the claim is erased."""

_ADDRESSES: Final = """
    UPDATE image_blob b SET original_url = (SELECT p.source_url FROM investigation_picture p
        JOIN investigation_input i USING (investigation_id) WHERE p.content_hash = b.content_hash
        ORDER BY i.created_at, p.investigation_id, p.original_index LIMIT 1)
    WHERE b.content_hash = ANY (%s)"""
"""Sets the address of a shared picture to the one at which the first remaining investigation found it."""

_OBJECTIONS: Final = """
    DELETE FROM flag WHERE claim_sha256 = (SELECT canonical_sha256 FROM assertion WHERE id = %s)"""
"""Flags name a claim by the hash of its words, which several assertions may share."""


@dataclass(frozen=True, slots=True)
class Owned:
    """Rows of a table to delete: those that match `where`, whose parameters are ids by table."""

    table: str
    where: str


async def find_erased(db: Connection, roots: Sequence[Root], facts: Iterable[Fact]) -> set[int]:
    """The sequences of facts about roots that were erased earlier. Shapes: `roots` share one table `erased`."""
    about = [
        (fact.sequence, id_)
        for fact in facts
        if not isinstance(fact.event, ERASURES)
        for root in roots
        if (id_ := root.find_id(fact.event)) is not None
    ]
    if not about:
        return set()
    root = roots[0]
    query = f"SELECT {root.erased_id} FROM {root.erased} WHERE {root.erased_id} = ANY (%s)"  # noqa: S608 (our names)
    found = await db.execute(query.encode(), (list({id_ for _, id_ in about}),))
    erased = {id_ for (id_,) in await found.fetchall()}
    return {sequence for sequence, id_ in about if id_ in erased}


async def erase(db: Connection, fact: Fact, order: ErasureOrder) -> None:
    """Delete a root's row with all rows that belong to it, and record that it is erased."""
    root, id_ = find_root(order)
    await db.execute(
        f"INSERT INTO {root.erased} VALUES (%s, %s, %s, %s) ON CONFLICT DO NOTHING".encode(),  # noqa: S608 (our names)
        (id_, order.erasure_id, order.reason, fact.at),
    )
    for table in ("parked", "refused_fact"):
        await db.execute(
            f"DELETE FROM {table} WHERE stream = %s AND sequence = ANY (%s)".encode(),  # noqa: S608 (our names)
            (root.stream, [each.sequence for each in order.facts]),
        )
    named = {table for _, table in root.loose}
    given: dict[str, list[UUID]] = {root.table: [id_]}
    for owned in owned_tables(root):
        if owned.table in named and owned.table != root.table:  # during a rebuild that row may be missing already
            found = await db.execute(f"SELECT id FROM {owned.table} WHERE {owned.where}".encode(), given)  # noqa: S608 (our names)
            given[owned.table] = [each for (each,) in await found.fetchall()]
    shared: dict[str, set[str | UUID]] = {}
    for query, parent in _shared_queries(root):
        found = await db.execute(query.encode(), given)
        shared.setdefault(parent, set()).update(value for (value,) in await found.fetchall())
    if root is ASSERTION:
        await db.execute(_OBJECTIONS, (id_,))
    for owned in (*reversed(owned_tables(root)), *loose_tables(root)):
        await db.execute(f"DELETE FROM {owned.table} WHERE {owned.where}".encode(), given)  # noqa: S608 (our names)
    for parent, values in shared.items():
        await db.execute(_orphans(parent).encode(), {"values": list(values)})
    if "image_blob" in root.shared:
        await db.execute(_ADDRESSES, (list(shared.get("image_blob", ())),))


@cache
def owned_tables(root: Root) -> tuple[Owned, ...]:
    """Every table with rows that belong to a root, parents before children."""
    of_root = f"= ANY (%({root.table})s)"
    owned: dict[str, Owned] = {root.table: Owned(root.table, f"id {of_root}")} if root.table in READMODEL.tables else {}
    for table in READMODEL.sorted_tables:
        if table.name in (root.table, *root.shared, *NOT_OWNED):
            continue
        clauses = [
            f"{column} IN (SELECT {key} FROM {parent} WHERE {owned[parent].where})"  # noqa: S608 (our names)
            for column, parent, key in _find_references(table)
            if parent in owned
        ]
        clauses += [f"{column} {of_root}" for column in root.owner if column in table.columns]
        if clauses:
            owned[table.name] = Owned(table.name, " OR ".join(clauses))
    return tuple(owned.values())


@cache
def loose_tables(root: Root) -> tuple[Owned, ...]:
    """The tables that name a root without a foreign key; others may refer to them, so delete from them last."""
    owned = {each.table for each in owned_tables(root)}
    return tuple(
        Owned(table.name, " OR ".join(clauses))
        for table in READMODEL.sorted_tables
        if table.name not in (*owned, *root.shared, *NOT_OWNED)
        and (clauses := [f"{column} = ANY (%({of})s)" for column, of in root.loose if column in table.columns])
    )


def _find_references(table: Table) -> Iterator[tuple[str, str, str]]:
    for column in table.columns:
        for reference in column.foreign_keys:
            parent, _, key = reference.target_fullname.rpartition(".")
            if parent != table.name:
                yield column.name, parent, key


@cache
def _shared_queries(root: Root) -> tuple[tuple[str, str], ...]:
    """Queries for the shared rows that a root's rows refer to, each with their table."""
    where = {owned.table: owned.where for owned in owned_tables(root)}
    return tuple(
        (f"SELECT {column} FROM {table.name} WHERE {column} IS NOT NULL AND ({where[table.name]})", parent)  # noqa: S608 (our names)
        for table in READMODEL.sorted_tables
        if table.name in where
        for column, parent, _ in _find_references(table)
        if parent in root.shared
    )


def _orphans(parent: str) -> str:
    referring = [
        (table.name, column, key)
        for table in READMODEL.sorted_tables
        for column, to, key in _find_references(table)
        if to == parent and table.name != "image_occurrence"  # goes with its set
    ]
    key = referring[0][2]
    unused = " AND ".join(
        f"NOT EXISTS (SELECT FROM {table} c WHERE c.{column} = p.{key})" for table, column, _ in referring
    )
    return f"DELETE FROM {parent} p WHERE p.{key} = ANY (%(values)s) AND {unused}"  # noqa: S608 (our names)
