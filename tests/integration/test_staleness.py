"""What makes entries stale, found in the tables of the catalogue by the curator's own role."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from hashlib import sha256
from typing import Any, Final
from uuid import UUID

import pytest

from contracts.v1 import (
    AssertionAnalysisRequested,
    AssertionInvalidated,
    EntryPublished,
    EntryStaled,
    Event,
    OnceEvent,
    PublisherEpochClosed,
)
from contracts.v1.entry import STALE_PARTS
from contracts.v1.ids import analysis_run_id, assertion_id, entry_id
from contracts.v1.parts import EphemeralRef
from kit.blob_settings import BlobMissing
from kit.database import Database
from lifecycle.audits.entries import MANY_FLAGS
from lifecycle.audits.runs import ANALYSE
from services.curator.entries import Reanalyses, Renewals, Staleness
from services.curator.quality import Quality
from services.curator.record.entries import Cause, SqlEntries
from services.curator.watch import Watch
from tests.integration.readmodel_tables import NoTexts, everything, fill, prepare, store_at
from tests.support.fakes import StillClock
from tests.support.job_log import MemoryWords
from tests.support.servers import Prepare
from tests.unit.projector.audit_histories import claim_id_of, one_job, scored
from tests.unit.projector.histories import digest, uid

pytest_plugins = ["tests.support.servers"]

NAME: Final = "Ships sail."
SHIPS: Final = claim_id_of(NAME)
ENTRY: Final = entry_id(SHIPS)


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return prepare


class Following:
    """A log in memory, which tables follow at once."""

    def __init__(self, url: str) -> None:
        self.url, self.instance = url, one_job()
        self.written = 0

    async def ended_job(self, job_id: UUID) -> Any:
        raise AssertionError(job_id)

    async def is_over(self, key: str) -> bool:
        raise AssertionError(key)

    async def publish(self, event: Event, correlation: UUID | None = None) -> bool:
        """Store it behind what it follows."""
        if any(each.event_id() == event.event_id() for each, _ in self.instance.events):
            return True
        before = [at for at, (each, _) in enumerate(self.instance.events, 1) if each.subject() == event.subject()]
        if isinstance(event, OnceEvent) and event.follows != max(before, default=0):
            return False
        await self.store(event)
        return True

    async def store(self, *events: Event) -> None:
        """The tables follow at once."""
        for event in events:
            self.instance.publish(event)
            self.instance.tape.add(event, at=self.instance.now)
        await self.fill()

    async def fill(self) -> None:
        tape = self.instance.tape
        store = store_at(self.url, texts=NoTexts(**tape.words))
        await fill(store, tape.records[self.written :])
        await store.close()
        self.written = len(tape.records)


class Catalogue(Following, SqlEntries):
    """The tables of the catalogue behind it; analyses were made with the newest instructions."""

    def __init__(self, database: Database, url: str) -> None:
        super().__init__(url)
        self._database = database
        self.prompts, self.rules = [digest("prompt")], "r-1"

    async def newest(self) -> int:
        return 0

    async def request(self, assertion_id: UUID) -> tuple[int, AssertionAnalysisRequested] | None:
        requested = self.instance.cached[assertion_id].requested
        return None if requested is None else (requested.sequence, requested.event)

    async def closed_epoch(self) -> int:
        return 202601

    async def causes(self, prompts: Collection[str], rules: str, limit: int) -> Sequence[Cause]:
        return await super().causes(self.prompts, self.rules, limit)

    async def analyse(self, run: UUID | None = None) -> None:
        """The claim is analysed, a day later; without a run one is requested first."""
        self.instance.now += timedelta(days=1)
        if run is None:
            follows = self.instance.sequence
            run = analysis_run_id(SHIPS, follows)
            await self.store(self.instance.requested(uid("job"), NAME, run, follows))
        await self.store(self.instance.started(run, ANALYSE, SHIPS), self.instance.analysed(NAME, run))

    async def run(self) -> list[tuple[str, UUID]]:
        """What a curator records now; a second one finds nothing."""
        before = len(self.instance.events)
        clock = StillClock(self.instance.now)
        await Staleness(self, self, clock).run_once()
        assert await Staleness(self, self, clock).run_once() == 0
        found = [event for event, _ in self.instance.events[before:]]
        return [(each.trigger, each.cause_id) for each in found if isinstance(each, EntryStaled)]

    async def parts(self) -> set[str]:
        (entry,) = (await everything(self.url))["entry"]
        return set(entry["stale"])


@asynccontextmanager
async def catalogue_at(url: str) -> AsyncIterator[Catalogue]:
    database = Database(url, role="curator")
    catalogue = Catalogue(database, url)
    await catalogue.fill()
    await catalogue.store(catalogue.instance.entry(NAME))
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
        await catalogue.store(scored("for.example", 202601).model_copy(update={"score": 40.1}))
        assert await catalogue.run() == [], "not all scores of the epoch are there"
        await catalogue.store(PublisherEpochClosed(epoch=202601, publishers=1))
        assert await catalogue.run() == [("SOURCES", analysis_of(catalogue))]
        assert await catalogue.parts() == {"VERDICT", "CONFIDENCE"}
        await catalogue.analyse()
        assert await catalogue.parts() == set()
        assert await catalogue.run() == [("SOURCES", analysis_of(catalogue))], (
            "the job of that analysis had pinned an earlier epoch"
        )


async def test_a_score_that_moved_by_ten_points_changes_nothing(database_url: str) -> None:
    async with catalogue_at(database_url) as catalogue:
        await catalogue.store(scored("for.example", 202601).model_copy(update={"score": 40.0}))
        await catalogue.store(PublisherEpochClosed(epoch=202601, publishers=1))
        assert await catalogue.run() == []


@pytest.mark.requirement("FH-127")
async def test_instructions_and_rules_that_are_new_are_recorded(database_url: str) -> None:
    """FH-127: What makes an entry stale is recorded."""
    async with catalogue_at(database_url) as catalogue:
        made = analysis_of(catalogue)
        catalogue.prompts = [digest("a better prompt")]
        assert await catalogue.run() == [("IMPROVEMENT", made)]
        assert await catalogue.parts() == {"SCENARIOS", "EVIDENCE", "VERDICT", "CONFIDENCE"}
        catalogue.prompts = [digest("prompt")]
        await catalogue.analyse()
        catalogue.rules = "r-2"
        assert [trigger for trigger, _ in await catalogue.run()] == ["IMPROVEMENT"]


@pytest.mark.requirement("FH-127")
async def test_many_accounts_that_object_make_the_risk_stale(database_url: str) -> None:
    """FH-127: What makes an entry stale is recorded."""
    async with catalogue_at(database_url) as catalogue:
        for account in [*range(MANY_FLAGS - 1), 0]:
            await catalogue.store(catalogue.instance.flagged(ENTRY, uid(f"account {account}")))
            assert await catalogue.run() == []
        settled = catalogue.instance.flagged(ENTRY, uid("a settled one"))
        await catalogue.store(settled, catalogue.instance.resolved_flag(settled))
        assert await catalogue.run() == [], "a moderator has decided about it"
        last = catalogue.instance.flagged(ENTRY, uid("one account more"))
        await catalogue.store(last)
        assert await catalogue.run() == [("FLAGS", last.flag_id)]
        assert await catalogue.parts() == {"RISK"}
        await catalogue.analyse()
        assert (await catalogue.run(), await catalogue.parts()) == ([], set()), "the analysis came after the objections"


@pytest.mark.requirement("FH-127")
async def test_evidence_that_is_new_or_withdrawn_is_recorded(database_url: str) -> None:
    """FH-127: What makes an entry stale is recorded."""
    async with catalogue_at(database_url) as catalogue:
        made = analysis_of(catalogue)
        await catalogue.store(AssertionInvalidated(assertion_id=SHIPS, analysis_id=made, why="RIGHTS"))
        assert await catalogue.run() == [("EVIDENCE", made)]
        await catalogue.analyse()
        assert (await catalogue.run(), await catalogue.parts()) == ([], set())
        twin = assertion_id("v1norm1", "en", digest(NAME), sha256(b"of another year").hexdigest())
        run = analysis_run_id(twin, 0)
        asked = catalogue.instance.requested(uid("job"), NAME, run)
        await catalogue.store(asked.model_copy(update={"assertion_id": twin}))
        await catalogue.store(catalogue.instance.started(run, ANALYSE, twin))
        await catalogue.store(catalogue.instance.analysed(NAME, run).model_copy(update={"assertion_id": twin}))
        assert await catalogue.run() == [("EVIDENCE", run)]
        assert await catalogue.parts() == {"SCENARIOS", "VERDICT", "CONFIDENCE"}
        await catalogue.analyse()
        assert (await catalogue.run(), await catalogue.parts()) == ([], set())


async def test_two_entries_with_one_key_do_not_make_each_other_stale_for_ever(database_url: str) -> None:
    async with catalogue_at(database_url) as catalogue:
        instance = catalogue.instance
        twin = assertion_id("v1norm1", "en", digest(NAME), sha256(b"of another year").hexdigest())

        async def analyse_twin(follows: int) -> UUID:
            instance.now += timedelta(days=1)
            run = analysis_run_id(twin, follows)
            asked = instance.requested(uid("job"), NAME, run, follows)
            await catalogue.store(asked.model_copy(update={"assertion_id": twin}))
            await catalogue.store(instance.started(run, ANALYSE, twin))
            await catalogue.store(instance.analysed(NAME, run).model_copy(update={"assertion_id": twin}))
            return run

        first = await analyse_twin(0)
        assert await catalogue.run() == [("EVIDENCE", first)]
        published = instance.entry(NAME).model_copy(update={"assertion_id": twin, "entry_id": entry_id(twin)})
        await catalogue.store(published)
        await catalogue.analyse()
        assert await catalogue.run() == []
        await analyse_twin(instance.sequence)
        assert await catalogue.run() == []


class Words(MemoryWords):
    """Texts that expire."""

    def __init__(self, clock: StillClock, known: Mapping[str, str]) -> None:
        super().__init__(clock)
        self.known = known

    async def get(self, ref: EphemeralRef) -> str:
        if ref.has_expired(self.clock.now()) or ref.sha256 not in self.known:
            raise BlobMissing(ref.sha256)
        return self.known[ref.sha256]


@pytest.mark.requirement("FH-127")
async def test_an_edited_entry_is_analysed_again_at_once_and_once(database_url: str) -> None:
    """FH-127: What makes an entry stale is recorded."""
    async with catalogue_at(database_url) as catalogue:
        instance = catalogue.instance
        edit = EntryStaled(entry_id=ENTRY, parts=STALE_PARTS, trigger="EDIT", cause_id=uid("edit"))
        await catalogue.store(edit)
        assert await renew(catalogue) == [], "its claim was analysed an hour ago"
        instance.now += timedelta(days=2)
        assert await renew(catalogue, a_day=0) == []
        before = instance.cached[SHIPS].requested
        assert before is not None
        (renewal,) = await renew(catalogue)
        assert (renewal.follows, renewal.requested_by) == (before.sequence, ENTRY)
        assert renewal.run_id == analysis_run_id(SHIPS, before.sequence)
        assert renewal.words.until > before.event.words.until
        same = {"follows", "requested_by", "run_id", "words", "score_epoch"}
        assert renewal.model_dump(exclude=same) == before.event.model_dump(exclude=same)
        assert await renew(catalogue) == [], "it is under way"
        await catalogue.analyse(renewal.run_id)
        assert await catalogue.parts() == set()


@pytest.mark.parametrize(("hidden", "reworded"), [(True, False), (False, True)])
async def test_no_analysis_is_bought_for_an_entry_that_is_hidden_or_says_something_else(
    database_url: str, hidden: bool, reworded: bool
) -> None:
    async with catalogue_at(database_url) as catalogue:
        edit = catalogue.instance.edited(ENTRY, "Ships of the harbour sail.", hidden=hidden)
        stale = EntryStaled(entry_id=ENTRY, parts=STALE_PARTS, trigger="EDIT", cause_id=edit.edit_id)
        await catalogue.store(edit.model_copy(update={"reworded": reworded}), stale)
        catalogue.instance.now += timedelta(days=2)
        assert await renew(catalogue) == []


@pytest.mark.requirement("FH-127")
async def test_of_two_curators_one_requests_and_none_requests_beyond_the_days_number(database_url: str) -> None:
    """FH-127: What makes an entry stale is recorded."""
    async with catalogue_at(database_url) as catalogue:
        await make_two_stale(catalogue)
        catalogue.instance.now += timedelta(days=2)
        before = len(catalogue.instance.events)
        await asyncio.gather(*(renew(catalogue, a_day=1) for _ in range(2)))
        await renew(catalogue, a_day=1)
        assert len(catalogue.instance.events) == before + 1


async def test_a_curator_counts_what_another_requests_while_it_looks(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with catalogue_at(database_url) as catalogue:
        await make_two_stale(catalogue)
        catalogue.instance.now += timedelta(days=2)
        before = len(catalogue.instance.events)

        async def let_another_renew(read: Callable[..., Awaitable[Any]], *given: object) -> object:
            monkeypatch.undo()
            found = await read(*given)
            await renew(catalogue, a_day=1)
            return found

        for name in ("stale", "requested"):  # whichever is read first
            monkeypatch.setattr(catalogue, name, partial(let_another_renew, getattr(catalogue, name)))
        await renew(catalogue, a_day=1)
        assert len(catalogue.instance.events) == before + 1


async def test_words_that_are_gone_are_not_analysed_again(database_url: str) -> None:
    async with catalogue_at(database_url) as catalogue:
        await catalogue.store(EntryStaled(entry_id=ENTRY, parts=STALE_PARTS, trigger="EDIT", cause_id=uid("edit")))
        catalogue.instance.now += timedelta(days=92)
        assert await renew(catalogue) == []


async def test_words_that_are_gone_hold_up_no_other_entry(database_url: str) -> None:
    async with catalogue_at(database_url) as catalogue:
        instance = catalogue.instance
        lamps = await make_two_stale(catalogue)
        instance.now += timedelta(days=92)
        follows = instance.sequence
        run = analysis_run_id(lamps.assertion_id, follows)
        await catalogue.store(instance.requested(uid("job"), "Lamps burn.", run, follows))
        instance.now += timedelta(days=2)
        (renewal,) = await renew(catalogue, a_day=1)
        assert renewal.assertion_id == lamps.assertion_id


async def make_two_stale(catalogue: Catalogue) -> EntryPublished:
    """The entry about ships and another one were edited; the other one."""
    lamps = catalogue.instance.entry("Lamps burn.")
    await catalogue.store(lamps)
    for id_ in (ENTRY, lamps.entry_id):
        await catalogue.store(EntryStaled(entry_id=id_, parts=STALE_PARTS, trigger="EDIT", cause_id=uid("edit")))
    return lamps


async def renew(catalogue: Catalogue, a_day: int = 5) -> list[AssertionAnalysisRequested]:
    """What a curator requests now."""
    before, clock = len(catalogue.instance.events), StillClock(catalogue.instance.now)
    words = Words(clock, catalogue.instance.tape.words)
    await Renewals(catalogue, words, catalogue, clock, a_day=a_day).run_once()
    found = [event for event, _ in catalogue.instance.events[before:]]
    return [each for each in found if isinstance(each, AssertionAnalysisRequested)]


async def test_tables_that_lag_say_nothing() -> None:
    class Lagging:
        async def newest(self) -> int:
            return 7

        async def holds(self, sequence: int) -> bool:
            return sequence < 7

    record: Any = Lagging()
    clock = StillClock(datetime(2026, 1, 1, tzinfo=UTC))
    for work in (
        Staleness(record, record, clock),
        Reanalyses(record, record, record, clock),
        Renewals(record, record, record, clock, a_day=9),
        Quality(record, record, clock, record),
        Watch(record, record, record, clock, volumes=record, show_open=record),
    ):
        assert not await work.run_once()


def analysis_of(catalogue: Catalogue) -> UUID:
    """The analysis that the entry shows."""
    cached = catalogue.instance.cached[SHIPS].analysed
    assert cached is not None
    return cached.event.analysis_id
