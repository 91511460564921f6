"""Plans a job: all claims are looked up at once, and the plan says what serves each.

Analyses that are missing and can be paid for are requested together. A claim that another job requests first is looked
up again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Final
from uuid import UUID

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
    Outcome,
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
from services.auditor.metrics import AuditorMetrics
from services.auditor.ports import Keys, Log, LoggedJob, Texts

LOOKS: Final = 5
"""How often a claim is looked up again because other jobs requested it first."""


@dataclass(slots=True)
class _OpenClaim:
    """A claim while it is planned. Shapes: `stored` and `requested` are this job's own request, once it is stored."""

    claim: ExtractedClaim
    canonical: str
    text: str
    cached: Cached
    stored: Request | None = None
    requested: AssertionAnalysisRequested | None = None


class Planner:
    """Plans jobs whose claims are extracted."""

    def __init__(self, log: Log, texts: Texts, keys: Keys, metrics: AuditorMetrics, clock: Clock) -> None:
        self._log = log
        self._texts = texts
        self._keys = keys
        self._metrics = metrics
        self._clock = clock

    async def plan(self, logged: LoggedJob, request: JobRequested) -> JobPlanned | None:
        """Request the missing analyses, and return the plan; None if the job was cancelled meanwhile.

        Raises: LookupError: the words of the job have expired. Outage: others keep requesting the same claim.
        """
        job = logged.job
        assert job.extracted is not None
        document = ExtractionWords.model_validate_json(await self._texts.get(job.extracted.extraction)).extraction
        known = await asyncio.gather(*(self._find_cached(claim) for claim in job.extracted.claims))
        open_claims = [
            _OpenClaim(claim, written.canonical_claim, written.claim_text, cached)
            for claim, written, cached in zip(job.extracted.claims, document.claims, known, strict=True)
        ]
        language, now = document.article_metadata.language, self._clock.now()
        planned, wanted = _look(now, logged, request, open_claims)
        for _ in range(LOOKS):
            if not wanted:
                break
            if await self._log.is_over(job.job_id):
                return None  # its charge is fixed: what is requested from now on would be free
            await asyncio.gather(*(self._request(logged, each, language, found) for each, found in wanted))
            planned, wanted = _look(now, logged, request, open_claims)
        if wanted:
            raise Outage(LOG_LAG_S, "others keep requesting the same claim")
        return await self._conclude(job.job_id, planned, open_claims)

    async def _find_cached(self, claim: ExtractedClaim) -> Cached:
        return Cached() if claim.claim_hash == EMPTY else await self._read_cached(claim.assertion_id)

    async def _read_cached(self, assertion_id: UUID) -> Cached:
        """What is known of an assertion. No backup holds words: after a restore, those of analyses are gone."""
        cached = await self._log.cached(assertion_id)
        if cached.analysed is not None:
            try:
                await self._texts.get(cached.analysed.event.body)
            except LookupError:
                return cached.with_words_gone()
        return cached

    async def _request(self, logged: LoggedJob, open_claim: _OpenClaim, language: str, wanted: Request) -> None:
        """Request an analysis; where another job was first, read what it requested."""
        event = await self._write_request(logged, open_claim, language, wanted)
        if await self._log.request_analysis(event, logged.correlation):
            open_claim.stored, open_claim.requested = wanted, event
        else:
            open_claim.cached = await self._read_cached(open_claim.claim.assertion_id)

    async def _conclude(
        self, job_id: UUID, planned: Sequence[PlannedClaim], claims: Sequence[_OpenClaim]
    ) -> JobPlanned:
        for each in planned:
            self._metrics.count_look(each.outcome)
        first = [each.requested for each in claims if each.requested is not None and not each.requested.follows]
        for is_shared in await asyncio.gather(*(self._keys.is_shared(each) for each in first)):
            if is_shared:
                self._metrics.count_shared_key()
        return JobPlanned(job_id=job_id, claims=tuple(planned))

    async def _write_request(
        self, logged: LoggedJob, open_claim: _OpenClaim, language: str, wanted: Request
    ) -> AssertionAnalysisRequested:
        assert logged.job.fetched is not None
        claim = open_claim.claim
        words = ClaimWords(
            text=open_claim.text, canonical=open_claim.canonical, reference_day=logged.job.fetched.reference_day
        )
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


def _look(
    now: datetime, logged: LoggedJob, request: JobRequested, claims: Sequence[_OpenClaim]
) -> tuple[list[PlannedClaim], list[tuple[_OpenClaim, Request]]]:
    """What serves each claim by what is known of the cache, and the claims that are still to be requested."""
    left = count_affordable(request)
    planned: list[PlannedClaim] = []
    wanted: list[tuple[_OpenClaim, Request]] = []
    for each in claims:
        asked = _ask(logged, request.options, each.claim, may_buy=left > 0)
        found = each.stored or look(now, asked, each.cached)
        planned.append(_describe(each.claim.number, found, fall_back(now, asked, each.cached)))
        if isinstance(found, Request) and each.stored is None:
            wanted.append((each, found))
        left -= planned[-1].outcome == "OWN"
    return planned, wanted


def _ask(logged: LoggedJob, options: AuditOptions, claim: ExtractedClaim, *, may_buy: bool) -> Asked:
    return Asked(
        None if claim.claim_hash == EMPTY else claim.assertion_id,
        logged.job.job_id,
        logged.sequence,
        shape_of(options),
        claim.volatility,
        options.cache_preference,
        may_buy,
    )


def _describe(number: int, found: Outcome, older: UUID | None) -> PlannedClaim:
    match found:
        case Hit(analysis_id, stale):
            return PlannedClaim(number=number, outcome="HIT", analysis_id=analysis_id, stale=stale)
        case Join(run_id, own):
            return PlannedClaim(number=number, outcome="OWN" if own else "JOINED", run_id=run_id, analysis_id=older)
        case Request():
            return PlannedClaim(number=number, outcome="OWN", run_id=found.run_id, analysis_id=older)
        case Miss():
            return PlannedClaim(number=number, outcome="MISS")
        case Unusable():
            return PlannedClaim(number=number, outcome="UNUSABLE")
