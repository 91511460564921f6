"""A second read model, built from the ledger beside the live one and compared with it row by row, then dropped.

Both are looked at in one snapshot, taken while nobody can apply a fact, so they are at the same position; the
projector waits only for that moment and not for the comparison.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import psycopg
from psycopg import sql

from contracts.readmodel import READMODEL
from kit.database import LIVE, open_session
from services.projector.ports import Texts
from services.projector.rebuild import Progress, building, silent
from services.projector.views import VIEW_RULES, ViewRules

SHADOW: Final = "readmodel_shadow"
EXAMPLES: Final = 20
NOT_COMPARED: Final = {
    "created_at": ("author", "content_blob", "html_blob", "image_blob", "image_occurrence_set", "prompt"),
    "bucket": ("search_document",),
}
"""What a post that is forgotten takes with it: when something that posts share was first needed, and where time was cut
into pieces for the search."""
PIECES: Final = "search_bucket"


@dataclass(frozen=True, slots=True)
class Difference:
    """A table that is not the same in both. Shapes: `live` and `shadow` are rows as JSON, a few of those counted."""

    table: str
    only_live: int
    only_shadow: int
    live: tuple[str, ...]
    shadow: tuple[str, ...]


async def shadow(
    url: str,
    texts: Texts,
    *,
    analyses: Sequence[str],
    view_rules: ViewRules = VIEW_RULES,
    progress: Progress = silent,
) -> list[Difference]:
    """What the log means today against what the live tables hold; empty if that is the same.

    Raises: chain.LedgerBroken: the ledger has a hole or an altered fact.
    """
    try:
        async with await open_session(url) as reader:
            async with building(url, SHADOW, texts, analyses=analyses, view_rules=view_rules, progress=progress):
                await reader.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
                await reader.execute("SELECT 1")  # takes the snapshot
            tables = [table.name for table in READMODEL.sorted_tables if table.name != PIECES]
            found = [await _compare(reader, table) for table in tables]
            await reader.execute("COMMIT")
            return [each for each in found if each.only_live or each.only_shadow]
    finally:
        async with await open_session(url) as cleaner:
            await cleaner.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(SHADOW)))


async def _compare(db: psycopg.AsyncConnection[tuple[Any, ...]], table: str) -> Difference:
    """Rows as a bag: one that is there twice on one side counts."""
    live, there = await _beyond(db, table, LIVE, SHADOW), await _beyond(db, table, SHADOW, LIVE)
    return Difference(table, live[0], there[0], live[1], there[1])


async def _beyond(
    db: psycopg.AsyncConnection[tuple[Any, ...]], table: str, ours: str, theirs: str
) -> tuple[int, tuple[str, ...]]:
    without = [column for column, tables in NOT_COMPARED.items() if table in tables]
    query = sql.SQL(
        """WITH beyond AS (SELECT (to_jsonb(t) - {without}::text[])::text AS row FROM {ours} t
            EXCEPT ALL SELECT (to_jsonb(t) - {without}::text[])::text FROM {theirs} t)
        SELECT (SELECT count(*) FROM beyond), ARRAY(SELECT row FROM beyond ORDER BY row LIMIT {examples})"""
    ).format(ours=sql.Identifier(ours, table), theirs=sql.Identifier(theirs, table), examples=EXAMPLES, without=without)
    row = await (await db.execute(query)).fetchone()
    assert row is not None
    return row[0], tuple(row[1])
