"""A job from its request to the plan of its claims: fetch the article, extract the claims, look each up.

Each step begins where the log says the last one ended, so a crash repeats work and buys nothing again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from hashlib import sha256
from typing import Final

from analyses.claim_audit import Article as Material
from analyses.claims.answers import ExtractAnswer
from analyses.claims.extraction import Extraction, extract_claims
from contracts.jobs.words import ArticleWords, ExtractionWords, RequestWords
from contracts.v1 import (
    Event,
    JobEnded,
    JobExtracted,
    JobFetched,
    JobRequested,
)
from contracts.v1.ids import memo_id, step_run_id
from kit.clock import Clock
from kit.errors import Outage
from lifecycle.audits.cache import (
    Asked,
    Hit,
    look,
    shape_of,
)
from lifecycle.audits.jobs import JobStep
from lifecycle.audits.runs import EXTRACT
from lifecycle.audits.words import article_folder, run_folder, text_folder
from services.auditor.domain import CLAIM_AUDIT, LOG_LAG_S, Answered, Article, NoArticle, RunRequest, take_text
from services.auditor.extraction import describe_claims, identify, write_document
from services.auditor.materials import load_article
from services.auditor.planning import Planner
from services.auditor.ports import Articles, Log, LoggedJob, RunsPort, Stages, Texts

EXTRACT_S: Final = 120.0


class Auditor:
    """Works on jobs. Units: `call_micro_usd` is the most that one request to a model may cost."""

    def __init__(
        self,
        log: Log,
        texts: Texts,
        articles: Articles,
        runs: RunsPort,
        stages: Stages,
        clock: Clock,
        call_micro_usd: int,
    ) -> None:
        self._log = log
        self._texts = texts
        self._articles = articles
        self._runs = runs
        self._stages = stages
        self._clock = clock
        self._call_micro_usd = call_micro_usd
        self._planner = Planner(log, texts, clock)

    async def on_job_requested(self, event: JobRequested, delivery_count: int) -> AsyncIterator[Event]:
        """Go on until the job waits for its claims' analyses, or is over."""
        logged = await self._log.job(event.job_id)
        if logged is None:
            raise Outage(LOG_LAG_S, "the log does not show the request yet")
        job = logged.job
        before: JobStep | None = None
        while job.next_step is not before:
            before = job.next_step
            async for fact in self._carry_out(before, logged, event, delivery_count):
                yield fact
                job.apply(fact)

    async def on_exhausted(self, event: JobRequested, reason: str) -> AsyncIterator[Event]:
        """A job that cannot be worked on fails, so that its credit is released."""
        yield JobEnded(job_id=event.job_id, outcome="FAILED", code="INTERNAL", charged_micro_usd=0)

    def _carry_out(
        self, step: JobStep, logged: LoggedJob, request: JobRequested, delivery_count: int
    ) -> AsyncIterator[Event]:
        match step:
            case JobStep.FETCH:
                return self._fetch(logged, request)
            case JobStep.EXTRACT:
                assert logged.job.fetched is not None
                return self._extract(request, logged.job.fetched, delivery_count)
            case JobStep.PLAN:
                return self._plan(logged, request)
            case _:
                return _nothing()

    async def _fetch(self, logged: LoggedJob, request: JobRequested) -> AsyncIterator[Event]:
        """Read the article, and freeze what later steps must not change."""
        words = RequestWords.model_validate_json(await self._texts.get(request.input))
        try:
            article = await self._read(words, logged)
        except NoArticle as error:
            yield JobEnded(job_id=request.job_id, outcome="FAILED", code=error.code, charged_micro_usd=0)
            return
        until = request.input.until
        described = ArticleWords(
            title=article.title,
            address=article.address,
            author=article.author,
            publisher=article.publisher,
            published=article.published,
        )
        models, described_at, text_at = await asyncio.gather(
            self._stages.models(),
            self._texts.put(described.model_dump_json(), until, article_folder(request.job_id)),
            self._texts.put(article.text, until, text_folder(request.job_id)),
        )
        yield JobFetched(
            job_id=request.job_id,
            content_sha256=sha256(article.text.encode()).hexdigest(),
            characters=len(article.text),
            language=article.language,
            reference_day=article.reference_day,
            article=described_at,
            text=text_at,
            stages=tuple(models.values()),
            score_epoch=0,
        )

    async def _read(self, words: RequestWords, logged: LoggedJob) -> Article:
        if words.url is not None:
            return await self._articles.fetch(words.url, logged.at)
        return take_text(words.text or "", logged.at)

    async def _extract(self, request: JobRequested, fetched: JobFetched, delivery_count: int) -> AsyncIterator[Event]:
        """Have a model find the claims; code gives them keys, classes and places."""
        article, material = await load_article(self._texts, fetched)
        wanted: RunRequest[Material, ExtractAnswer] = RunRequest(
            run_id=step_run_id(request.job_id, EXTRACT),
            subject_id=request.job_id,
            step=CLAIM_AUDIT.extract,
            rules=CLAIM_AUDIT.rules,
            material=material,
            model=next(each for each in fetched.stages if each.step == EXTRACT),
            until=request.input.until,
            folder=run_folder(request.job_id, EXTRACT),
            call_micro_usd=self._call_micro_usd,
            run_s=EXTRACT_S,
        )
        async for item in self._runs.carry_out(wanted, delivery_count):
            if isinstance(item, Event):
                yield item
            elif isinstance(item, Answered):
                answer = item.answer
                if fetched.language is not None:  # the page's own word counts
                    answer = answer.model_copy(update={"language": fetched.language})
                sent = material.text if request.input_type == "TEXT" else None
                found = extract_claims(answer, sent, fetched.reference_day, request.options.max_claims)
                cached = await self._find_cached(request, found)
                cost = 0 if request.mode == "CACHE_ONLY" else request.prices.extract_micro_usd
                stored = ExtractionWords(
                    extraction=write_document(request, fetched, article, found, cached, cost),
                    queries=tuple(each.found.queries for each in found.claims),
                )
                yield JobExtracted(
                    job_id=request.job_id,
                    extraction=await self._texts.put(stored.model_dump_json(), request.input.until),
                    memo_id=memo_id(
                        request.account_id,
                        fetched.content_sha256,
                        request.options_hash,
                        CLAIM_AUDIT.extract.prompt.version,
                    ),
                    claims=describe_claims(found),
                    end=item.end,
                )

    async def _find_cached(self, request: JobRequested, found: Extraction) -> frozenset[str]:
        """The hashes of those of the further claims that have an analysis."""
        assertions = [identify(claim, found.language) for claim in found.more_claims]
        known = await asyncio.gather(*(self._log.cached(assertion) for assertion in assertions))
        now, shape, hashes = self._clock.now(), shape_of(request.options), set()
        for claim, assertion, cached in zip(found.more_claims, assertions, known, strict=True):
            asked = Asked(assertion, request.job_id, 0, shape, claim.volatility.value, "CACHE_ONLY", may_buy=False)
            if isinstance(look(now, asked, cached), Hit):
                hashes.add(claim.claim_hash)
        return frozenset(hashes)

    async def _plan(self, logged: LoggedJob, request: JobRequested) -> AsyncIterator[Event]:
        """Look every claim up, and request what is missing and can be paid for."""
        yield await self._planner.plan(logged, request)


async def _nothing() -> AsyncIterator[Event]:
    none: tuple[Event, ...] = ()
    for event in none:
        yield event
