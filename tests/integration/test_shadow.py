"""The shadow read model: equal to a sound live one, also while facts arrive, and it names every row that is not."""

from __future__ import annotations

import pytest

from services.projector.rebuild.shadow import shadow
from tests.integration.readmodel_tables import ANALYSES, NoTexts, everything, fill, owner, prepare, store_at
from tests.support.servers import Prepare
from tests.unit.projector.histories import mixed

pytest_plugins = ["tests.support.servers"]


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return prepare


async def test_it_equals_sound_tables_and_names_what_was_tampered_with(database_url: str) -> None:
    errata, views = mixed(20, 21)
    store = store_at(database_url)
    await fill(store, errata.records)
    await fill(store, views.records)
    assert await shadow(database_url, NoTexts(), analyses=ANALYSES) == []
    live = await everything(database_url)
    async with await owner(database_url) as db:
        await db.execute("UPDATE post SET view_count = view_count + 7")
        await db.execute("DELETE FROM version_reporter")
    found = {each.table: each for each in await shadow(database_url, NoTexts(), analyses=ANALYSES)}
    assert set(found) == {"post"} | ({"version_reporter"} if live["version_reporter"] else set())
    assert found["post"].only_live == found["post"].only_shadow == len(live["post"])
    assert '"view_count"' in found["post"].live[0]
    async with await owner(database_url) as db:
        schemas = await (
            await db.execute("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'readmodel%'")
        ).fetchall()
    assert schemas == [("readmodel",)]
    await fill(store, errata.records)  # and nobody is locked out afterwards
    await store.close()
