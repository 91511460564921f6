"""A job from its request to the plan of its claims: fetch the article, extract the claims, look each up.

Each step begins where the log says the last one ended, so a crash repeats work and buys nothing again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from contracts.jobs.words import RequestWords
from contracts.v1 import (
    Event,
    JobEnded,
    JobFetched,
    JobRequested,
)
from contracts.v1.parts import EphemeralRef
from kit.errors import Outage
from lifecycle.audits.jobs import JobStep
from lifecycle.audits.words import article_folder
from services.auditor.domain import LOG_LAG_S, Article, NoArticle, take_text
from services.auditor.extracting import Extractor
from services.auditor.planning import Planner
from services.auditor.ports import Articles, Log, LoggedJob, Scores, Stages, Texts

STEPS: Final = (JobStep.FETCH, JobStep.EXTRACT, JobStep.PLAN)


@dataclass(frozen=True, slots=True)
class Auditor:
    """Takes jobs from their request to their plan."""

    log: Log
    texts: Texts
    articles: Articles
    extractor: Extractor
    stages: Stages
    planner: Planner
    scores: Scores

    async def on_job_requested(self, event: JobRequested, delivery_count: int) -> AsyncIterator[Event]:
        """Carry out the job's next steps until it waits for its claims' analyses, or is over."""
        logged = await self.log.job(event.job_id)
        if logged is None:
            raise Outage(LOG_LAG_S, "the log does not show the request yet")
        job, done = logged.job, None
        while (step := job.next_step) in STEPS and step is not done:
            if done is JobStep.FETCH and await self.log.is_over(event.job_id):
                return  # its account cancelled it meanwhile; before it buys, the plan checks this itself
            async for fact in self._carry_out(step, logged, event, delivery_count):
                yield fact
                job.apply(fact)
            done = step

    async def on_exhausted(self, event: JobRequested, reason: str) -> AsyncIterator[Event]:
        """Fail the job, so that its credit is released."""
        yield JobEnded(job_id=event.job_id, outcome="FAILED", code="INTERNAL", charged_micro_usd=0)

    def _carry_out(
        self, step: JobStep, logged: LoggedJob, request: JobRequested, delivery_count: int
    ) -> AsyncIterator[Event]:
        match step:
            case JobStep.FETCH:
                return self._fetch(logged, request)
            case JobStep.EXTRACT:
                assert logged.job.fetched is not None
                return self.extractor.extract(request, logged.job.fetched, delivery_count)
            case _:
                return self._plan(logged, request)

    async def _fetch(self, logged: LoggedJob, request: JobRequested) -> AsyncIterator[Event]:
        """Read the article, and freeze what later steps must not change."""
        words = RequestWords.model_validate_json(await self.texts.get(request.input))
        try:
            article = await self._read(words, logged)
        except NoArticle as error:
            yield JobEnded(job_id=request.job_id, outcome="FAILED", code=error.code, charged_micro_usd=0)
            return
        models, epoch, stored = await asyncio.gather(
            self.stages.models(),
            self.scores.closed_epoch(),
            self._keep(request, words, article),
        )
        yield JobFetched(
            job_id=request.job_id,
            content_sha256=sha256(article.words.text.encode()).hexdigest(),
            characters=len(article.words.text),
            language=article.language,
            reference_day=article.reference_day,
            article=stored,
            stages=tuple(models.values()),
            score_epoch=epoch,
        )

    async def _keep(self, request: JobRequested, words: RequestWords, article: Article) -> EphemeralRef:
        """Store the article; one that was sent as text is stored already, as the request's input."""
        if words.url is None:
            return request.input
        described = article.words.model_dump_json()
        return await self.texts.put(described, request.input.until, article_folder(request.job_id))

    async def _read(self, words: RequestWords, logged: LoggedJob) -> Article:
        if words.url is not None:
            return await self.articles.fetch(words.url, logged.at)
        return take_text(words.text or "", logged.at)

    async def _plan(self, logged: LoggedJob, request: JobRequested) -> AsyncIterator[Event]:
        """Look every claim up, and request what is missing and can be paid for."""
        planned = await self.planner.plan(logged, request)
        if planned is not None:
            yield planned
