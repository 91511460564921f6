"""What makes entries stale, found in the tables of the catalogue by the curator's own role."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any, Final
from uuid import UUID

import pytest

from contracts.v1 import AssertionInvalidated, EntryStaled, Event, PublisherEpochClosed
from contracts.v1.ids import analysis_run_id, assertion_id, entry_id, publisher_id
from kit.database import Database
from lifecycle.audits.entries import MANY_FLAGS
from lifecycle.audits.runs import ANALYSE
from services.curator.record.entries import Cause, SqlEntries
from services.curator.staleness import Staleness
from tests.integration.readmodel_tables import NoTexts, everything, fill, prepare, store_at
from tests.support.fakes import StillClock
from tests.support.servers import Prepare
from tests.unit.projector.audit_histories import claim_id_of, one_job, scored
from tests.unit.projector.histories import digest, uid

pytest_plugins = ["tests.support.servers"]

NAME: Final = "Ships sail."
SHIPS: Final = claim_id_of(NAME)
ENTRY: Final = entry_id(SHIPS)
FOR: Final = publisher_id("for.example")


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return prepare


class Catalogue(SqlEntries):
    """The tables behind a log in memory, which follow at once; analyses were made with the newest instructions."""

    def __init__(self, database: Database, url: str) -> None:
        self._database = database
        self.url, self.instance = url, one_job()
        self.prompts, self.rules = [digest("prompt")], "r-1"
        self.written = 0

    async def newest(self) -> int:
        return 0

    async def causes(self, prompts: Collection[str], rules: str, limit: int) -> Sequence[Cause]:
        return await super().causes(self.prompts, self.rules, limit)

    async def ended_job(self, job_id: UUID) -> Any:
        raise AssertionError(job_id)

    async def is_over(self, key: str) -> bool:
        raise AssertionError(key)

    async def publish(self, event: Event, correlation: UUID | None = None) -> bool:
        """Store it, if it follows the newest of its subject; a newer one in the tables is what a `follows` names."""
        sequences = [at for at, (each, _) in enumerate(self.instance.events, 1) if each.subject() == event.subject()]
        if isinstance(event, EntryStaled) and event.follows != max(sequences, default=0):
            return False
        self.instance.publish(event)
        tape = self.instance.tape
        tape.add(event, at=self.instance.now)
        await self.fill()
        return True

    async def fill(self) -> None:
        tape = self.instance.tape
        store = store_at(self.url, texts=NoTexts(**tape.words))
        await fill(store, tape.records[self.written :])
        await store.close()
        self.written = len(tape.records)

    async def analyse(self, name: str = NAME) -> None:
        """The claim is analysed once more, a day later."""
        self.instance.now += timedelta(days=1)
        follows = self.instance.sequence
        run = analysis_run_id(claim_id_of(name), follows)
        await self.publish(self.instance.requested(uid("job"), name, run, follows))
        await self.publish(self.instance.started(run, ANALYSE, claim_id_of(name)))
        await self.publish(self.instance.analysed(name, run))

    async def run(self) -> list[tuple[str, UUID]]:
        """What a curator records now; a second one finds nothing."""
        before = len(self.instance.events)
        clock = StillClock(self.instance.now)
        await Staleness(self, self, clock).run_once()
        assert await Staleness(self, self, clock).run_once() == 0
        found = [event for event, _ in self.instance.events[before:]]
        return [(each.trigger, each.cause_id) for each in found if isinstance(each, EntryStaled)]

    async def stale(self) -> set[str]:
        (entry,) = (await everything(self.url))["entry"]
        return set(entry["stale"])


@asynccontextmanager
async def catalogue_at(url: str) -> AsyncIterator[Catalogue]:
    database = Database(url, role="curator")
    catalogue = Catalogue(database, url)
    await catalogue.fill()
    await catalogue.publish(catalogue.instance.entry(NAME))
    try:
        assert await catalogue.run() == []
        yield catalogue
    finally:
        await database.close()


@pytest.mark.requirement("FH-127")
async def test_a_score_that_moved_by_more_than_ten_points_is_recorded_once_its_epoch_is_closed(
    database_url: str,
) -> None:
    """FH-127: What makes an entry stale is recorded."""
    async with catalogue_at(database_url) as catalogue:
        await catalogue.publish(scored("for.example", 202601).model_copy(update={"score": 40.1}))
        assert await catalogue.run() == [], "not all scores of the epoch are there"
        await catalogue.publish(PublisherEpochClosed(epoch=202601, publishers=1))
        assert await catalogue.run() == [("SOURCES", FOR)]
        assert await catalogue.stale() == {"VERDICT", "CONFIDENCE"}
        await catalogue.analyse()
        assert await catalogue.stale() == set()
        assert await catalogue.run() == [("SOURCES", FOR)], "the job of that analysis had pinned an earlier epoch"


async def test_a_score_that_moved_by_ten_points_changes_nothing(database_url: str) -> None:
    async with catalogue_at(database_url) as catalogue:
        await catalogue.publish(scored("for.example", 202601).model_copy(update={"score": 40.0}))
        await catalogue.publish(PublisherEpochClosed(epoch=202601, publishers=1))
        assert await catalogue.run() == []


@pytest.mark.requirement("FH-127")
async def test_instructions_and_rules_that_are_new_are_recorded(database_url: str) -> None:
    """FH-127: What makes an entry stale is recorded."""
    async with catalogue_at(database_url) as catalogue:
        made = analysis_of(catalogue)
        catalogue.prompts = [digest("a better prompt")]
        assert await catalogue.run() == [("IMPROVEMENT", made)]
        assert await catalogue.stale() == {"SCENARIOS", "EVIDENCE", "VERDICT", "CONFIDENCE"}
        catalogue.prompts = [digest("prompt")]
        await catalogue.analyse()
        catalogue.rules = "r-2"
        assert [trigger for trigger, _ in await catalogue.run()] == ["IMPROVEMENT"]


@pytest.mark.requirement("FH-127")
async def test_many_accounts_that_object_make_the_risk_stale(database_url: str) -> None:
    """FH-127: What makes an entry stale is recorded."""
    async with catalogue_at(database_url) as catalogue:
        for account in [*range(MANY_FLAGS - 1), 0]:
            await catalogue.publish(catalogue.instance.flagged(ENTRY, uid(f"account {account}")))
            assert await catalogue.run() == []
        last = catalogue.instance.flagged(ENTRY, uid("one account more"))
        await catalogue.publish(last)
        assert await catalogue.run() == [("FLAGS", last.flag_id)]
        assert await catalogue.stale() == {"RISK"}
        await catalogue.analyse()
        assert (await catalogue.run(), await catalogue.stale()) == ([], set()), "the analysis came after the objections"


@pytest.mark.requirement("FH-127")
async def test_evidence_that_is_new_or_withdrawn_is_recorded(database_url: str) -> None:
    """FH-127: What makes an entry stale is recorded."""
    async with catalogue_at(database_url) as catalogue:
        made = analysis_of(catalogue)
        await catalogue.publish(AssertionInvalidated(assertion_id=SHIPS, analysis_id=made, why="RIGHTS"))
        assert await catalogue.run() == [("EVIDENCE", made)]
        await catalogue.analyse()
        assert (await catalogue.run(), await catalogue.stale()) == ([], set())
        twin = assertion_id("v1norm1", "en", digest(NAME), sha256(b"of another year").hexdigest())
        run = analysis_run_id(twin, 0)
        asked = catalogue.instance.requested(uid("job"), NAME, run)
        await catalogue.publish(asked.model_copy(update={"assertion_id": twin}))
        await catalogue.publish(catalogue.instance.started(run, ANALYSE, twin))
        await catalogue.publish(catalogue.instance.analysed(NAME, run).model_copy(update={"assertion_id": twin}))
        assert await catalogue.run() == [("EVIDENCE", run)]
        assert await catalogue.stale() == {"SCENARIOS", "VERDICT", "CONFIDENCE"}
        await catalogue.analyse()
        assert (await catalogue.run(), await catalogue.stale()) == ([], set())


async def test_tables_that_lag_say_nothing() -> None:
    class Lagging:
        async def newest(self) -> int:
            return 7

        async def holds(self, sequence: int) -> bool:
            return sequence < 7

    record: Any = Lagging()
    assert await Staleness(record, record, StillClock(datetime(2026, 1, 1))).run_once() == 0


def analysis_of(catalogue: Catalogue) -> UUID:
    """The analysis that the entry shows."""
    cached = catalogue.instance.cached[SHIPS].analysed
    assert cached is not None
    return cached.event.analysis_id
