"""Builds the auditor."""

from __future__ import annotations

from decimal import Decimal
from typing import Final

from contracts.jobs.result import UpgradeOptions
from contracts.topology import (
    AUDITOR_ASSERTION_ANALYSIS_REQUESTED,
    AUDITOR_JOB_REQUESTED,
    AUDITOR_JOB_RESOLVED,
    AUDITS_CONCLUDE_MARK,
    AUDITS_CONCLUDED,
    JOBS,
)
from kit.concluding import Concluder
from kit.documents.article import ReadArticle
from kit.documents.readable import Readable
from kit.documents.reading import Reader
from kit.ephemeral import EphemeralTexts, TextBucket
from kit.host import Host
from kit.model_settings import LlmSettings, ModelSettings
from kit.models.choice import make_deps
from kit.models.demo_catalogue import catalogue
from kit.models.stages import DemoStages, StageModels, Stages
from kit.receipts import announce_key, choose_key
from kit.settings import load
from kit.sources import Pages
from kit.web import GuardedHttpClient, Policy
from services.auditor.adapters import BucketKeys, BucketMemos, ConfiguredStages, EventLog, JobsLog, WebArticles
from services.auditor.analysis import Analyst
from services.auditor.assessing import Assessor
from services.auditor.concluding import JobRules
from services.auditor.evidence import DemoPages, EvidencePages
from services.auditor.extracting import Extractor
from services.auditor.handlers import Auditor
from services.auditor.metrics import AuditorMetrics, OpenJobs
from services.auditor.planning import Planner
from services.auditor.publishers import LoggedScores
from services.auditor.runs import Runs
from services.auditor.settings import AuditorSettings

MICRO_PER_USD: Final = 1_000_000


async def build(host: Host) -> None:
    """Subscribe the handlers and start the concluder."""
    settings, llm, models = load(AuditorSettings), load(LlmSettings), load(ModelSettings)
    stages: Stages = DemoStages(host.model) if host.model.labelled_demo else StageModels(llm, make_deps(models))
    log, texts = EventLog(host.bus), EphemeralTexts(TextBucket(host.bus), host.clock)
    runs = Runs(log, texts, stages, host.clock, host.worker, host.telemetry.registry)
    articles, sources = _pages(host, settings)
    evidence = EvidencePages(DemoPages(catalogue(), host.clock) if host.model.labelled_demo else sources)
    metrics = AuditorMetrics(host.telemetry.registry)
    call_micro_usd = int(llm.max_cost_per_request * Decimal(MICRO_PER_USD))
    extractor = Extractor(log, texts, runs, BucketMemos(host.bus), host.clock, call_micro_usd)
    scores = LoggedScores(host.bus)
    auditor = Auditor(
        log,
        texts,
        WebArticles(articles),
        extractor,
        ConfiguredStages(host.bus, stages),
        Planner(log, texts, BucketKeys(host.bus), metrics, host.clock),
        scores,
    )
    analyst = Analyst(
        log, texts, evidence, runs, host.clock, call_micro_usd, settings.confidence_floor, metrics, scores
    )
    key = choose_key(settings.receipt_key, host.data_folder)
    await announce_key(host.bus, key)
    assessor = Assessor(
        log,
        texts,
        runs,
        key,
        host.clock,
        call_micro_usd,
        issuer=settings.public_url.rstrip("/"),
        upgrade=UpgradeOptions(top_up=settings.top_up, pro_tier=settings.pro_tier),
    )
    host.delivery.subscribe(
        AUDITOR_JOB_REQUESTED, auditor.on_job_requested, slots=settings.slots, on_exhausted=auditor.on_exhausted
    )
    host.delivery.subscribe(
        AUDITOR_ASSERTION_ANALYSIS_REQUESTED,
        analyst.on_assertion_analysis_requested,
        slots=settings.claim_slots,
        on_exhausted=analyst.on_exhausted,
    )
    host.delivery.subscribe(
        AUDITOR_JOB_RESOLVED,
        assessor.on_job_resolved,
        slots=settings.assess_slots,
        on_exhausted=assessor.on_exhausted,
    )
    rules, waiting = JobRules(JobsLog(host.bus), texts), OpenJobs(host.telemetry.registry, host.clock.now)
    concluder = Concluder(host.bus, JOBS, AUDITS_CONCLUDED, AUDITS_CONCLUDE_MARK, rules, waiting)
    host.keep_running("auditor-conclude", concluder.run)


def _pages(host: Host, settings: AuditorSettings) -> tuple[Pages[ReadArticle], Pages[Readable]]:
    """Readers of articles and of cited sources, which share a client and its few reading processes."""
    exempt = frozenset({settings.page_origin} if settings.page_origin else ())
    http, reader = GuardedHttpClient(Policy(contact_url=settings.contact_url, exempt_origins=exempt)), Reader()
    articles = Pages(http, reader.read_article, host.clock, archive=None)
    sources = Pages(http, reader.read, host.clock, archive=None)
    host.on_close(http.close)
    host.on_close(articles.close)
    host.on_close(sources.close)
    return articles, sources
