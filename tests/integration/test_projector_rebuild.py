"""A rebuild gives the same tables, also while the projector runs; verification finds what was tampered with."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest

from contracts.v1 import ErasureOrdered
from kit.ordered import StoredMessage
from services.projector.ledger.chain import Altered, Hole
from services.projector.ledger.links import BATCH
from services.projector.ledger.verify import verify
from services.projector.ports import Extent
from services.projector.projections.views import ViewRules
from services.projector.rebuild.rebuild import rebuild
from tests.integration.readmodel_tables import ANALYSES, NoTexts, everything, fill, owner, prepare, store_at
from tests.support.servers import Prepare
from tests.support.system import until
from tests.unit.projector.audit_histories import one_job
from tests.unit.projector.histories import Page, Tape, inline, mixed, uid

pytest_plugins = ["tests.support.servers"]


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return prepare


async def anew(url: str) -> int:
    return await rebuild(url, NoTexts(), analyses=ANALYSES)


async def test_the_same_rows(database_url: str) -> None:
    errata, views = mixed(60, 11)
    store = store_at(database_url, cap=2)
    await fill(store, errata.records, [7] * 1000)
    await fill(store, views.records, [3] * 1000)
    live = await everything(database_url)
    seen: list[tuple[str, int, int]] = []
    facts = await rebuild(
        database_url,
        NoTexts(),
        analyses=ANALYSES,
        view_rules=ViewRules(2),
        progress=lambda stream, done, of: seen.append((stream, done, of)),
    )
    assert facts == len(errata.records) + len(views.records)
    assert seen[-1] == ("VIEWS", len(views.records), len(views.records))
    assert await everything(database_url) == live
    async with await owner(database_url) as db:
        schemas = await (
            await db.execute("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'readmodel%'")
        ).fetchall()
    assert schemas == [("readmodel",)]
    await store.close()


async def test_nothing_is_gathered_about_texts(database_url: str) -> None:
    """ANALYZE, which the database runs by itself as tables grow, would cut every document into its letters again."""
    errata, _ = mixed(20, 11)
    store = store_at(database_url)
    await fill(store, errata.records, [7] * 1000)
    before = await gathered(database_url)
    await anew(database_url)
    assert before == await gathered(database_url) == {"search_document": {"checked_at", "claim_count", "platform"}}
    await store.close()


async def gathered(url: str) -> dict[str, set[str]]:
    """What is known of the values in the table that is searched and in its large index, after having looked."""
    async with await owner(url) as db:
        await db.execute("ANALYZE readmodel.search_document")
        rows = await db.execute("""
            SELECT tablename, array_agg(attname::text) FROM pg_stats WHERE schemaname = 'readmodel'
                AND tablename IN ('search_document', 'search_document_find_idx')
                AND attname IN ('checked_at', 'claim_count', 'platform', 'body', 'words')
                OR tablename = 'search_document_find_idx' GROUP BY tablename""")
        return {table: set(names) for table, names in await rows.fetchall()}


async def test_the_projector_may_run_meanwhile(database_url: str) -> None:
    errata, views = mixed(80, 12)
    store, other = store_at(database_url), store_at(database_url)
    half = len(errata.records) // 2
    await fill(store, errata.records[:half])
    await fill(other, views.records[:5])
    build_beside = asyncio.create_task(anew(database_url))
    applied = half
    while not build_beside.done() and applied < len(errata.records):
        await fill(store, errata.records[applied : applied + 2])
        applied += 2
    await build_beside
    await fill(store, errata.records[applied:])
    await fill(other, views.records[5:])
    await store.close()
    await other.close()
    live = await everything(database_url)
    await anew(database_url)
    assert await everything(database_url) == live
    assert live["position"] == [
        {"stream": "ERRATA", "sequence": len(errata.records)},
        {"stream": "VIEWS", "sequence": len(views.records)},
    ]


async def test_who_reads_the_old_tables_while_they_are_dropped_is_given_them_first(database_url: str) -> None:
    errata, _ = mixed(5, 14)
    store = store_at(database_url)
    await fill(store, errata.records)
    await store.close()

    async def is_waited_for() -> bool:
        """Whether the tables are exchanged and their removal waits for the reader."""
        waiting = "SELECT FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock'"
        found = await looking.execute(waiting.encode())
        return await found.fetchone() is not None

    async with await owner(database_url) as looking, await owner(database_url) as reader:
        await looking.set_autocommit(True)
        async with reader.transaction():
            await reader.execute("SELECT FROM readmodel.post")
            rebuilding = asyncio.create_task(anew(database_url))
            await until(is_waited_for, "the removal waits")
            found = await reader.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'readmodel_old'")
            for (table,) in await found.fetchall():
                await reader.execute(f"SELECT FROM readmodel_old.{table}".encode())
        assert await rebuilding == len(errata.records)
        found = await looking.execute("SELECT FROM pg_namespace WHERE nspname = 'readmodel_old'")
        assert await found.fetchone() is None


async def test_an_altered_fact_stops_the_rebuild_and_the_live_tables_stay(database_url: str) -> None:
    errata, _ = mixed(5, 13)
    store = store_at(database_url)
    await fill(store, errata.records)
    live = await everything(database_url)
    async with await owner(database_url) as db:
        await db.execute("ALTER TABLE ledger.fact DISABLE TRIGGER append_only")
        await db.execute("UPDATE ledger.fact SET envelope = envelope || ' ' WHERE sequence = 4")
        with pytest.raises(Altered, match="fact 4"):
            await anew(database_url)
        await db.execute("DELETE FROM ledger.fact WHERE sequence = 4")
        with pytest.raises(Hole, match="expected sequence 4, found 5"):
            await anew(database_url)
    assert await everything(database_url) == live
    await store.close()


def crowd(tape: Tape, size: int) -> None:
    """Facts that no table has a row for."""
    tape.add(*(Page("busy").received(f"{len(tape.records)} {number}") for number in range(size)))


async def test_a_text_that_a_batch_just_before_brought_is_there_for_the_next(database_url: str) -> None:
    """Batches are prepared before the ones before them are written, and the text is nowhere else any more."""
    one, other = Page("one"), Page("other")
    tape = Tape()
    crowd(tape, 5 * BATCH - 1)
    tape.add(one.registered(), other.registered(content=inline(other.text).model_copy(update={"inline": None})))
    store = store_at(database_url)
    results = await fill(store, tape.records, [BATCH] * 10)
    assert results[-1].outcomes["applied"] == 1
    live = await everything(database_url)
    await anew(database_url)
    assert await everything(database_url) == live
    await store.close()


async def test_a_text_that_an_erasure_takes_is_fetched_again_for_what_follows(database_url: str) -> None:
    one, other = Page("one"), Page("other")
    gone = ErasureOrdered(erasure_id=uid("e"), post_id=one.post_id, reason="asked for")
    distant = inline(other.text).model_copy(update={"inline": None})
    tape = Tape()
    tape.add(one.registered())
    crowd(tape, 5 * BATCH)
    tape.add(gone, other.registered(content=distant))
    texts = NoTexts(**{distant.sha256: other.text})
    store = store_at(database_url, texts=texts)
    await fill(store, tape.records, [BATCH] * 10)
    live = await everything(database_url)
    assert [row["id"] for row in live["post_version"]] == [str(other.version_id)]
    await rebuild(database_url, texts, analyses=ANALYSES)
    assert await everything(database_url) == live
    await store.close()


class Streams:
    """Streams as a test says they are."""

    def __init__(self, **streams: Sequence[StoredMessage]) -> None:
        self.streams = streams

    async def extent(self, stream: str) -> Extent:
        held = self.streams.get(stream, ())
        return Extent(held[0].sequence, held[-1].sequence) if held else Extent(1, 0)

    async def follow(self, stream: str, start: int) -> AsyncIterator[Sequence[StoredMessage]]:
        held = [record for record in self.streams[stream] if record.sequence >= start]
        for record in held:
            yield [record]
        await asyncio.Event().wait()

    async def announce(self, stream: str, sequence: int) -> None:
        raise AssertionError("verification announces nothing")


async def test_verification(database_url: str) -> None:
    errata, views = mixed(10, 14)
    store = store_at(database_url)
    applied = errata.records[:-2]
    audits = one_job().tape
    await fill(store, applied)
    await fill(store, views.records)
    await fill(store, audits.records)
    await store.close()
    async with await owner(database_url) as db:
        whole = await verify(db, Streams(ERRATA=errata.records, VIEWS=views.records[3:], JOBS=audits.records))
        assert whole.ok
        assert [(report.facts, report.last, report.waiting) for report in whole.streams] == [
            (len(applied), len(applied), 2),
            (len(views.records), len(views.records), 0),
            (len(audits.records), len(audits.records), 0),
        ]
        short = (await verify(db, Streams(ERRATA=applied[:-3]))).streams[0]
        assert (short.ok, short.lost) == (False, [record.sequence for record in applied[-3:]])
        forged = list(errata.records)
        forged[4] = StoredMessage("ERRATA", 5, forged[4].subject, forged[4].data + b" ", forged[4].time)
        del forged[8]
        against = await verify(db, Streams(ERRATA=forged))
        assert (against.ok, against.streams[0].differing, against.streams[0].lost) == (False, [5], [9])
        await db.execute("ALTER TABLE ledger.fact DISABLE TRIGGER append_only")
        await db.execute("UPDATE ledger.fact SET subject = 'x' WHERE stream = 'ERRATA' AND sequence = 6")
        await db.execute("UPDATE ledger.fact SET hash = sha256('x') WHERE stream = 'ERRATA' AND sequence = 8")
        await db.execute("DELETE FROM ledger.fact WHERE stream = 'ERRATA' AND sequence IN (11, 12)")
        found = (await verify(db, Streams(ERRATA=errata.records))).streams[0]
    assert (found.altered, found.holes, found.differing) == ([6, 8, 9], [(11, 12)], [6])
