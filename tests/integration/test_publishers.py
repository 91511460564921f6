"""Publishers' scores over real servers: a week of citations in the tables, and epochs in the log."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from contracts.topology import JOBS
from contracts.v1 import AssertionInvalidated, Event, PublisherEpochClosed, PublisherRated, PublisherScored
from contracts.v1.ids import analysis_run_id, publisher_id
from kit import topology
from kit.bus import Bus, connect
from kit.database import Database
from kit.pages import read_last_sequence
from lifecycle.audits.epochs import epoch_at
from lifecycle.audits.runs import ANALYSE
from services.auditor.publishers import LoggedScores
from services.curator.record.publishers import SqlPublishers
from services.curator.weekly_scores import WeeklyScores
from services.projector.rebuild.rebuild import rebuild
from tests.integration.readmodel_tables import ANALYSES, NoTexts, everything, fill, prepare, store_at
from tests.support.curating import JobsLog
from tests.support.fakes import StillClock
from tests.support.servers import Prepare, Servers
from tests.unit.projector.audit_histories import Instance, claim_id_of, scored
from tests.unit.projector.histories import uid

pytest_plugins = ["tests.support.servers"]

FOR, AGAINST = publisher_id("for.example"), publisher_id("against.example")
SHIPS = claim_id_of("Ships sail.")


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return prepare


class Curated(SqlPublishers):
    """The real tables behind a log in memory, which they follow when they are told."""

    def __init__(self, database: Database, url: str, instance: Instance) -> None:
        self._database = database
        self._url = url
        self.instance = instance
        self.log = JobsLog()
        self.written = 0

    async def newest(self) -> int:
        return 0

    async def closed(self) -> tuple[int, int]:
        for sequence, (event, _) in reversed(list(enumerate(self.instance.events, 1))):
            if isinstance(event, PublisherEpochClosed):
                return event.epoch, sequence
        return 0, 0

    async def ended_job(self, job_id: UUID) -> Any:
        raise AssertionError(job_id)

    async def is_over(self, key: str) -> bool:
        raise AssertionError(key)

    async def publish(self, event: Event, correlation: UUID) -> bool:
        """Store it, unless it was; the tables follow at once."""
        if any(each.event_id() == event.event_id() for each, _ in self.instance.events):
            return True
        self.instance.publish(event)
        await self.follow()
        return True

    async def follow(self) -> None:
        tape = self.instance.tape
        for event, at in self.instance.events[self.written :]:
            tape.add(event, at=at)
        store = store_at(self._url, texts=NoTexts(**tape.words))
        await fill(store, tape.records[self.written :])
        await store.close()
        self.written = len(self.instance.events)

    def scores(self) -> dict[tuple[str, int], tuple[float, int, int, str]]:
        return {
            (event.domain, event.epoch): (event.score, event.correct, event.total, event.why)
            for event, _ in self.instance.events
            if isinstance(event, PublisherScored)
        }


def publish_all(instance: Instance, *events: Event) -> None:
    for event in events:
        instance.publish(event)


def analyse_again(instance: Instance, days: int, rollup: str) -> None:
    """The claim is analysed once more, after so many days."""
    instance.now += timedelta(days=days)
    follows = instance.sequence
    run = analysis_run_id(SHIPS, follows)
    publish_all(
        instance,
        instance.requested(uid("job"), "Ships sail.", run, follows),
        instance.started(run, ANALYSE, SHIPS),
        instance.analysed("Ships sail.", run).model_copy(update={"rollup": rollup}),
    )


async def close(record: Curated, now: datetime) -> list[int]:
    """The epochs that a curator closes."""
    worker = WeeklyScores(record, record, StillClock(now), {"news": 50})
    closed = []
    while (epoch := await worker.run_once()) is not None:
        closed.append(epoch)
    return closed


@pytest.mark.requirement("FH-128")
@pytest.mark.requirement("FH-129")
async def test_citations_of_a_week_become_scores(database_url: str, stack: Servers) -> None:
    """FH-128: Scores are computed weekly, never by an analysis.

    FH-129: A job reads one closed epoch of scores.
    """
    instance = Instance()
    for event in instance.whole(uid("job"), uid("account"), ("Ships sail.", "Lamps burn.")):
        instance.publish(event)
    first = epoch_at(instance.now)
    analyse_again(instance, 7, "SUPPORTED")
    analyse_again(instance, 7, "REFUTED")
    rated = PublisherRated(publisher_id=AGAINST, domain="against.example", type="news", by=uid("a"), reason="MISTAKE")
    publish_all(instance, rated)
    database = Database(database_url, role="curator")
    record = Curated(database, database_url, instance)
    try:
        await record.follow()
        assert await close(record, first.closes - timedelta(seconds=1)) == []
        assert await close(record, first.closes) == [first.number]
        assert record.scores() == {
            ("for.example", first.number): (30.0, 0, 0, "INITIAL"),
            ("against.example", first.number): (30.0, 0, 0, "INITIAL"),
        }
        later = first.next().next()
        assert await close(record, later.closes) == [first.next().number, later.number]
        assert record.scores()["for.example", first.next().number] == (65.0, 1, 1, "COMPUTED")
        assert record.scores()["against.example", first.next().number][1:3] == (0, 1)
        assert record.scores()["for.example", later.number] == (40.0, 1, 2, "COMPUTED")
        assert record.scores()["against.example", later.number] == (50.0, 1, 2, "COMPUTED")
        assert await close(record, later.closes) == []
    finally:
        await database.close()
    before = await everything(database_url)
    (row,) = [row for row in before["publisher"] if row["domain"] == "for.example"]
    assert (row["total_citations"], row["claim_count"]) == (4, 2), "once for each family of an analysis"
    assert (row["correct_weight"], row["total_weight"]) == (2, 4), "the claim was central to its article"
    await rebuild(database_url, NoTexts(**instance.tape.words), analyses=ANALYSES)
    after = await everything(database_url)
    for table in ("publisher", "publisher_score", "publisher_rating", "score_epoch", "citation"):
        assert after[table] == before[table]


@pytest.mark.requirement("FH-128")
async def test_a_job_that_runs_while_a_week_closes_changes_no_score_of_it(database_url: str, stack: Servers) -> None:
    """FH-128: Scores are computed weekly, never by an analysis."""
    instance = Instance()
    for event in instance.whole(uid("job"), uid("account"), ("Ships sail.",)):
        instance.publish(event)
    first = epoch_at(instance.now)
    analyse_again(instance, 7, "SUPPORTED")
    later = first.next()
    database = Database(database_url, role="curator")
    record = Curated(database, database_url, instance)
    try:
        await record.follow()
        assert await close(record, later.closes - timedelta(hours=1)) == [first.number]
        instance.now = later.closes - timedelta(seconds=1)
        run = analysis_run_id(SHIPS, follows := instance.sequence)
        publish_all(instance, instance.requested(uid("job"), "Ships sail.", run, follows))
        publish_all(instance, instance.started(run, ANALYSE, SHIPS))
        assert instance.now > later.closes
        await record.follow()
        assert await close(record, instance.now) == [later.number]
        scores = record.scores()
        assert scores["for.example", later.number] == (65.0, 1, 1, "COMPUTED")
        publish_all(instance, instance.analysed("Ships sail.", run).model_copy(update={"rollup": "REFUTED"}))
        await record.follow()
        assert await close(record, later.closes + timedelta(days=6)) == []
        assert record.scores() == scores, "what is analysed on that Sunday belongs to the week that it is in"
        assert await close(record, later.next().closes) == [later.next().number]
        assert record.scores()["for.example", later.next().number] == (40.0, 1, 2, "COMPUTED")
    finally:
        await database.close()


async def test_what_was_withdrawn_before_its_epoch_closes_judges_no_publisher(
    database_url: str, stack: Servers
) -> None:
    instance = Instance()
    for event in instance.whole(uid("job"), uid("account"), ("Ships sail.",)):
        instance.publish(event)
    first = epoch_at(instance.now)
    analyse_again(instance, 7, "SUPPORTED")
    cached = instance.cached[SHIPS].analysed
    assert cached is not None
    analysis = cached.event.analysis_id
    publish_all(instance, AssertionInvalidated(assertion_id=SHIPS, analysis_id=analysis, why="RIGHTS"))
    database = Database(database_url, role="curator")
    record = Curated(database, database_url, instance)
    try:
        await record.follow()
        assert await close(record, first.next().closes) == [first.number, first.next().number]
        assert {epoch for _, epoch in record.scores()} == {first.number}
    finally:
        await database.close()


@asynccontextmanager
async def jobs_at(nats_url: str) -> AsyncIterator[Bus]:
    async with connect(nats_url, name="test") as bus:
        await topology.apply(bus)
        yield bus


@pytest.mark.requirement("FH-129")
async def test_an_analysis_reads_the_epoch_that_its_job_pinned(nats_url: str) -> None:
    """FH-129: A job reads one closed epoch of scores."""
    async with jobs_at(nats_url) as bus:
        scores, record = LoggedScores(bus), SqlPublishers(bus, Database("postgresql://nowhere", role="curator"))
        assert (await scores.closed_epoch(), await record.closed()) == (0, (0, 0))
        await bus.publish(scored("for.example", 202601), correlation=uuid4())
        first = await read_last_sequence(bus, JOBS.name)
        await bus.publish(PublisherEpochClosed(epoch=202601, publishers=1), correlation=uuid4())
        pinned = await scores.closed_epoch()
        closing = await read_last_sequence(bus, JOBS.name)
        assert (pinned, await record.closed(), await record.newest()) == (202601, (202601, closing), closing)
        later = scored("for.example", 202602, first).model_copy(update={"score": 12.5})
        await bus.publish(later, correlation=uuid4())
        assert await scores.closed_epoch() == pinned, "not all scores of the next one are there"
        assert await scores.read([FOR, AGAINST], pinned) == {FOR: 72.5}
        closed = PublisherEpochClosed(follows=closing, epoch=202602, publishers=1)
        await bus.publish(closed, correlation=uuid4())
        assert await scores.read([FOR], pinned) == {FOR: 72.5}
        assert await scores.read([FOR], await scores.closed_epoch()) == {FOR: 12.5}
        assert await scores.read([FOR], 0) == {}
