"""Metrics by the hour and causes of errors by the week, counted in the tables by the curator's own role."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Final

import pytest

from contracts.v1 import JobEnded, MetricSampled, PatternRecorded
from contracts.v1.ids import entry_id
from kit.database import Database
from lifecycle.audits.epochs import epoch_at
from lifecycle.audits.quality import TARGETS, Target, find_target, misses
from services.curator.quality import Quality
from services.curator.record.quality import SqlQuality
from services.projector.rebuild.rebuild import rebuild
from services.projector.rebuild.shadow import shadow
from tests.integration.readmodel_tables import ANALYSES, NoTexts, everything, prepare
from tests.integration.test_staleness import Following
from tests.support.fakes import StillClock
from tests.support.servers import Prepare
from tests.unit.projector.audit_histories import claim_id_of
from tests.unit.projector.histories import uid

pytest_plugins = ["tests.support.servers"]

SHIPS: Final = claim_id_of("Ships sail.")


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return prepare


class Counted(Following, SqlQuality):
    """The tables behind a log in memory."""

    def __init__(self, database: Database, url: str) -> None:
        super().__init__(url)
        self._database = database
        self.shown: dict[str, tuple[float, bool]] = {}

    async def newest(self) -> int:
        return 0

    def curator(self, now: datetime) -> Quality:
        return Quality(self, self, StillClock(now), lambda type_, _, value, missed: self.show(type_, value, missed))

    def show(self, type_: str, value: float, missed: bool) -> None:
        self.shown[type_] = value, missed

    def samples(self) -> list[MetricSampled]:
        return [event for event, _ in self.instance.events if isinstance(event, MetricSampled)]

    def patterns(self) -> list[tuple[str, str, int, int, str]]:
        return [
            (event.category, event.cause, event.epoch, event.frequency, event.status)
            for event, _ in self.instance.events
            if isinstance(event, PatternRecorded)
        ]

    async def require_rebuilt(self) -> None:
        """A rebuild ends with the same tables."""
        live, texts = await everything(self.url), NoTexts(**self.instance.tape.words)
        assert await shadow(self.url, texts, analyses=ANALYSES) == []
        await rebuild(self.url, texts, analyses=ANALYSES)
        assert await everything(self.url) == live


@asynccontextmanager
async def counted_at(url: str) -> AsyncIterator[Counted]:
    database = Database(url, role="curator")
    counted = Counted(database, url)
    await counted.fill()
    try:
        yield counted
    finally:
        await database.close()


def hour_after(moment: datetime) -> datetime:
    return moment.replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)


@pytest.mark.requirement("FH-123")
@pytest.mark.requirement("FH-120")
async def test_an_hour_is_sampled_once_by_whatever_curator(database_url: str) -> None:
    """FH-123: Metrics are sampled hourly and alert when they miss their target.

    FH-120: Sources, users, metrics and patterns have no versions.
    """
    async with counted_at(database_url) as counted:
        given_up = uid("given up")
        await counted.store(*counted.instance.intake(given_up, uid("account")))
        await counted.store(JobEnded(job_id=given_up, outcome="CANCELED", charged_micro_usd=0))
        now = hour_after(counted.instance.now)
        first, second = counted.curator(now), counted.curator(now + timedelta(minutes=9))
        stored = await first.run_once()
        found = {each.type: each for each in counted.samples()}
        assert stored == len(found)
        assert (await first.run_once(), await second.run_once()) == (0, 0)
        assert {*found} == {"ANALYSIS_USD", "CACHE_HITS", "EVIDENCE_CONFIRMED", "JOBS_SUCCEEDED", "JOB_SECONDS"}
        succeeded, seconds = found["JOBS_SUCCEEDED"], found["JOB_SECONDS"]
        assert (succeeded.value, succeeded.n, succeeded.target) == (1.0, 1, None), "of one job nothing is expected"
        assert (seconds.target, seconds.at_most, seconds.value > 0) == (120.0, True, True)
        assert found["CACHE_HITS"].value == 0.0
        assert counted.shown["JOB_SECONDS"] == (seconds.value, False)
        assert all(each.slot == now.strftime("%Y-%m-%dT%H") for each in counted.samples())
        assert await counted.curator(now + timedelta(hours=1)).run_once() == len(found), "the next hour has its own"
        rows = (await everything(database_url))["quality_metric"]
        assert [(row["value"], row["target"]) for row in rows if row["type"] == "JOB_SECONDS"] == [
            (seconds.value, 120.0)
        ] * 2
        await counted.require_rebuilt()


@pytest.mark.requirement("FH-123")
async def test_a_metric_beyond_its_target_is_shown_as_such(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """FH-123: Metrics are sampled hourly and alert when they miss their target."""
    async with counted_at(database_url) as counted:
        now = hour_after(counted.instance.now)
        await counted.curator(now).run_once()
        assert not any(missed for _, missed in counted.shown.values())
        monkeypatch.setattr("lifecycle.audits.quality.TARGETS", {**TARGETS, "JOB_SECONDS": Target(0, at_most=True)})
        await counted.curator(now + timedelta(hours=1)).run_once()
        assert [type_ for type_, (_, missed) in counted.shown.items() if missed] == ["JOB_SECONDS"]
    assert misses(121.0, 120.0, at_most=True)
    assert not misses(120.0, 120.0, at_most=True)
    assert misses(0.94, 0.95, at_most=False)
    assert not misses(0.0, None, at_most=False)
    assert find_target("CACHE_HITS", 999) is None
    assert find_target("CACHE_HITS", 1_000) == TARGETS["CACHE_HITS"]


@pytest.mark.requirement("FH-123")
async def test_samples_are_kept_by_the_day_after_two_years(database_url: str) -> None:
    """FH-123: Metrics are sampled hourly and alert when they miss their target."""
    async with counted_at(database_url) as counted:
        begins = datetime(2026, 12, 1, 22, tzinfo=UTC)
        for hour, value in enumerate([100.0, 130.0, 140.0, 150.0]):
            slot = (begins + timedelta(hours=hour)).strftime("%Y-%m-%dT%H")
            sample = MetricSampled(
                slot=slot, type="JOB_SECONDS", category="ALL", value=value, target=120.0, at_most=True, n=9
            )
            await counted.store(sample)
        two_years = timedelta(days=730)
        before = begins.replace(hour=0) + two_years + timedelta(hours=23)
        await counted.store(counted.instance.purged("WORDS", before))
        assert len((await everything(database_url))["quality_metric"]) == 4, "the day is not over for two years"
        await counted.require_rebuilt()
        await counted.store(counted.instance.purged("WORDS", before + timedelta(hours=1)))
        found = await everything(database_url)
        assert [row["value"] for row in found["quality_metric"]] == [140.0, 150.0]
        (day,) = found["quality_day"]
        assert (day["samples"], day["mean"], day["low"], day["high"], day["missed"]) == (2, 115.0, 100.0, 130.0, 1)
        await counted.require_rebuilt()


@pytest.mark.requirement("FH-124")
@pytest.mark.requirement("FH-120")
async def test_causes_of_errors_are_counted_by_the_week_and_mended_when_they_are_met_no_more(
    database_url: str,
) -> None:
    """FH-124: Error patterns are grouped weekly.

    FH-120: Sources, users, metrics and patterns have no versions.
    """
    async with counted_at(database_url) as counted:
        instance = counted.instance
        await counted.store(instance.entry("Ships sail."))
        for account in ("a", "b"):
            raised = instance.flagged(entry_id(SHIPS), uid(account))
            await counted.store(raised)
            await counted.store(instance.resolved_flag(raised))
        await counted.store(instance.flagged(entry_id(SHIPS), uid("c")))
        week = epoch_at(instance.now)
        ends = week.ends + timedelta(hours=2)
        await counted.curator(ends - timedelta(seconds=1)).run_once()
        assert counted.patterns() == [], "the week is not counted yet"
        for _ in range(2):
            await counted.curator(ends).run_once()
        assert counted.patterns() == [("CLAIM_FLAGGED", "WRONG_SOURCE", week.number, 2, "OPEN")]
        (row,) = (await everything(database_url))["error_pattern"]
        assert (row["claim_id"], row["frequency"], row["fixed_at"]) == (str(SHIPS), 2, None)
        instance.now = ends + timedelta(days=7)
        await counted.curator(instance.now).run_once()
        assert counted.patterns()[1:] == [("CLAIM_FLAGGED", "WRONG_SOURCE", week.next().number, 0, "FIXED")]
        await counted.curator(instance.now + timedelta(days=7)).run_once()
        assert len(counted.patterns()) == 2, "what is mended is counted again only when it is met again"
        (row,) = (await everything(database_url))["error_pattern"]
        assert (row["status"], row["claim_id"], row["fixed_at"] is None) == ("FIXED", str(SHIPS), False)
        await counted.require_rebuilt()
