"""The surroundings of one audit job: a log, texts, articles and a model, all in memory."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from datetime import datetime
from hashlib import sha256
from typing import Any, Final
from uuid import UUID

from prometheus_client import CollectorRegistry

from analyses.claims.answers import ExtractAnswer
from contracts.jobs.words import RequestWords
from contracts.v1 import (
    AssertionAnalysed,
    AssertionAnalysisRequested,
    Event,
    JobEnded,
    JobExtracted,
    JobRequested,
    RunFailed,
)
from contracts.v1.job import AuditOptions
from contracts.v1.parts import EphemeralRef, Usage
from contracts.v1.run import RunEnd, StageModel
from kit.publisher import PublishConflict
from lifecycle.audits.cache import Analysed, Cached, Requested
from lifecycle.audits.jobs import Job
from lifecycle.audits.runs import ANALYSE, ASSESS, EXTRACT, Run, fold_run
from services.auditor.domain import AlreadyFailed, Answered, Article, NoArticle, RunRequest
from services.auditor.extracting import Extractor
from services.auditor.handlers import Auditor
from services.auditor.metrics import AuditorMetrics
from services.auditor.planning import Planner
from services.auditor.ports import LoggedJob
from tests.support.audits import asked
from tests.support.factories import NOW
from tests.support.fakes import MemoryLog, StillClock
from tests.support.publishers import FixedScores

JOB: Final = UUID(int=0x10B)
CORRELATION: Final = UUID(int=0xC0)
TEXT: Final = "The sky is blue. Unemployment rose to 4 percent last month. The sky is blue!"
CLAIMS: Final[list[dict[str, Any]]] = [
    {"text": "The sky is blue.", "is_central": True, "claim_type": "event", "volatility": "TIMELESS"},
    {"text": "Unemployment rose to 4 percent last month.", "domain": "economy"},
    {"text": "The sky is blue!"},
    {"text": "!!!"},
]
ANSWER: Final = {"language": "en-GB", "thesis": "Things rise.", "claims": CLAIMS}
MODELS: Final = {
    step: StageModel(step=step, provider="openai", model="gpt-5.4", max_tokens=4_096, temperature=0.0)
    for step in (EXTRACT, ANALYSE, ASSESS)
}


class World:
    """The log, the texts and the model that one job meets."""

    def __init__(
        self, answer: Mapping[str, Any] | None = None, job: JobRequested | None = None, **request: Any
    ) -> None:
        """`job`: a job that is requested already, whose words are this request's."""
        self.texts: dict[str, str] = {}
        self.articles: dict[str, Article | NoArticle] = {}
        self.clock = StillClock(NOW)
        self.log = MemoryLog()
        self.stages: Mapping[str, StageModel] = MODELS
        self.answer = ANSWER if answer is None else answer
        self.memos: dict[UUID, UUID] = {}
        self.keys: dict[str, UUID] = {}
        self.registry = CollectorRegistry()
        self.scores = FixedScores()
        self.metrics = AuditorMetrics(self.registry)
        self.fetched: list[str] = []
        self.bought = 0
        self.refusals = 0
        words = RequestWords(**(request or {"text": TEXT}))
        ref = self.keep_request(**words.model_dump())
        given = {"input": ref, "reserved_micro_usd": 276_000, "input_type": "URL" if words.url else "TEXT"}
        self.request = asked(JOB).model_copy(update=given)
        if job is not None:
            self.request = job
            self.texts[job.input.sha256] = words.model_dump_json()
            self.log.publish(job)

    def keep_request(self, **words: Any) -> EphemeralRef:
        """Store what an account sent."""
        return self._keep(RequestWords(**words).model_dump_json(), NOW)

    def _keep(self, text: str, until: datetime) -> EphemeralRef:
        digest = sha256(text.encode()).hexdigest()
        self.texts[digest] = text
        return EphemeralRef(
            sha256=digest, size_bytes=len(text.encode()), until=until.replace(minute=0, second=0, microsecond=0)
        )

    async def put(self, text: str, until: datetime, answers: str | None = None) -> EphemeralRef:
        return self._keep(text, until)

    async def get(self, ref: EphemeralRef) -> str:
        return self.texts[ref.sha256]

    async def fetch(self, address: str, accepted_at: datetime) -> Article:
        self.fetched.append(address)
        found = self.articles[address]
        if isinstance(found, NoArticle):
            raise found
        return found

    async def models(self) -> Mapping[str, StageModel]:
        return self.stages

    async def find(self, memo_id: UUID) -> JobExtracted | None:
        extracted = (event for event in self.log.events if isinstance(event, JobExtracted))
        return next((event for event in extracted if event.job_id == self.memos.get(memo_id)), None)

    async def is_shared(self, event: AssertionAnalysisRequested) -> bool:
        return self.keys.setdefault(event.published_key, event.assertion_id) != event.assertion_id

    async def keep(self, memo_id: UUID, job_id: UUID) -> None:
        self.memos[memo_id] = job_id

    async def again(self, job_id: UUID, options: AuditOptions | None = None, **changed: Any) -> JobExtracted:
        """Run another job about the same article; return its extraction."""
        given = {"job_id": job_id, "options": options or self.request.options, **changed}
        self.request = self.request.model_copy(update=given)
        return next(fact for fact in await self.whole() if isinstance(fact, JobExtracted))

    async def job(self, job_id: UUID) -> LoggedJob | None:
        job, own = Job(job_id), [each for each in self.log.entries if each.event.key() == str(job_id)]
        for each in own:
            job.apply(each.event)
        first = next((each for each in own if isinstance(each.event, JobRequested)), None)
        return None if first is None else LoggedJob(job, first.sequence, NOW, CORRELATION, NOW)

    async def is_over(self, job_id: UUID) -> bool:
        return any(isinstance(each, JobEnded) for each in self.log.events)

    async def run(self, run_id: UUID) -> Run:
        return fold_run(run_id, [(each.sequence, each.event) for each in self.log.entries])

    async def cached(self, assertion_id: UUID) -> Cached:
        about = [each for each in self.log.entries if each.event.key() == str(assertion_id)]
        cached = Cached()
        for each in about:
            match each.event:
                case AssertionAnalysisRequested() as event:
                    cached = replace(cached, requested=Requested(each.sequence, NOW, event))
                case AssertionAnalysed() as event:
                    cached = replace(cached, analysed=Analysed(each.sequence, NOW, event))
                case _:
                    pass
        return cached

    async def request_analysis(self, event: AssertionAnalysisRequested, correlation: UUID) -> bool:
        assert (event.requested_by, correlation) == (self.request.job_id, CORRELATION)
        if self.refusals:
            self.refusals -= 1
            return False
        try:
            self.log.publish(event)
        except PublishConflict:
            return False
        return True

    async def carry_out(self, wanted: RunRequest[Any, Any], delivery_count: int) -> AsyncIterator[Any]:
        self.bought += 1
        failed = (await self.run(wanted.run_id)).failure
        if failed is not None:
            yield AlreadyFailed(failed)
        elif not self.answer:
            yield RunFailed(run_id=wanted.run_id, attempt=1, failure="NON_RETRYABLE", reason="invalid_answer")
        else:
            answer = wanted.step.read(json.dumps(self.answer), ())
            assert isinstance(answer, ExtractAnswer)
            end = RunEnd(run_id=wanted.run_id, attempt=1, model="gpt-5.4", usage=Usage())
            yield Answered(answer, end)

    @property
    def auditor(self) -> Auditor:
        """The handlers, over all of this."""
        extractor = Extractor(self, self, self, self, self.clock, 1_000_000)
        return Auditor(
            self, self, self, extractor, self, Planner(self, self, self, self.metrics, self.clock), self.scores
        )

    async def deliver(self) -> list[Event]:
        """Deliver the request once; return the facts that were yielded."""
        yielded = []
        async for fact in self.auditor.on_job_requested(self.request, 1):
            self.log.publish(fact)
            yielded.append(fact)
        return yielded

    async def whole(self) -> list[Event]:
        self.log.publish(self.request)
        return await self.deliver()
