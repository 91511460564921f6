"""The plan of a job: what serves each claim, after all of them were looked up at once.

Only what is missing and can be paid for is requested. Where another job requests it first, it is looked up again.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta
from hashlib import sha256
from typing import Final

from analyses.claims.guard import make_guard
from analyses.claims.normalise import NORMATIVE
from contracts.jobs.words import ClaimWords, ExtractionWords
from contracts.v1 import AssertionAnalysisRequested, JobPlanned, JobRequested
from contracts.v1.job import AuditOptions, ExtractedClaim, PlannedClaim
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
from lifecycle.audits.runs import ANALYSE
from services.auditor.domain import LOG_LAG_S
from services.auditor.extraction import EMPTY
from services.auditor.ports import Keys, Log, LoggedJob, LookMetrics, Texts

LOOKS: Final = 5
"""How often a claim is looked up again after others requested it first."""


class Planner:
    """Plans jobs whose claims are extracted."""

    def __init__(self, log: Log, texts: Texts, keys: Keys, metrics: LookMetrics, clock: Clock) -> None:
        self._log = log
        self._texts = texts
        self._keys = keys
        self._metrics = metrics
        self._clock = clock

    async def plan(self, logged: LoggedJob, request: JobRequested) -> JobPlanned | None:
        """None: the job was cancelled meanwhile.

        Raises: LookupError: the words of the job have expired. Outage: others keep requesting the same claim.
        """
        job = logged.job
        assert job.fetched is not None
        assert job.extracted is not None
        document = ExtractionWords.model_validate_json(await self._texts.get(job.extracted.extraction)).extraction
        known = await asyncio.gather(*(self._find_cached(claim) for claim in job.extracted.claims))
        left = count_affordable(request)
        planned: list[PlannedClaim] = []
        first: list[AssertionAnalysisRequested] = []
        for claim, written, cached in zip(job.extracted.claims, document.claims, known, strict=True):
            words = ClaimWords(
                text=written.claim_text, canonical=written.canonical_claim, reference_day=job.fetched.reference_day
            )
            language = document.article_metadata.language
            found = await self._find(logged, request.options, claim, words, language, cached, first, may_buy=left > 0)
            if found is None:
                break
            left -= found.outcome == "OWN"
            self._metrics.count_look(found.outcome)
            planned.append(found)
        for is_shared in await asyncio.gather(*(self._keys.is_shared(each) for each in first)):
            if is_shared:
                self._metrics.count_shared_key()
        is_whole = len(planned) == len(job.extracted.claims)
        return JobPlanned(job_id=job.job_id, claims=tuple(planned)) if is_whole else None

    async def _find_cached(self, claim: ExtractedClaim) -> Cached:
        return Cached() if claim.claim_hash == EMPTY else await self._log.cached(claim.assertion_id)

    async def _find(
        self,
        logged: LoggedJob,
        options: AuditOptions,
        claim: ExtractedClaim,
        words: ClaimWords,
        language: str,
        cached: Cached,
        first: list[AssertionAnalysisRequested],
        *,
        may_buy: bool,
    ) -> PlannedClaim | None:
        """What serves a claim; None: the job was cancelled. The first request of an assertion is added to `first`."""
        asked = Asked(
            None if claim.claim_hash == EMPTY else claim.assertion_id,
            logged.job.job_id,
            logged.sequence,
            shape_of(options),
            claim.volatility,
            options.cache_preference,
            may_buy,
        )
        for _ in range(LOOKS):
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
                        analysis_id=older,
                    )
                case Miss():
                    return PlannedClaim(number=claim.number, outcome="MISS")
                case Unusable():
                    return PlannedClaim(number=claim.number, outcome="UNUSABLE")
                case Request() as wanted:
                    if await self._log.is_over(logged.job.job_id):
                        return None  # its charge is fixed: what is requested from now on would be free
                    event = await self._write_request(logged, claim, words, language, wanted)
                    if await self._log.request_analysis(event, logged.correlation):
                        if not wanted.follows:
                            first.append(event)
                        return PlannedClaim(
                            number=claim.number,
                            outcome="OWN",
                            run_id=wanted.run_id,
                            analysis_id=older,
                        )
                    cached = await self._log.cached(claim.assertion_id)
        raise Outage(LOG_LAG_S, "others keep requesting the same claim")

    async def _write_request(
        self, logged: LoggedJob, claim: ExtractedClaim, words: ClaimWords, language: str, wanted: Request
    ) -> AssertionAnalysisRequested:
        assert logged.job.fetched is not None
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
            model=next(each for each in logged.job.fetched.stages if each.step == ANALYSE),
            score_epoch=logged.job.fetched.score_epoch,
            requested_by=logged.job.job_id,
        )
