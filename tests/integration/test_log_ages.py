"""How late the decision log is, as the breaker for new findings is told it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from kit.database import Database
from services.curator.record.ages import SqlAges
from tests.integration.readmodel_tables import owner
from tests.support.fakes import StillClock
from tests.support.gateway import migrated
from tests.support.servers import Prepare
from tests.unit.projector.histories import START

pytest_plugins = ["tests.support.servers"]


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return migrated


@pytest.fixture
async def curator(database_url: str) -> AsyncIterator[Database]:
    database = Database(database_url, role="curator")
    yield database
    await database.close()


async def execute(url: str, statement: str) -> None:
    """What projector and notary write."""
    async with await owner(url) as db:
        await db.execute(statement.encode())


@pytest.mark.requirement("TR-45")
async def test_what_is_under_no_note_grows_late(database_url: str, curator: Database) -> None:
    """TR-45: Each trigger opens the breaker of its scope, and only a written cause and a clean trial close it."""
    clock = StillClock(START)
    ages = SqlAges(curator, clock)
    await execute(database_url, "INSERT INTO readmodel.position VALUES ('ERRATA', 9)")
    assert await ages.note_age() == timedelta(0), "there is no log"
    await execute(database_url, "INSERT INTO log.state VALUES ('o', 9, 3, 'quorum none')")
    await execute(database_url, "INSERT INTO log.checkpoint VALUES (3, '', '', now(), NULL, NULL)")
    assert await ages.note_age() == timedelta(0), "it has just begun"
    clock.pass_by(900)
    assert await ages.note_age() == timedelta(minutes=15)
    await execute(database_url, "UPDATE log.checkpoint SET published_at = now()")
    assert await ages.note_age() == timedelta(0)
    await execute(database_url, "UPDATE readmodel.position SET sequence = 10")
    assert await ages.note_age() == timedelta(0), "facts that the notary has not looked at"
    clock.pass_by(60)
    assert await ages.note_age() == timedelta(minutes=1)


@pytest.mark.requirement("TR-45")
async def test_notes_without_a_quorum_grow_late_where_one_is_asked_for(database_url: str, curator: Database) -> None:
    """TR-45: Each trigger opens the breaker of its scope, and only a written cause and a clean trial close it."""
    clock = StillClock(START)
    ages = SqlAges(curator, clock)
    for size, hours, witnessed in ((3, 30, True), (4, 26, False), (5, 1, False)):
        at = f"'{START - timedelta(hours=hours)}'"
        row = f"({size}, '', '', {at}, {at}, {at if witnessed else 'NULL'})"
        await execute(database_url, f"INSERT INTO log.checkpoint VALUES {row}")
    assert await ages.quorum_age() == timedelta(0), "there is no log"
    await execute(database_url, "INSERT INTO log.state VALUES ('o', 9, 5, 'log x\nquorum none\n')")
    assert await ages.quorum_age() == timedelta(0), "none is asked for"
    await execute(database_url, "UPDATE log.state SET policy = 'log x\nwitness w y\nquorum w\n'")
    assert await ages.quorum_age() == timedelta(hours=26)
    await execute(database_url, f"UPDATE log.checkpoint SET witnessed_at = '{START}' WHERE size = 5")
    assert await ages.quorum_age() == timedelta(0)
