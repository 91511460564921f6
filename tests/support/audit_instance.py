"""Audits over a real broker: gateways that accept jobs, auditors that can be killed, and a provider that counts calls.

Each auditor is all that its service is, with a connection, a model and a view of the store of its own. Only the web,
the blob store and the provider are the test's.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from hashlib import sha256
from typing import Any, Final, TypeVar
from uuid import UUID, uuid4

import nats.errors
from prometheus_client import CollectorRegistry
from pydantic import SecretStr

from analyses.claims.guard import make_guard
from analyses.claims.normalise import NORMATIVE, normalise_v1norm1
from contracts.jobs.requests import AnalyzeRequest
from contracts.topology import (
    AUDITOR_ASSERTION_ANALYSIS_REQUESTED,
    AUDITOR_JOB_REQUESTED,
    AUDITOR_JOB_RESOLVED,
    AUDITS_CONCLUDE_MARK,
    AUDITS_CONCLUDED,
    JOBS,
)
from contracts.v1 import Event
from contracts.v1.ids import analysis_run_id, assertion_id
from contracts.v1.run import StageModel
from kit.bus import Bus, connect
from kit.cancelling import cancel_and_wait
from kit.clock import SystemClock
from kit.concluding import Concluder
from kit.delivery import Delivery
from kit.ephemeral import EphemeralTexts
from kit.ephemeral import Store as BlobStore
from kit.errors import Retry
from kit.model_settings import LlmSettings
from kit.models.base import Model
from kit.models.stages import Stage, StoredStage, resolve
from kit.publisher import BusError
from kit.telemetry import Telemetry
from services.auditor.adapters import BucketKeys, BucketMemos, ConfiguredStages, EventLog, JobsLog
from services.auditor.analysis import Analyst
from services.auditor.assessing import Assessor
from services.auditor.concluding import JobRules, OpenJob
from services.auditor.domain import Article, NoArticle
from services.auditor.evidence import EvidencePages
from services.auditor.extracting import Extractor
from services.auditor.handlers import Auditor
from services.auditor.metrics import AuditorMetrics, OpenJobs
from services.auditor.planning import Planner
from services.auditor.publishers import LoggedScores
from services.auditor.runs import Runs
from services.gateway.domain import Account, Principal
from services.gateway.jobs.adapters import BusJobLog, BusMemos, BusWords
from services.gateway.jobs.credit import Ledger
from services.gateway.jobs.intake import Intake, Order
from services.gateway.jobs.memory import Memory
from services.gateway.jobs.reading import Jobs
from services.gateway.jobs.signals import Signals
from services.gateway.jobs.stages import StageSettings
from tests.support.analysing import World as Pages
from tests.support.assessing import ISSUER, KEY, UPGRADE
from tests.support.audit_provider import AuditProvider
from tests.support.mortal import Life, Store
from tests.support.openai_server import openai_server
from tests.support.providers import OPENAI

ACK_WAIT_S: Final = 4.0
CALL_MICRO_USD: Final = 1_000_000
WITHIN_S: Final = 180.0
RESTART_S: Final = 0.2
CLOCK: Final = SystemClock()
SLOTS: Final = 4
"""Jobs, and claims, that one auditor works on at once; articles are half as many."""

E = TypeVar("E", bound=Event)
_ANSWER: Final = re.compile(r"/answers/([0-9a-f-]{36})/[^/]+/[0-9a-f]{64}/\d+$")


def account(number: int, tier: str = "pro") -> Account:
    """The account of this number."""
    assert tier in ("free", "pro")
    return Account(UUID(int=0xACC0 + number), "reader", "free" if tier == "free" else "pro", None, False)


def find_assertion(claim: str) -> UUID:
    """The assertion of a claim that names no time."""
    canonical, guard = normalise_v1norm1(claim, "en"), make_guard(claim, "").canonical_json()
    hashes = (sha256(each.encode()).hexdigest() for each in (canonical, guard))
    return assertion_id(NORMATIVE, "en", *hashes)


def find_run(claim: str) -> UUID:
    """The run of a claim's first analysis."""
    return analysis_run_id(find_assertion(claim), 0)


@dataclass(frozen=True)
class _Models:
    """The same model for all stages."""

    model: Model

    def resolve(self, stage: Stage, stored: StoredStage | None) -> StageModel:
        return resolve(stage, LlmSettings(), stored)

    def open(self, chosen: StageModel) -> Model:
        return self.model


class _NoWeb:
    """No page can be fetched: articles are sent as text."""

    async def fetch(self, address: str, accepted_at: datetime) -> Article:
        raise NoArticle("FETCH_FAILED")


class AuditorProcess:
    """One auditor over the broker at `url`."""

    def __init__(self, instance: Instance, name: str, url: str) -> None:
        self.name = name
        self._url = url
        self._instance = instance
        self.store = Store()
        self.store.objects = instance.store.objects
        self._ready = asyncio.Event()
        self._bus: Bus | None = None
        self._task = asyncio.create_task(self._live())

    async def started(self) -> None:
        """Wait until the auditor takes messages."""
        ready = asyncio.create_task(self._ready.wait())
        await asyncio.wait({ready, self._task}, return_when=asyncio.FIRST_COMPLETED)
        ready.cancel()
        if self._task.done():
            self._task.result()

    async def kill(self) -> None:
        """Kill the auditor. Its connection must be cut before, so that nothing it does while it ends is seen."""
        self.store.life = Life(1)
        if self._bus is not None:
            with suppress(OSError, nats.errors.Error):  # its line is cut
                await self._bus.client.close()  # or it would connect again
        self._task.cancel()
        await asyncio.wait({self._task})
        if not self._task.cancelled():
            self._task.exception()  # what cannot be ended in order over a connection that is gone

    async def _live(self) -> None:
        instance = self._instance
        model = OPENAI.make(instance.provider.url, key=SecretStr(self.name), silence_s=60)
        try:
            async with connect(self._url, name=self.name, drain_s=0.5) as bus:
                self._bus = bus
                await self._work(bus, model)
        finally:
            await model.aclose()

    async def _work(self, bus: Bus, model: Model) -> None:
        log, texts, models = EventLog(bus), EphemeralTexts(self.store, CLOCK), _Models(model)
        runs = Runs(log, texts, models, CLOCK, self.name)
        metrics = AuditorMetrics(CollectorRegistry())
        extractor = Extractor(log, texts, runs, BucketMemos(bus), CLOCK, CALL_MICRO_USD)
        planner = Planner(log, texts, BucketKeys(bus), metrics, CLOCK)
        auditor = Auditor(log, texts, _NoWeb(), extractor, ConfiguredStages(bus, models), planner, LoggedScores(bus))
        limit = self._instance.analysis_micro_usd
        analyst = Analyst(
            log, texts, EvidencePages(Pages()), runs, CLOCK, limit, Decimal("0.5"), metrics, LoggedScores(bus)
        )
        assessor = Assessor(log, texts, runs, KEY, CLOCK, CALL_MICRO_USD, ISSUER, UPGRADE)
        delivery = Delivery(bus, Telemetry(), ack_wait_s=self._instance.ack_wait_s)
        delivery.subscribe(
            AUDITOR_JOB_REQUESTED, auditor.on_job_requested, slots=SLOTS, on_exhausted=auditor.on_exhausted
        )
        delivery.subscribe(
            AUDITOR_ASSERTION_ANALYSIS_REQUESTED,
            analyst.on_assertion_analysis_requested,
            slots=SLOTS,
            on_exhausted=analyst.on_exhausted,
        )
        delivery.subscribe(
            AUDITOR_JOB_RESOLVED, assessor.on_job_resolved, slots=SLOTS // 2, on_exhausted=assessor.on_exhausted
        )
        watcher = OpenJobs(CollectorRegistry(), CLOCK.now)
        rules = JobRules(JobsLog(bus), texts)
        fold = Concluder(bus, JOBS, AUDITS_CONCLUDED, AUDITS_CONCLUDE_MARK, rules, watcher)
        await delivery.start()
        folding = asyncio.create_task(_keep_running(fold))
        self._ready.set()
        try:
            await folding
        finally:
            await cancel_and_wait([folding])


async def _keep_running(fold: Concluder[OpenJob]) -> None:
    """Run the fold as a host does: after a failure it begins again."""
    while True:
        with suppress(BusError, Retry):
            await fold.run()
        await asyncio.sleep(RESTART_S)


@dataclass
class Instance:
    """What all processes share.

    Units: `analysis_micro_usd` is the most that one request about a claim may cost, in processes that start now.
    """

    url: str
    provider: AuditProvider
    ack_wait_s: float = ACK_WAIT_S
    analysis_micro_usd: int = CALL_MICRO_USD
    store: Store = field(default_factory=Store)
    auditors: list[AuditorProcess] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.provider.count_answers = self.count_answers

    @property
    def texts(self) -> EphemeralTexts:
        """The texts that all processes share."""
        return EphemeralTexts(self.store, CLOCK)

    def count_answers(self) -> Counter[str]:
        """How many answers are stored of each run."""
        return Counter(found[1] for name in self.store.objects if (found := _ANSWER.search(name)))

    def spawn(self, url: str | None = None) -> AuditorProcess:
        """Another auditor, with a key of its own, so that its bills differ from others'."""
        name = f"auditor-{len(self.auditors) + 1}"
        process = AuditorProcess(self, name, url or self.url)
        self.auditors.append(process)
        return process

    def gateway(self, bus: Bus) -> Gateway:
        """A gateway over a connection."""
        return Gateway(bus, self.store)


class Gateway:
    """What a gateway does with jobs."""

    def __init__(self, bus: Bus, store: BlobStore) -> None:
        log, words = BusJobLog(bus), BusWords(EphemeralTexts(store, CLOCK))
        self.ledger = Ledger(log, CLOCK, job_s=900)
        self.jobs = Jobs(log, words, Signals(log), CLOCK)
        stages, memory = StageSettings(log, LlmSettings(), "", {}), Memory(log, words, BusMemos(bus))
        self._intake = Intake(log, words, self.ledger, memory, stages, CLOCK, job_s=900)

    async def accept(self, owner: Account, text: str, key: str | None = None, **options: object) -> UUID:
        """A job, new or known. Raises: Problem, Unavailable."""
        request = AnalyzeRequest.model_validate({"input_text": text, "options": options})
        order = Order(request, key, Principal(owner, frozenset({"audit"})), uuid4())
        return (await self._intake.accept(order)).job_id

    async def cancel(self, job_id: UUID) -> None:
        """End a job as its account does."""
        found = await self.jobs.read(job_id)
        assert found is not None
        await self.jobs.cancel(found, uuid4())

    async def result(self, job_id: UUID) -> Any:
        """The result of a job, as JSON."""
        found = await self.jobs.read(job_id)
        assert found is not None
        return json.loads(await self.jobs.read_result(found))


@asynccontextmanager
async def instance(url: str, **given: Any) -> AsyncIterator[Instance]:
    """An instance without auditors yet; those that run at the end are ended."""
    provider = AuditProvider()
    async with openai_server(provider):
        found = Instance(url, provider, **given)
        try:
            yield found
        finally:
            for process in found.auditors:
                await process.kill()
