"""The tables of credit over random lives of an account: they are its balance, in any batches and after a rebuild."""

from __future__ import annotations

import pytest

from contracts.topology import JOBS
from services.projector.rebuild.rebuild import rebuild
from tests.integration.readmodel_tables import ANALYSES, NoTexts, everything, fill, prepare, store_at, total
from tests.support.bank import Bank
from tests.support.servers import Prepare
from tests.unit.projector.histories import Tape

pytest_plugins = ["tests.support.servers"]

STEPS = 150


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return prepare


@pytest.mark.requirement("FH-40")
@pytest.mark.parametrize("seed", range(4))
async def test_the_tables_hold_the_balance_and_a_rebuild_ends_the_same(database_url: str, seed: int) -> None:
    """FH-40: Credit is reserved at intake and settled at the end."""
    bank = Bank(seed)
    await bank.live(STEPS)
    tape = Tape(JOBS.name)
    tape.add(*(each.event for each in bank.log.facts.entries))
    store = store_at(database_url)
    outcomes = total(await fill(store, tape.records, [7] * len(tape.records)))
    await store.close()
    assert set(outcomes) <= {"applied", "parked"}, "analyses are parked: these lives leave their requests out"
    found = await everything(database_url)
    assert {
        row["period_id"]: (row["used_micro_usd"], row["reserved_micro_usd"], row["open_jobs"], row["sequence"])
        for row in found["credit_period"]
    } == {str(id_): (each.used, 0, 0, each.follows) for id_, each in bank.periods.items()}
    assert {row["id"]: row["charged_micro_usd"] for row in found["job"]} == {
        str(each.job_id): each.over.charged_micro_usd for each in bank.jobs.values() if each.over is not None
    }
    assert len(found["credit_entry"]) == len(bank.entries)
    used = sum(row["micro_usd"] for row in found["credit_entry"] if row["entry"] == "SETTLED")
    assert used == sum(row["charged_micro_usd"] for row in found["job"]) > 0
    await rebuild(database_url, NoTexts(), analyses=ANALYSES)
    assert await everything(database_url) == found
