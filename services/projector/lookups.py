"""What has to be read from the tables before a batch can be folded; each question is asked once for the whole batch."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final, NamedTuple
from uuid import UUID

import psycopg
from psycopg.rows import class_row

from contracts.v1 import Undecodable
from kit.ordered import Recorded
from services.projector.facts import Fact, Need, contents, makes, needs, pages
from services.projector.investigations import Investigation
from services.projector.reading import read_one
from services.projector.views import RangeDay, VersionRange, View, ViewerDay

Connection = psycopg.AsyncConnection[tuple[Any, ...]]

_LOADED: Final = ", ".join(
    column.name if column.name not in ("parent_investigation_id", "content_diff") else f"NULL AS {column.name}"
    for column in fields(Investigation)
)


async def known_texts(db: Connection, facts: Collection[Fact]) -> set[str]:
    """The texts that need no row any more; one that is a page here and a content there may lack one of its two."""
    wanted = {("content", ref.sha256) for fact in facts for ref in contents(fact.event)}
    wanted |= {("page", ref.sha256) for fact in facts for ref in pages(fact.event)}
    if not wanted:
        return set()
    hashes = {hash_ for _, hash_ in wanted}
    found = await db.execute(
        """SELECT 'content', content_hash FROM content_blob WHERE content_hash = ANY (%(hashes)s)
        UNION ALL SELECT 'page', html_hash FROM html_blob WHERE html_hash = ANY (%(hashes)s)""",
        {"hashes": list(hashes)},
    )
    return hashes - {hash_ for _, hash_ in wanted.difference(await found.fetchall())}


async def waiting(db: Connection, stream: str, facts: Iterable[Fact]) -> dict[Need, list[Fact]]:
    """The parked facts that this batch may release, and those that these may release in turn."""
    waiting: dict[Need, list[Fact]] = {}
    made = {need for fact in facts for need in makes(fact.event)}
    while made:
        by_name = {str(need): need for need in made}
        found = await db.execute(
            """SELECT p.awaits, f.sequence, f.subject, f.envelope, f.stored_at
            FROM parked p JOIN ledger.fact f USING (stream, sequence)
            WHERE p.stream = %s AND p.awaits = ANY (%s) ORDER BY p.sequence""",
            (stream, list(by_name)),
        )
        made = set()
        for awaits, sequence, subject, envelope, stored_at in await found.fetchall():
            try:
                fact = read_one(Recorded(stream, sequence, subject, envelope, stored_at))
            except Undecodable:  # an older version of this program could read it
                continue
            waiting.setdefault(by_name[awaits], []).append(fact)
            made.update(makes(fact.event))
        made -= waiting.keys()
    return waiting


async def skipped(db: Connection, stream: str) -> dict[int, str]:
    """The sequences that an operator has left out, each with the reason."""
    found = await db.execute("SELECT sequence, reason FROM ledger.skipped WHERE stream = %s", (stream,))
    return dict(await found.fetchall())


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked of the tables about facts; the answers come when the pipeline ends in which it was asked."""

    _met: psycopg.AsyncCursor[tuple[Any, ...]]
    _found: psycopg.AsyncCursor[Investigation]

    async def answer(self) -> Standing:
        """The answers."""
        states = {state.id: state for state in await self._found.fetchall()}
        known = {Need(kind, id_) for kind, id_ in await self._met.fetchall()}
        known |= {Need("investigation", id_) for id_ in states}
        known |= {Need("started", id_) for id_, state in states.items() if state.input_id is not None}
        return Standing(known, states)


class Standing(NamedTuple):
    """Which needs of some facts are met, and the state of every investigation they speak of."""

    known: set[Need]
    states: dict[UUID, Investigation]


async def ask_standing(db: Connection, facts: Iterable[Fact]) -> Asked:
    """Ask how things stand with what the facts speak of; inside a pipeline."""
    wanted: dict[str, set[UUID]] = {"version": set(), "investigation": set(), "started": set(), "claim": set()}
    for fact in facts:
        for need in (*needs(fact.event), *makes(fact.event)):
            wanted[need.kind].add(need.id)
    met = await db.execute(
        """SELECT 'version', id FROM post_version WHERE id = ANY (%s)
        UNION ALL SELECT 'claim', claim_id FROM claim_candidate WHERE claim_id = ANY (%s)""",
        (list(wanted["version"]), list(wanted["claim"])),
        binary=True,
    )
    found = db.cursor(row_factory=class_row(Investigation), binary=True)
    await found.execute(
        f"SELECT {_LOADED} FROM investigation WHERE id = ANY (%s)",  # noqa: S608 (our column names)
        (list(wanted["investigation"] | wanted["started"]),),
    )
    return Asked(met, found)


async def standing(db: Connection, facts: Iterable[Fact]) -> Standing:
    """The same, asked and answered."""
    async with db.pipeline():
        asked = await ask_standing(db, facts)
    return await asked.answer()


async def spent(db: Connection, views: Sequence[View]) -> tuple[set[ViewerDay], dict[RangeDay, int], set[VersionRange]]:
    """Which viewers had their credit of the day before this batch, how many each range had, and who saw versions."""
    viewers, ranges = {view.viewer_day for view in views}, {view.range_day for view in views}
    async with db.pipeline():
        credited = await db.execute(
            """SELECT post_id, viewer_key, bucket_day FROM post_view_credit
            JOIN unnest(%s::uuid[], %s::text[], %s::date[]) AS given(post_id, viewer_key, bucket_day)
            USING (post_id, viewer_key, bucket_day)""",
            [list(column) for column in zip(*viewers, strict=True)],
            binary=True,
        )
        spent = await db.execute(
            """SELECT post_id, ip_range_key, bucket_day, count(*) FROM post_view_credit
            JOIN unnest(%s::uuid[], %s::text[], %s::date[]) AS given(post_id, ip_range_key, bucket_day)
            USING (post_id, ip_range_key, bucket_day) GROUP BY post_id, ip_range_key, bucket_day""",
            [list(column) for column in zip(*ranges, strict=True)],
            binary=True,
        )
        seen_from = await db.execute(
            "SELECT post_version_id, ip_range_key FROM version_range WHERE post_version_id = ANY (%s)",
            (list({view.version_id for view in views}),),
            binary=True,
        )
    return (
        set(await credited.fetchall()),
        {row[:3]: row[3] for row in await spent.fetchall()},
        set(await seen_from.fetchall()),
    )
