"""A job from its request to the plan of its claims: fetch the article, extract the claims, look each up.

Each step begins where the log says the last one ended, so a crash repeats work and buys nothing again.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from hashlib import sha256
from typing import Final

from analyses.claims.guard import make_guard
from analyses.claims.normalise import NORMATIVE
from contracts.jobs.words import ArticleWords, ClaimWords, ExtractionWords, RequestWords
from contracts.v1 import (
    AssertionAnalysisRequested,
    Event,
    JobEnded,
    JobExtracted,
    JobFetched,
    JobPlanned,
    JobRequested,
)
from contracts.v1.job import ExtractedClaim, PlannedClaim
from kit.clock import Clock
from kit.errors import Outage
from lifecycle.audits.cache import (
    LIFETIME,
    Asked,
    Cached,
    Hit,
    Join,
    Miss,
    Request,
    Unusable,
    fall_back,
    look,
    shape_of,
)
from lifecycle.audits.charges import count_affordable
from lifecycle.audits.jobs import JobStep
from lifecycle.audits.runs import ANALYSE
from lifecycle.audits.words import article_folder, text_folder
from services.auditor.domain import LOG_LAG_S, Article, NoArticle, take_text
from services.auditor.extracting import Extractor
from services.auditor.extraction import EMPTY
from services.auditor.ports import Articles, Keys, Log, LoggedJob, LookMetrics, Stages, Texts

LOOKS: Final = 5
"""How often a claim is looked up again after others requested it first."""


class Auditor:
    """Works on jobs."""

    def __init__(
        self,
        log: Log,
        texts: Texts,
        articles: Articles,
        extractor: Extractor,
        stages: Stages,
        keys: Keys,
        metrics: LookMetrics,
        clock: Clock,
    ) -> None:
        self._log = log
        self._texts = texts
        self._articles = articles
        self._extractor = extractor
        self._stages = stages
        self._keys = keys
        self._metrics = metrics
        self._clock = clock

    async def on_job_requested(self, event: JobRequested, delivery_count: int) -> AsyncIterator[Event]:
        """Go on until the job waits for its claims' analyses, or is over."""
        logged = await self._log.job(event.job_id)
        if logged is None:
            raise Outage(LOG_LAG_S, "the log does not show the request yet")
        job = logged.job
        before: JobStep | None = None
        while job.next_step is not before:
            before = job.next_step
            if await self._log.is_over(event.job_id):
                return  # its account cancelled it meanwhile
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
                return self._extractor.extract(request, logged.job.fetched, delivery_count)
            case JobStep.PLAN:
                assert logged.job.extracted is not None
                assert logged.job.fetched is not None
                return self._plan(logged, request, logged.job.fetched, logged.job.extracted)
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
        models = await self._stages.models()
        yield JobFetched(
            job_id=request.job_id,
            content_sha256=sha256(article.text.encode()).hexdigest(),
            characters=len(article.text),
            language=article.language,
            reference_day=article.reference_day,
            article=await self._texts.put(described.model_dump_json(), until, article_folder(request.job_id)),
            text=await self._texts.put(article.text, until, text_folder(request.job_id)),
            stages=tuple(models.values()),
            score_epoch=0,
        )

    async def _read(self, words: RequestWords, logged: LoggedJob) -> Article:
        if words.url is not None:
            return await self._articles.fetch(words.url, logged.at)
        return take_text(words.text or "", logged.at)

    async def _plan(
        self, logged: LoggedJob, request: JobRequested, fetched: JobFetched, extracted: JobExtracted
    ) -> AsyncIterator[Event]:
        """Look every claim up, and request what is missing and can be paid for."""
        document = ExtractionWords.model_validate_json(await self._texts.get(extracted.extraction)).extraction
        left = count_affordable(request)
        planned: list[PlannedClaim] = []
        for claim, words in zip(extracted.claims, document.claims, strict=True):
            if await self._log.is_over(request.job_id):
                return  # its charge is fixed: what is requested from now on would be free
            given = ClaimWords(
                text=words.claim_text, canonical=words.canonical_claim, reference_day=fetched.reference_day
            )
            language = document.article_metadata.language
            found = await self._find(logged, request, fetched, claim, given, language, may_buy=left > 0)
            left -= found.outcome == "OWN"
            self._metrics.count_look(found.outcome)
            planned.append(found)
        yield JobPlanned(job_id=request.job_id, claims=tuple(planned))

    async def _find(
        self,
        logged: LoggedJob,
        request: JobRequested,
        fetched: JobFetched,
        claim: ExtractedClaim,
        words: ClaimWords,
        language: str,
        *,
        may_buy: bool,
    ) -> PlannedClaim:
        """What serves a claim. Where another job requests it first, it is looked up again."""
        asked = Asked(
            None if claim.claim_hash == EMPTY else claim.assertion_id,
            request.job_id,
            logged.sequence,
            shape_of(request.options),
            claim.volatility,
            request.options.cache_preference,
            may_buy,
        )
        for _ in range(LOOKS):
            cached = Cached() if asked.assertion_id is None else await self._log.cached(asked.assertion_id)
            now = self._clock.now()
            older = fall_back(now, asked, cached)
            match look(now, asked, cached):
                case Hit(analysis_id, stale):
                    return PlannedClaim(number=claim.number, outcome="HIT", analysis_id=analysis_id, stale=stale)
                case Join(run_id, own):
                    return PlannedClaim(
                        number=claim.number,
                        outcome="OWN" if own else "JOINED",
                        run_id=run_id,
                        analysis_id=older.analysis_id if older else None,
                    )
                case Miss():
                    return PlannedClaim(number=claim.number, outcome="MISS")
                case Unusable():
                    return PlannedClaim(number=claim.number, outcome="UNUSABLE")
                case Request() as wanted:
                    event = await self._write_request(request, fetched, claim, words, language, wanted)
                    if await self._log.request_analysis(event, logged.correlation):
                        if not wanted.follows and await self._keys.is_shared(event):
                            self._metrics.count_shared_key()
                        return PlannedClaim(
                            number=claim.number,
                            outcome="OWN",
                            run_id=wanted.run_id,
                            analysis_id=older.analysis_id if older else None,
                        )
        raise Outage(LOG_LAG_S, "others keep requesting the same claim")

    async def _write_request(
        self,
        request: JobRequested,
        fetched: JobFetched,
        claim: ExtractedClaim,
        words: ClaimWords,
        language: str,
        wanted: Request,
    ) -> AssertionAnalysisRequested:
        guard = make_guard(words.text, claim.anchor or "").canonical_json()
        return AssertionAnalysisRequested(
            follows=wanted.follows,
            assertion_id=claim.assertion_id,
            run_id=wanted.run_id,
            published_key=f"claim:{NORMATIVE}:{language}:{claim.claim_hash}",
            norm_version=NORMATIVE,
            language=language,
            canonical_sha256=claim.claim_hash,
            guard_sha256=sha256(guard.encode()).hexdigest(),
            volatility=claim.volatility,
            words=await self._texts.put(words.model_dump_json(), self._clock.now() + LIFETIME + timedelta(days=1)),
            shape=wanted.shape,
            model=next(each for each in fetched.stages if each.step == ANALYSE),
            requested_by=request.job_id,
        )


async def _nothing() -> AsyncIterator[Event]:
    none: tuple[Event, ...] = ()
    for event in none:
        yield event
