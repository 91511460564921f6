"""Reading and filling a read model in tests."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import islice
from typing import Any

import psycopg
from sqlalchemy import Table

from contracts.readmodel.columns import READMODEL
from contracts.v1.parts import EphemeralRef, TextRef
from kit.database import Database, migrate, open_session
from kit.ordered import StoredMessage
from services.projector.facts.reading import read
from services.projector.projections import jobs
from services.projector.projections.views import ViewRules
from services.projector.rows.log import Outcome
from services.projector.store.projection import projections
from services.projector.store.store import KEY_LOOKUP_OPTIONS, Applied, Store

Session = psycopg.AsyncConnection[tuple[Any, ...]]
ANALYSES = ("FACT_CHECK",)
AUDITS = frozenset({*(table.name for table in jobs.TABLES), "erased_entity", "quality_day"})
"""The tables that facts about posts leave alone."""
REVIEWED = frozenset({"review_sample", "review_sample_claim", "review"})
"""The tables of what people outside say, which an operator draws and imports."""
WATCHED = frozenset({"variant", "breaker", "control_batch", "control_run"})
"""The tables of what stops findings, which the curator and an operator decide about."""


def prepare(url: str) -> None:
    """Bring an empty database to the newest revision."""
    asyncio.run(migrate(url))


class NoTexts:
    """Stores in which there is only what the test puts there."""

    def __init__(self, **texts: str) -> None:
        self.texts = texts

    async def fetch(self, refs: Iterable[TextRef]) -> dict[str, str]:
        return {ref.sha256: self.texts[ref.sha256] for ref in refs if ref.sha256 in self.texts}

    async def fetch_words(self, refs: Iterable[EphemeralRef]) -> dict[str, str]:
        return {ref.sha256: self.texts[ref.sha256] for ref in refs if ref.sha256 in self.texts}


def store_at(url: str, *, cap: int = 10, texts: NoTexts | None = None) -> Store:
    """A store in the projector's role."""
    session = partial(Database(url, role="projector").session, options=KEY_LOOKUP_OPTIONS)
    return Store(session, texts or NoTexts(), projections(ANALYSES, ViewRules(cap)))


async def fill(store: Store, records: Sequence[StoredMessage], sizes: Iterable[int] | None = None) -> list[Applied]:
    """Apply a log in batches of the given sizes, or all at once."""
    rest = iter(records)
    results = []
    for size in sizes or [len(records) or 1]:
        batch = list(islice(rest, size))
        if not batch:
            break
        results.append(await store.apply(read(batch)))
    left = list(rest)
    if left:
        results.append(await store.apply(read(left)))
    return results


def total(results: Sequence[Applied]) -> Counter[Outcome]:
    """What became of all messages."""
    return sum((result.outcomes for result in results), Counter[Outcome]())


async def rows(db: Session, table: Table | str) -> list[dict[str, Any]]:
    """Every row of a table, in an order that its content decides."""
    name = table if isinstance(table, str) else table.name
    found = await db.execute(f"SELECT to_jsonb(t) FROM {name} t ORDER BY to_jsonb(t)::text")
    return [row for (row,) in await found.fetchall()]


async def everything(url: str) -> dict[str, list[dict[str, Any]]]:
    """All rows of all tables of the live read model."""
    async with await owner(url) as db:
        return {table.name: await rows(db, table) for table in READMODEL.sorted_tables}


async def owner(url: str) -> Session:
    """A session of the database's owner."""
    return await open_session(url, options="-c search_path=readmodel,ledger,operator")
