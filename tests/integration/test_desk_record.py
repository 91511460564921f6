"""The lists of the desk from their tables."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from kit.database import Database
from services.gateway.desk.adapters import SqlDesk
from services.gateway.jobs.adapters import SqlCatalogue
from services.gateway.record.repository import PublicRecord
from tests.integration.readmodel_tables import prepare
from tests.support.desk_server import APPEAL
from tests.support.public_claims import LAMPS, SECRET, SHIPS, TIDES, tell_claims
from tests.support.public_record import public_record
from tests.support.servers import Prepare
from tests.support.site_server import tell
from tests.unit.projector.histories import Tape, uid

pytest_plugins = ["tests.support.servers"]


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return prepare


@pytest.fixture
async def record(database_url: str) -> AsyncIterator[PublicRecord]:
    errata, _ = public_record()
    logged = Tape()
    for fact in errata.records:
        logged.raw(fact.subject, fact.data)
    logged.add(APPEAL)
    await tell(database_url, logged)
    await tell_claims(database_url)
    database = Database(database_url, role="reader")
    yield PublicRecord(database)
    await database.close()


async def test_each_edited_entry_is_there_once_with_its_newest_edit(record: PublicRecord) -> None:
    reads = SqlDesk(record)
    rows = await reads.edited(None, 10)
    assert [(row.entry_id, row.version, row.status, row.wording) for row in rows] == [
        (TIDES, 2, "HIDDEN", SECRET),
        (SHIPS, 3, "PUBLISHED", "Ships of the harbour sail at noon."),
    ]
    assert rows[1].before_state is not None
    assert rows[1].before_state.wording.endswith("at night.")
    assert await reads.edited((rows[0].updated_at, rows[0].entry_id), 1) == [rows[1]]
    assert await reads.edited((rows[1].updated_at, rows[1].entry_id), 1) == []


@pytest.mark.requirement("FH-165")
async def test_jobs_are_those_of_one_account(record: PublicRecord) -> None:
    """FH-165: Results are private to their account"""
    reads = SqlDesk(record)
    rows = await reads.jobs(uid("account"), None, 10)
    assert [(row.id, row.status) for row in rows] == [(uid("another job"), "SUCCEEDED"), (uid("job"), "SUCCEEDED")]
    assert await reads.jobs(uid("account"), (rows[0].created_at, rows[0].id), 1) == [rows[1]]
    assert await reads.jobs(uid("somebody"), None, 10) == []


async def test_an_appeal_that_waits_is_there_with_its_words(record: PublicRecord) -> None:
    reads = SqlDesk(record)
    (row,) = await reads.appeals(None, 10)
    assert (row.id, row.investigation_id, row.words) == (APPEAL.appeal_id, APPEAL.investigation_id, APPEAL.text)
    assert await reads.appeals((row.opened_at, row.id), 10) == []


async def test_a_flag_names_its_claim(record: PublicRecord) -> None:
    (row,) = await SqlCatalogue(record).open_flags(None, 10)
    assert (row.entity_id, row.wording, row.description) == (LAMPS, "Lamps burn.", "Not so.")
