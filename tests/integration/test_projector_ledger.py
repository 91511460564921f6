"""The chain of the ledger, and all of a batch or nothing: what contradicts it, dies or is stopped leaves no trace."""

from __future__ import annotations

import asyncio
import random

import psycopg
import pytest
from psycopg.pq import TransactionStatus

from contracts.readmodel.ledger import position
from services.projector.facts.reading import read
from services.projector.ledger.chain import GENESIS, Altered, Hole, LedgerBroken, hash_fact
from services.projector.store.projection import LOCK
from tests.integration.readmodel_tables import Session, everything, fill, owner, prepare, rows, store_at
from tests.support.servers import Prepare, Servers
from tests.unit.projector.histories import Page, Tape, mixed

pytest_plugins = ["tests.support.servers"]


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return prepare


async def test_the_ledger_is_a_chain(database_url: str) -> None:
    tape = mixed(5, 1)[0]
    store = store_at(database_url)
    await fill(store, tape.records, [3] * 100)
    await store.close()
    async with await owner(database_url) as db:
        query = "SELECT sequence, subject, envelope, previous_hash, hash FROM ledger.fact ORDER BY sequence"
        facts = await (await db.execute(query)).fetchall()
    previous = GENESIS
    for record, (sequence, subject, envelope, before, after) in zip(tape.records, facts, strict=True):
        assert (sequence, subject, envelope, before) == (record.sequence, record.subject, record.data, previous)
        previous = hash_fact(previous, "ERRATA", sequence, subject, envelope)
        assert after == previous


async def test_a_hole_stops_the_projector(database_url: str) -> None:
    tape = mixed(2, 1)[0]
    store = store_at(database_url)
    await fill(store, tape.records[:3])
    before = await everything(database_url)
    with pytest.raises(Hole, match="ERRATA: expected sequence 4, found 5; 1 missing"):
        await fill(store, tape.records[4:])
    with pytest.raises(Hole):
        await fill(store, [*tape.records[3:5], *tape.records[6:]])
    assert (await store.connection()).info.transaction_status is TransactionStatus.IDLE, "nothing is left open"
    await store.close()
    assert await everything(database_url) == before


async def test_facts_that_come_again_must_be_those_of_the_ledger(database_url: str) -> None:
    tape, forged = Tape(), Tape()
    tape.add(Page("a").registered(), Page("b").registered(), Page("c").registered())
    forged.add(Page("a").registered(), Page("x").registered())
    store = store_at(database_url)
    await fill(store, tape.records[:2])
    async with await owner(database_url) as db:
        tables = "position, post, author, post_version, version_metadata, content_blob, html_blob, candidate"
        await db.execute(f"TRUNCATE {tables}, image_occurrence_set CASCADE")
    with pytest.raises(Altered, match="ERRATA: the fact 2"):
        await fill(store, forged.records)
    await fill(store, tape.records)
    await store.close()
    found = await everything(database_url)
    assert len(found["post"]) == 3
    assert found[position.name] == [{"stream": "ERRATA", "sequence": 3}]


async def test_a_ledger_that_lost_its_end_is_noticed(database_url: str) -> None:
    tape = mixed(2, 1)[0]
    store = store_at(database_url)
    await fill(store, tape.records[:3])
    async with await owner(database_url) as db:
        await db.execute("ALTER TABLE ledger.fact DISABLE TRIGGER append_only")
        await db.execute("DELETE FROM ledger.fact WHERE sequence = 3")
    with pytest.raises(LedgerBroken, match="does not hold the fact 3"):
        await fill(store, tape.records[3:])
    await store.close()


async def test_replicas_apply_each_fact_once(database_url: str, stack: Servers) -> None:
    errata, _ = mixed(25, 5)
    alone = store_at(database_url)
    await fill(alone, errata.records)
    await alone.close()
    with stack.database(prepare) as other:
        replicas = [store_at(other) for _ in range(3)]
        draws = [random.Random(n) for n in range(3)]

        async def follow(number: int) -> None:
            while (at := await replicas[number].position("ERRATA")) < len(errata.records):
                await fill(replicas[number], errata.records[at : at + draws[number].randrange(1, 40)])

        await asyncio.gather(*map(follow, range(3)))
        for replica in replicas:
            await replica.close()
        assert await everything(other) == await everything(database_url)


async def test_nothing_stays_of_a_transaction_that_failed(database_url: str) -> None:
    tape = mixed(3, 2)[0]
    store = store_at(database_url)
    await fill(store, tape.records[:5])
    before = await everything(database_url)
    db = await store.connection()
    async with await owner(database_url) as admin:
        await admin.execute(
            """CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS
            $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN new; END $$"""
        )
        await admin.execute("CREATE TRIGGER die BEFORE UPDATE ON position FOR EACH ROW EXECUTE FUNCTION die()")
        with pytest.raises(psycopg.OperationalError):
            await fill(store, tape.records[5:])
        assert db.closed
        await admin.execute("DROP TRIGGER die ON position")
    assert await everything(database_url) == before
    await fill(store, tape.records[5:])
    async with await owner(database_url) as admin:
        assert len(await rows(admin, "ledger.fact")) == len(tape.records)
    await store.close()


async def test_who_is_stopped_in_the_middle_leaves_no_transaction_open(database_url: str) -> None:
    tape = mixed(3, 2)[0]
    store = store_at(database_url)
    db = await store.connection()
    async with await owner(database_url) as admin:
        await admin.execute("SELECT pg_advisory_lock(%s)", (LOCK,))
        applying = asyncio.create_task(store.apply(read(tape.records)))
        waiting = "SELECT count(*) FROM pg_locks WHERE pid = %s AND locktype = 'advisory' AND NOT granted"
        while not applying.done() and (await rows_of(admin, waiting, db.info.backend_pid)) == [(0,)]:
            pass
        applying.cancel()
        with pytest.raises(asyncio.CancelledError):
            await applying
        assert db.info.transaction_status is TransactionStatus.IDLE
        await admin.execute("SELECT pg_advisory_unlock(%s)", (LOCK,))
    assert (await store.apply(read(tape.records))).position == len(tape.records)
    await store.close()


async def rows_of(db: Session, query: str, *values: object) -> list[tuple[object, ...]]:
    return await (await db.execute(query, values)).fetchall()
