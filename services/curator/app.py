"""Builds the curator."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Final

from contracts.topology import (
    CURATOR_CLAIM_HELD,
    CURATOR_FLAG_RAISED,
    CURATOR_FLAG_RESOLVED,
    CURATOR_JOB_ENDED,
    CURATOR_OVERDUE,
    CURATOR_OVERDUE_MARK,
    JOBS,
)
from kit.concluding import Concluder
from kit.documents.reading import Reader
from kit.ephemeral import EphemeralTexts, TextBucket
from kit.host import Host
from kit.leader import Leadership
from kit.settings import DisplaySettings, LabelerSettings, load
from kit.sources import Pages
from kit.web import GuardedHttpClient, Policy
from kit.webhooks import Webhooks as Sender
from kit.webhooks import webhook_policy
from lifecycle.display import DisplayRules
from services.curator.adapters import CuratorMetrics, EventLog, HeldClaims, SqlAudience, SqlLabelRecord, SqlSecrets
from services.curator.controls import ControlLists, ControlRuns
from services.curator.effects import Effects
from services.curator.entries import Reanalyses, Renewals, Staleness
from services.curator.handlers import Webhooks
from services.curator.holds import Holds
from services.curator.label_sweep import LabelSweep
from services.curator.overdue import Deadlines
from services.curator.quality import Quality
from services.curator.quotes import QuoteCheck
from services.curator.record.ages import SqlAges
from services.curator.record.controls import SqlControls
from services.curator.record.displays import LoggedDisplays
from services.curator.record.entries import SqlEntries
from services.curator.record.publishers import SqlPublishers
from services.curator.record.quality import SqlQuality
from services.curator.record.volumes import SqlVolumes
from services.curator.record.watched import SqlWatchRecord
from services.curator.rights import Withdrawals
from services.curator.second_look import PAGE_BYTES, PAGE_S, SecondLook, read_words
from services.curator.settings import CuratorSettings, require_holds
from services.curator.sweep import Sweep
from services.curator.watch import Volumes, Watch
from services.curator.weekly_scores import WeeklyScores

JOB: Final = "curator"
TICK_S: Final = 1.0
CONTROLS_S: Final = 60.0
QUOTES_S: Final = 10.0
SCORES_S: Final = 60.0
STALE_S: Final = 300.0
RENEWALS_S: Final = 60.0
QUALITY_S: Final = 60.0


async def build(host: Host) -> None:
    """Subscribe the handlers, start the fold of deadlines, and tick while this process leads."""
    settings, display = load(CuratorSettings), load(DisplaySettings)
    require_holds(settings, display)
    log, texts = EventLog(host.bus), EphemeralTexts(TextBucket(host.bus), host.clock)
    metrics = CuratorMetrics(host.telemetry.registry)
    database = host.database("curator")
    secrets = SqlSecrets(database, host.master_keys)
    webhooks = Webhooks(log, texts, secrets, Sender(_client(host, settings)), metrics, host.clock)
    host.delivery.subscribe(CURATOR_JOB_ENDED, webhooks.on_job_ended, slots=settings.webhook_slots)
    withdrawals = Withdrawals(log, texts, host.clock)
    host.delivery.subscribe(CURATOR_FLAG_RAISED, withdrawals.on_flag_raised, slots=CURATOR_FLAG_RAISED.slots)
    host.delivery.subscribe(CURATOR_FLAG_RESOLVED, withdrawals.on_flag_resolved, slots=CURATOR_FLAG_RESOLVED.slots)
    watched = SqlWatchRecord(host.bus, database)
    effects = Effects(watched, SqlVolumes(database), host.clock, announces=settings.variants == "on")
    reader = Reader()
    audience, rules = SqlAudience(database, host.clock), _rules(display)
    holds = Holds(
        HeldClaims(host.bus),
        audience,
        metrics,
        host.clock,
        rules,
        effects.of_approval,
        second_look=_second_look(host, settings, reader),
    )
    host.delivery.subscribe(
        CURATOR_CLAIM_HELD, holds.on_claim_held, slots=CURATOR_CLAIM_HELD.slots, on_exhausted=holds.on_exhausted
    )
    deadlines = Deadlines(log, metrics, host.clock)
    fold = Concluder(host.bus, JOBS, CURATOR_OVERDUE, CURATOR_OVERDUE_MARK, deadlines, deadlines)
    host.keep_running("curator-overdue", fold.run)
    leadership = Leadership(host.bus, JOB, host.worker)
    sweep = Sweep(log, texts, metrics, host.clock)
    host.keep_running("curator-leader", leadership.run)
    host.keep_running("curator-deadlines", _repeat(leadership, deadlines.end_overdue, TICK_S))
    host.keep_running("curator-sweep", _repeat(leadership, sweep.run_once, settings.sweep_s))
    volumes = Volumes(SqlVolumes(database), log, host.clock, announces=settings.variants == "on")
    ages = SqlAges(database, host.clock)
    watch = Watch(watched, log, ages, host.clock, volumes=volumes, show_open=metrics.show_open)
    host.keep_running("curator-watch", _repeat(leadership, watch.run, settings.watch_s))
    displays = LoggedDisplays(host.bus, database)
    quotes = QuoteCheck(displays, watched, log, host.blobs, reader, host.clock)
    host.keep_running("curator-quotes", _repeat(leadership, quotes.run_once, QUOTES_S))
    scores = WeeklyScores(SqlPublishers(host.bus, database), log, host.clock, settings.initial_scores)
    host.keep_running("curator-scores", _repeat(leadership, scores.run_once, SCORES_S))
    entries = SqlEntries(host.bus, database)
    staleness = Staleness(entries, log, host.clock)
    host.keep_running("curator-stale", _repeat(leadership, staleness.run_once, STALE_S))
    reanalyses = Reanalyses(entries, texts, log, host.clock)
    host.keep_running("curator-reanalyses", _repeat(leadership, reanalyses.run_once, STALE_S))
    quality = Quality(SqlQuality(host.bus, database), log, host.clock, metrics.show_quality)
    host.keep_running("curator-quality", _repeat(None, quality.run_once, QUALITY_S))
    if settings.renewals_a_day:
        renewals = Renewals(entries, texts, log, host.clock, a_day=settings.renewals_a_day)
        host.keep_running("curator-renewals", _repeat(leadership, renewals.run_once, RENEWALS_S))
    if settings.controls is not None:
        lists, record = ControlLists(settings.controls), SqlControls(database)
        controls = ControlRuns(lists, record, log, host.clock, a_day=settings.controls_a_day)
        host.keep_running("curator-controls", _repeat(leadership, controls.run_once, CONTROLS_S))
    if load(LabelerSettings).did is not None:
        labels = LabelSweep(SqlLabelRecord(host.bus, database), log, host.clock)
        host.keep_running("curator-labels", _repeat(leadership, labels.run_once, settings.labels_s))
    host.on_stop(leadership.release)


def _rules(settings: DisplaySettings) -> DisplayRules:
    return DisplayRules(
        few_views=settings.few_views,
        many_views=settings.many_views,
        medium=timedelta(seconds=settings.medium_s),
        high=timedelta(seconds=settings.high_s),
        second_look=settings.second_look,
    )


def _client(host: Host, settings: CuratorSettings) -> GuardedHttpClient:
    exempt = frozenset({settings.webhook_origin} if settings.webhook_origin else ())
    client = GuardedHttpClient(replace(webhook_policy(settings.contact_url), exempt_origins=exempt))
    host.on_close(client.close)
    return client


def _second_look(host: Host, settings: CuratorSettings, reader: Reader) -> SecondLook:
    http = GuardedHttpClient(Policy(settings.contact_url, timeout_s=PAGE_S, max_bytes=PAGE_BYTES))
    pages = Pages(http, partial(read_words, reader), host.clock, archive=None)
    host.on_close(http.close)
    host.on_close(pages.close)
    return SecondLook(pages)


def _repeat(
    leadership: Leadership | None, work: Callable[[], Awaitable[object]], every_s: float
) -> Callable[[], Awaitable[None]]:
    """Repeat `work` while this process leads; without `leadership` always, so that every process shows its metrics."""

    async def run() -> None:
        while True:
            while leadership is not None and not leadership.is_leader:  # noqa: ASYNC110 (another process leads)
                await asyncio.sleep(min(TICK_S, every_s))
            await work()
            await asyncio.sleep(every_s)

    return run
