"""A second read model, built from the ledger beside the live one and compared with it row by row, then dropped.

Both are read in one snapshot, taken while no fact can be applied, so they are at the same position; the projector
waits for the snapshot only and not for the comparison.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from psycopg import sql

from contracts.readmodel.columns import READMODEL
from kit.database import LIVE, open_session
from services.projector.ports import Texts
from services.projector.projections.views import VIEW_RULES, ViewRules
from services.projector.rebuild.rebuild import Progress, build_beside, ignore_progress
from services.projector.store.load import Connection

SHADOW: Final = "readmodel_shadow"
MAX_EXAMPLES: Final = 20
NOT_COMPARED: Final = {
    "created_at": ("author", "content_blob", "html_blob", "image_blob", "image_occurrence_set", "prompt"),
}
"""Columns, each with its tables, that the erasure of other posts changes: when a shared row was first needed."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A table that differs. Shapes: `live` and `shadow` are a few of the counted rows, as JSON."""

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
    progress: Progress = ignore_progress,
) -> list[Difference]:
    """Compare a fresh projection of the ledger with the live tables; empty if they are the same.

    Raises: chain.LedgerBroken: the ledger has a hole or an altered fact.
    """
    try:
        async with await open_session(url) as reader:
            async with build_beside(url, SHADOW, texts, analyses=analyses, view_rules=view_rules, progress=progress):
                await reader.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
                await reader.execute("SELECT 1")  # takes the snapshot
            tables = [table.name for table in READMODEL.sorted_tables]
            found = [await _compare(reader, table) for table in tables]
            await reader.execute("COMMIT")
            return [each for each in found if each.only_live or each.only_shadow]
    finally:
        async with await open_session(url) as cleaner:
            await cleaner.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(SHADOW)))


async def _compare(db: Connection, table: str) -> Difference:
    """Compare rows as multisets."""
    live, there = await _rows_missing_in(db, table, LIVE, SHADOW), await _rows_missing_in(db, table, SHADOW, LIVE)
    return Difference(table, live[0], there[0], live[1], there[1])


async def _rows_missing_in(db: Connection, table: str, ours: str, theirs: str) -> tuple[int, tuple[str, ...]]:
    without = [column for column, tables in NOT_COMPARED.items() if table in tables]
    query = sql.SQL(
        """WITH beyond AS (SELECT (to_jsonb(t) - {without}::text[])::text AS row FROM {ours} t
            EXCEPT ALL SELECT (to_jsonb(t) - {without}::text[])::text FROM {theirs} t)
        SELECT (SELECT count(*) FROM beyond), ARRAY(SELECT row FROM beyond ORDER BY row LIMIT {examples})"""
    ).format(
        ours=sql.Identifier(ours, table), theirs=sql.Identifier(theirs, table), examples=MAX_EXAMPLES, without=without
    )
    row = await (await db.execute(query)).fetchone()
    assert row is not None
    return row[0], tuple(row[1])
