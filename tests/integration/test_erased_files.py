"""What is left of an erased post in the files of the database."""

from __future__ import annotations

import re

import pytest

from kit.database import Session
from tests.architecture.sources import ROOT
from tests.integration.readmodel_tables import fill, owner, prepare, store_at
from tests.integration.test_forget import SECRET, Broker, forgotten
from tests.support.servers import Prepare
from tests.unit.projector.histories import Page, Tape

pytest_plugins = ["tests.support.servers"]


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return prepare


async def files_with(db: Session, words: str) -> set[str]:
    """The tables and indexes in whose files the words are."""
    await db.execute("CHECKPOINT")
    found = await db.execute(
        "SELECT relname FROM pg_class WHERE relkind IN ('r', 'i', 't')"
        " AND position(%s::bytea IN pg_read_binary_file(pg_relation_filepath(oid))) > 0",
        (words.encode(),),
    )
    return {name for (name,) in await found.fetchall()}


async def test_the_command_that_the_guide_names_leaves_no_deleted_row(database_url: str) -> None:
    guide = (ROOT / "docs" / "operations" / "tasks.md").read_text()
    (command,) = re.findall(r"`(VACUUM[^`]*)`", guide)
    tape, page = Tape(), Page("secret", SECRET)
    tape.add(page.received("first"), page.registered(), *page.investigated())
    store = store_at(database_url)
    await fill(store, tape.records)
    await forgotten(database_url, Broker(store, tape), page.post_id)
    await store.close()
    async with await owner(database_url) as db:
        assert await files_with(db, SECRET), "rows that were deleted"
        await db.execute(command)
        assert await files_with(db, SECRET) == set()
