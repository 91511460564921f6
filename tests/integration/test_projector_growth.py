"""What a batch reads depends on the batch, however much was applied before it.

Counted, not timed: entries of indexes and rows of tables that the database looked at.
"""

from __future__ import annotations

from typing import Final

import pytest

from services.projector.facts.reading import read
from tests.integration.readmodel_tables import Session, owner, prepare, store_at
from tests.support.servers import Prepare
from tests.unit.projector.histories import Page, Tape

pytest_plugins = ["tests.support.servers"]

PAGES: Final = 120
AT_MOST: Final = 1.5


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return prepare


async def looked_at(db: Session) -> int:
    """Index entries and rows of scanned tables so far, of all sessions that have nothing under way."""
    found = await db.execute(
        """SELECT (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes)
            + (SELECT sum(seq_tup_read) FROM pg_stat_user_tables)"""
    )
    (number,) = await found.fetchone() or (0,)
    return int(number)


@pytest.mark.parametrize("statistics", ["of empty tables", "of full tables"])
async def test_what_a_batch_reads_does_not_grow(database_url: str, statistics: str) -> None:
    tape = Tape()
    for number in range(PAGES):
        page = Page(f"en:{number}")
        tape.add(page.registered(), *page.investigated())
    each = len(tape.records) // PAGES
    read_by: list[int] = []
    async with await owner(database_url) as db:
        await db.execute("""DO $$ DECLARE name regclass; BEGIN
            FOR name IN SELECT oid FROM pg_class WHERE relkind = 'r' AND relnamespace = 'readmodel'::regnamespace
            LOOP EXECUTE format('ALTER TABLE %s SET (autovacuum_enabled = false)', name); END LOOP; END $$""")
        store = store_at(database_url)
        for number in range(PAGES):
            if number == PAGES - 10 and statistics == "of full tables":
                await store.close()
                await db.execute("ANALYZE")
            before = await looked_at(db)
            await store.apply(read(tape.records[number * each : (number + 1) * each]))
            await (await store.connection()).execute("SELECT pg_stat_force_next_flush()")
            read_by.append(await looked_at(db) - before)
        await store.close()
    early, late = sum(read_by[10:20]), sum(read_by[-10:])
    assert late <= early * AT_MOST, read_by
