"""What the database did for a piece of code: its statements are written down, then asked for their plans.

They are run again in their order and in transactions of the same extent, so that settings made on the way hold as they
did.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg
from sqlalchemy import Engine, event

Session = psycopg.AsyncConnection[tuple[Any, ...]]


@dataclass
class Statements:
    """What was sent. Shapes: transactions, each with its settings and questions, in their order."""

    transactions: list[list[tuple[str, Any]]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Plan:
    """How one question was answered. Units: milliseconds in the database, blocks of 8 KiB."""

    statement: str
    nodes: Sequence[str]
    scanned: Sequence[str]
    index_conditions: Sequence[str]
    buffers: int
    ms: float


@asynccontextmanager
async def statements() -> AsyncIterator[Statements]:
    """Everything that this process sends through SQLAlchemy meanwhile."""
    taken = Statements()

    def take(connection: object, cursor: object, statement: str, parameters: Any, *_: object) -> None:
        taken.transactions[-1].append((statement, parameters or None))

    def begin(connection: object) -> None:
        taken.transactions.append([])

    event.listen(Engine, "begin", begin)
    event.listen(Engine, "before_cursor_execute", take)
    try:
        yield taken
    finally:
        event.remove(Engine, "begin", begin)
        event.remove(Engine, "before_cursor_execute", take)


async def plans(db: Session, taken: Statements) -> list[Plan]:
    """Ask for the plans. Shapes: `db` has the role and the path that the statements had."""
    found = []
    for sent in taken.transactions:
        async with db.transaction():
            for statement, parameters in sent:
                if not statement.lstrip().upper().startswith(("SELECT", "WITH")):
                    await db.execute(statement.encode(), parameters)
                    continue
                cursor = await db.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement}".encode(), parameters)
                row = await cursor.fetchone()
                assert row is not None
                found.append(_plan(statement, row[0][0]))
    return found


def _plan(statement: str, explained: dict[str, Any]) -> Plan:
    root = explained["Plan"]
    nodes = list(_nodes(root))
    scanned = [node["Relation Name"] for node in nodes if node["Node Type"] == "Seq Scan"]
    buffers = root.get("Shared Hit Blocks", 0) + root.get("Shared Read Blocks", 0)
    ms = explained["Planning Time"] + explained["Execution Time"]
    conditions = [node["Index Cond"] for node in nodes if "Index Cond" in node]
    return Plan(statement, [node["Node Type"] for node in nodes], scanned, conditions, buffers, ms)


def _nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for below in node.get("Plans", ()):
        yield from _nodes(below)
