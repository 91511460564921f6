"""Newer analyses of claims become edits by the system, found by the curator's own role."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any, Final
from uuid import UUID, uuid4

import pytest

from contracts.v1 import EditMade, EntryPublished, Event
from contracts.v1.parts import EphemeralRef
from kit.bus import Bus
from kit.database import Database
from lifecycle.audits.entries import Entry, fold_entry
from services.curator.entries import Reanalyses
from services.curator.record.entries import SqlEntries
from tests.integration.readmodel_tables import everything, prepare
from tests.integration.test_staleness import ENTRY, NAME, Catalogue, Words, analysis_of
from tests.support.fakes import StillClock
from tests.support.servers import Prepare
from tests.unit.projector.audit_histories import one_job

pytest_plugins = ["tests.support.delivering"]

SAID: Final = "Ships of the harbour sail."


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return prepare


class Kept(Words):
    """Texts that the tables find."""

    def __init__(self, clock: StillClock, known: dict[str, str]) -> None:
        super().__init__(clock, known)
        self._found = known

    async def put(self, text: str, until: datetime, answers: str | None = None) -> EphemeralRef:
        ref = await super().put(text, until, answers)
        self._found[ref.sha256] = text
        return ref


class Edited(Catalogue):
    """A catalogue whose entries are read from its log."""

    async def entry(self, id_: UUID) -> Entry | None:
        newest: dict[type[Event], tuple[int, Event]] = {}
        for sequence, (event, _) in enumerate(self.instance.events, 1):
            if isinstance(event, EntryPublished | EditMade) and event.entry_id == id_:
                newest[type(event)] = sequence, event
        return fold_entry(newest.values())

    async def record(self) -> list[EditMade]:
        """What a curator records now; a second one at the same time, or later, records nothing."""
        before, clock = len(self.instance.events), StillClock(self.instance.now)
        words = Kept(clock, self.instance.tape.words)
        both = [Reanalyses(self, words, self, clock).run_once() for _ in range(2)]
        await asyncio.gather(*both)
        assert await Reanalyses(self, words, self, clock).run_once() == 0
        return [event for event, _ in self.instance.events[before:] if isinstance(event, EditMade)]


@pytest.fixture
async def catalogue(database_url: str) -> AsyncIterator[Edited]:
    database = Database(database_url, role="curator")
    opened = Edited(database, database_url)
    await opened.fill()
    await opened.store(opened.instance.entry(NAME))
    yield opened
    await database.close()


@pytest.mark.requirement("FH-118", "FH-119")
async def test_a_newer_analysis_is_one_edit_by_the_system_and_one_version(catalogue: Edited) -> None:
    """FH-118: An edit has one of five types

    FH-119: Every change of an entry is one edit and one version.
    """
    assert await catalogue.record() == [], "the analysis that it was published with is no change"
    await catalogue.analyse()
    (edit,) = await catalogue.record()
    assert (edit.edit_type, edit.by, edit.version, edit.follows) == ("SYSTEM_REANALYSIS", None, 2, 0)
    assert (edit.entity_type, edit.entity_id) == ("ANALYSIS", analysis_of(catalogue))
    assert (edit.before, edit.hidden, edit.reworded) == (edit.after, False, False)
    await catalogue.analyse()
    (again,) = await catalogue.record()
    assert (again.version, again.after) == (3, edit.after), "the words live no longer by it"
    (entry,) = (await everything(catalogue.url))["entry"]
    assert (entry["version"], entry["wording"], entry["status"]) == (3, NAME, "PUBLISHED")


async def test_an_entry_is_read_from_the_log_with_its_newest_edit(bus: Bus) -> None:
    instance = one_job()
    entries = SqlEntries(bus, Database("postgresql://nowhere.example/none", role="curator"))
    assert await entries.entry(ENTRY) is None
    published = instance.entry(NAME)
    await bus.publish(published, correlation=uuid4())
    assert await entries.entry(ENTRY) == Entry(published)
    first = instance.edited(ENTRY, SAID).model_copy(update={"follows": 0})
    receipt = await bus.publish(first, correlation=uuid4())
    second = first.model_copy(update={"follows": receipt.sequence, "version": 3, "edit_id": uuid4()})
    receipt = await bus.publish(second, correlation=uuid4())
    assert await entries.entry(ENTRY) == Entry(published, second, receipt.sequence)


async def test_what_people_changed_stays_as_they_left_it(catalogue: Edited) -> None:
    await catalogue.store(edited := catalogue.instance.edited(ENTRY, SAID, hidden=True))
    sequence = len(catalogue.instance.events)
    await catalogue.analyse()
    (edit,) = await catalogue.record()
    assert (edit.version, edit.hidden, edit.reworded) == (3, True, edited.reworded)
    assert edit.after == edited.after
    assert (edit.reason.until, edit.follows) == (edited.after.until, sequence)
    await catalogue.analyse()
    await catalogue.record()
    tables = await everything(catalogue.url)
    (entry,) = tables["entry"]
    assert (entry["version"], entry["wording"], entry["status"]) == (4, SAID, "HIDDEN")
    newest: Any = max(tables["edit"], key=lambda each: each["version"])
    assert (newest["made_by"], newest["edit_type"]) == (None, "SYSTEM_REANALYSIS")
