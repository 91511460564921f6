"""What leaves the tables when a post is forgotten: every row that hangs on it, and what only it had use for.

Which rows these are is read from the tables' own references, so a table added tomorrow cannot be overlooked, as long as
it refers to what it is about or names it as these do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Final
from uuid import UUID

from sqlalchemy import Table

from contracts.readmodel import READMODEL
from contracts.topology import ERRATA
from contracts.v1 import ErasureOrdered
from services.projector.facts import Fact
from services.projector.lookups import Connection

ROOT: Final = "post"
SHARED: Final = ("author", "content_blob", "html_blob", "image_occurrence_set", "image_blob", "prompt")
"""What several posts may share; a row of these goes with the last that refers to it."""

LOOSE: Final = {"post_id": "post", "post_version_id": "post_version", "investigation_id": "investigation"}
"""Columns that name a row without a reference, because they may come before it."""

KEPT: Final = ("forgotten", "tally", "tally_day")
"""What has no post of its own: what was erased, and counts that triggers keep up."""

_ADDRESSES: Final = """
    UPDATE image_blob b SET original_url = (SELECT p.source_url FROM investigation_picture p
        JOIN investigation_input i USING (investigation_id) WHERE p.content_hash = b.content_hash
        ORDER BY i.created_at, p.investigation_id, p.original_index LIMIT 1)
    WHERE b.content_hash = ANY (%s)"""
"""A picture that others need too is known by the address at which the first of those found it."""


@dataclass(frozen=True, slots=True)
class _Owned:
    """Rows of a table that go: those for which `where` holds, given the post and what hangs on it."""

    table: str
    where: str


async def forgotten(db: Connection, facts: Iterable[Fact]) -> set[int]:
    """The sequences of those facts that tell of posts forgotten earlier."""
    about = {fact.sequence: post for fact in facts if (post := _post(fact)) is not None}
    if not about:
        return set()
    found = await db.execute("SELECT post_id FROM forgotten WHERE post_id = ANY (%s)", (list(set(about.values())),))
    gone = {id_ for (id_,) in await found.fetchall()}
    return {sequence for sequence, post in about.items() if post in gone}


async def erase(db: Connection, fact: Fact, event: ErasureOrdered) -> None:
    """Remove a post and remember that it is forgotten."""
    await db.execute(
        "INSERT INTO forgotten VALUES (%s, %s, %s, %s) ON CONFLICT DO NOTHING",
        (event.post_id, event.erasure_id, event.reason, fact.at),
    )
    for table in ("parked", "refused_fact"):
        await db.execute(
            f"DELETE FROM {table} WHERE stream = %s AND sequence = ANY (%s)".encode(),  # noqa: S608 (our names)
            (ERRATA.name, [each.sequence for each in event.facts]),
        )
    shared: dict[str, set[Any]] = {}
    given: dict[str, Any] = {"post": [event.post_id]}
    for owned in _owned():
        if owned.table in LOOSE.values():
            found = await db.execute(f"SELECT id FROM {owned.table} WHERE {owned.where}".encode(), given)  # noqa: S608 (our names)
            given[owned.table] = [id_ for (id_,) in await found.fetchall()]
    for query, parent in _shared():
        found = await db.execute(query.encode(), given)
        shared.setdefault(parent, set()).update(value for (value,) in await found.fetchall())
    for owned in (*reversed(_owned()), *_loose()):
        await db.execute(f"DELETE FROM {owned.table} WHERE {owned.where}".encode(), given)  # noqa: S608 (our names)
    for parent, values in shared.items():
        await db.execute(_orphans(parent).encode(), {"values": list(values)})
    await db.execute(_ADDRESSES, (list(shared.get("image_blob", ())),))


def _post(fact: Fact) -> UUID | None:
    post = getattr(fact.event, "post_id", None)
    return post if isinstance(post, UUID) and not isinstance(fact.event, ErasureOrdered) else None


@cache
def _owned() -> tuple[_Owned, ...]:
    """Every table with rows that hang on a post, parents before children."""
    owned: dict[str, _Owned] = {ROOT: _Owned(ROOT, "id = ANY (%(post)s)")}
    for table in READMODEL.sorted_tables:
        if table.name in (ROOT, *SHARED, *KEPT):
            continue
        clauses = [
            f"{column} IN (SELECT {key} FROM {parent} WHERE {owned[parent].where})"  # noqa: S608 (our names)
            for column, parent, key in _links(table)
            if parent in owned
        ]
        if clauses:
            owned[table.name] = _Owned(table.name, " OR ".join(clauses))
    return tuple(owned.values())


@cache
def _loose() -> tuple[_Owned, ...]:
    """The tables that only name what they are about; some of them are referred to, so they go last."""
    owned = {each.table for each in _owned()}
    return tuple(
        _Owned(table.name, " OR ".join(clauses))
        for table in READMODEL.sorted_tables
        if table.name not in (*owned, *SHARED, *KEPT)
        and (clauses := [f"{column} = ANY (%({of})s)" for column, of in LOOSE.items() if column in table.columns])
    )


def _links(table: Table) -> Iterator[tuple[str, str, str]]:
    for column in table.columns:
        for reference in column.foreign_keys:
            parent, _, key = reference.target_fullname.rpartition(".")
            if parent != table.name:
                yield column.name, parent, key


@cache
def _shared() -> tuple[tuple[str, str], ...]:
    """Queries for what a post's rows share with others, each with the table it is in."""
    where = {owned.table: owned.where for owned in _owned()}
    return tuple(
        (f"SELECT {column} FROM {table.name} WHERE {column} IS NOT NULL AND ({where[table.name]})", parent)  # noqa: S608 (our names)
        for table in READMODEL.sorted_tables
        if table.name in where
        for column, parent, _ in _links(table)
        if parent in SHARED
    )


def _orphans(parent: str) -> str:
    referring = [
        (table.name, column, key)
        for table in READMODEL.sorted_tables
        for column, to, key in _links(table)
        if to == parent and table.name != "image_occurrence"  # goes with its set
    ]
    key = referring[0][2]
    unused = " AND ".join(
        f"NOT EXISTS (SELECT FROM {table} c WHERE c.{column} = p.{key})" for table, column, _ in referring
    )
    return f"DELETE FROM {parent} p WHERE p.{key} = ANY (%(values)s) AND {unused}"  # noqa: S608 (our names)
