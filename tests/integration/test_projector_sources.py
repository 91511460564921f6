"""The archive of sources in the database, beside the candidate it belongs to, however the log is cut into batches."""

from __future__ import annotations

import psycopg
import pytest

from tests.integration.readmodel_tables import everything, fill, owner, prepare, store_at
from tests.support.servers import Prepare
from tests.unit.projector.histories import Page, Tape, digest

pytest_plugins = ["tests.support.servers"]

PAGE = Page("en:1")
URL = "https://source.example/1"


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return prepare


@pytest.mark.requirement("2.12-06", "2.12-04")
@pytest.mark.parametrize("batch", [1, 3, 100])
async def test_what_was_looked_up_is_kept_with_every_candidate(database_url: str, batch: int) -> None:
    """2.12-06: Source snapshots with hash and retrieval time.
    2.12-04: Each attempt is recorded: tools, answers, citations, reasoning, usage, errors.
    """
    tape = Tape()
    again = PAGE.approved(1).model_copy(update={"sources": ()})
    tape.add(PAGE.registered(), *PAGE.investigated(), again, PAGE.rejected(0))
    store = store_at(database_url)
    await fill(store, tape.records, [batch] * len(tape.records))
    await store.close()
    found = await everything(database_url)
    claims = {row["claim_id"]: row for row in found["claim_candidate"]}
    rows = sorted(found["source_check"], key=lambda row: (claims[row["claim_id"]]["ordinal"], row["ordinal"]))
    assert [(claims[row["claim_id"]]["ordinal"], row["ordinal"], row["status"]) for row in rows] == [
        (0, 0, "found"),
        (0, 1, "unavailable"),
        (1, 0, "missing"),
        (1, 1, "unavailable"),
        (2, 0, "found"),
    ]
    missing = rows[2]
    assert (missing["page_hash"], missing["size_bytes"], missing["media_type"]) == (digest(URL), len(URL), "text/html")
    refused = claims[missing["claim_id"]]
    assert (refused["state"], refused["gate"], refused["reason"]) == ("REJECTED", "MODEL", "not so wrong")
    assert refused["payload"]["sources"]


async def test_the_archive_never_changes(database_url: str) -> None:
    tape = Tape()
    tape.add(PAGE.registered(), *PAGE.investigated())
    store = store_at(database_url)
    await fill(store, tape.records)
    await store.close()
    async with await owner(database_url) as db:
        with pytest.raises(psycopg.Error, match="source_check"):
            await db.execute("UPDATE readmodel.source_check SET status = 'found'")
