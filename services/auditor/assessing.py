"""The end of a job: a model assesses the article with its claims' analyses; the result is signed and stored."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from pydantic import JsonValue

from analyses.claim_audit import AnalysedClaim, ArticleToAssess
from analyses.claim_audit import Article as Material
from analyses.claims.answers import AssessAnswer
from analyses.claims.assessment import assess_article
from analyses.claims.costs import Prices
from analyses.claims.spans import find_context
from contracts.jobs import assessment as wire
from contracts.jobs.result import AnalysisBody, LlmCall, UpgradeOptions
from contracts.jobs.values import Stage
from contracts.jobs.words import ExtractionWords
from contracts.steps import StepName
from contracts.v1 import Event, JobEnded, JobExtracted, JobFetched, JobRequested, JobResolved
from contracts.v1.ids import step_run_id
from contracts.v1.job import CachedStage, ExtractedClaim, PlannedClaim, ResolvedClaim
from contracts.v1.run import RunEnd, StageModel
from kit.clock import Clock
from kit.errors import Outage
from lifecycle.audits.jobs import needs_assessment
from lifecycle.audits.runs import ANALYSE, ASSESS, EXTRACT
from lifecycle.audits.words import run_folder
from services.auditor.domain import CLAIM_AUDIT, LOG_LAG_S, Answered, RunRequest
from services.auditor.materials import load_article
from services.auditor.ports import EndingLog, LoggedJob, RunsPort, Signer, Texts
from services.auditor.receipts import describe_receipt
from services.auditor.results import (
    Audit,
    Failed,
    Missed,
    Outcome,
    Served,
    count_claim,
    list_cached_stages,
    write_assessment,
    write_result,
)

ASSESS_S: Final = 120.0
WITHDRAWN: Final = "WITHDRAWN"
_STAGES: Final[Mapping[StepName, Stage]] = {EXTRACT: "stage1", ANALYSE: "stage2", ASSESS: "stage3"}
_CACHED: Final[Mapping[str, CachedStage]] = {"stage1": "EXTRACT", "stage2": "ANALYSE"}


@dataclass(frozen=True, slots=True)
class _Analysed:
    """A job whose claims are resolved, with all texts that its last step needs."""

    logged: LoggedJob
    request: JobRequested
    fetched: JobFetched
    extracted: JobExtracted
    found: ExtractionWords
    outcomes: tuple[Outcome, ...]


@dataclass(frozen=True, slots=True)
class _Assessed:
    """The assessment with the end of its run."""

    assessment: wire.ArticleAssessment
    end: RunEnd


@dataclass(frozen=True, slots=True)
class Assessor:
    """Ends jobs.

    Shapes: `issuer` is the origin that receipts name; `upgrade` has the operator's texts for `CACHE_ONLY` jobs.
    Units: `call_micro_usd` is the most that one request to a model may cost.
    """

    log: EndingLog
    texts: Texts
    runs: RunsPort
    signer: Signer
    clock: Clock
    call_micro_usd: int
    issuer: str
    upgrade: UpgradeOptions

    async def on_job_resolved(self, event: JobResolved, delivery_count: int) -> AsyncIterator[Event]:
        """Assess the article if it needs assessment, and store the result."""
        logged = await self.log.job(event.job_id)
        if logged is None or logged.job.resolved is None:
            raise Outage(LOG_LAG_S, "the log does not show yet what the job waited for")
        if logged.job.over is not None:
            return
        try:
            async for fact in self._conclude(logged, delivery_count):
                yield fact
        except LookupError:
            if not await self.log.is_over(event.job_id):  # its account cancelled it meanwhile, so its words are gone
                raise

    async def on_exhausted(self, event: JobResolved, reason: str) -> AsyncIterator[Event]:
        """Fail the job, so that its credit is released."""
        yield JobEnded(job_id=event.job_id, outcome="FAILED", code="INTERNAL", charged_micro_usd=0)

    async def _conclude(self, logged: LoggedJob, delivery_count: int) -> AsyncIterator[Event]:
        job = await self._gather(logged)
        assessed: _Assessed | None = None
        if _needs_assessment(job):
            async for item in self._assess(job, delivery_count):
                if isinstance(item, Event):
                    yield item
                else:
                    assessed = item
            if assessed is None:
                return  # the step failed for good, and the job with it
        yield await self._end(job, assessed)

    async def _gather(self, logged: LoggedJob) -> _Analysed:
        """Raises: LookupError: the words of the job have expired."""
        job = logged.job
        assert job.requested is not None
        assert job.fetched is not None
        assert job.extracted is not None
        assert job.planned is not None
        assert job.resolved is not None
        found = ExtractionWords.model_validate_json(await self.texts.get(job.extracted.extraction))
        resolved = {each.number: each for each in job.resolved.claims}
        planned = {each.number: each for each in job.planned.claims}
        browsing = job.requested.options.browsing
        outcomes = await asyncio.gather(
            *(
                self._find(claim, planned[claim.number], resolved[claim.number], Missed(None if browsing else queries))
                for claim, queries in zip(job.extracted.claims, found.queries, strict=True)
            )
        )
        for outcome in outcomes:
            if isinstance(outcome, Served):
                job.apply(outcome.event)  # what was done for this job is charged
        return _Analysed(logged, job.requested, job.fetched, job.extracted, found, tuple(outcomes))

    async def _find(
        self, claim: ExtractedClaim, planned: PlannedClaim, resolved: ResolvedClaim, missed: Missed
    ) -> Outcome:
        """The outcome of a claim: its analysis, its failure, or `missed`."""
        if resolved.failure is not None:
            return Failed(resolved.failure)
        if resolved.analysis_id is None:
            return missed
        analysed = await self.log.analysis(claim.assertion_id, resolved.analysis_id)
        if analysed is None:
            return Failed(WITHDRAWN)
        try:
            body = AnalysisBody.model_validate_json(await self.texts.get(analysed.event.body))
        except LookupError:
            return Failed(WITHDRAWN)
        fell_back = planned.outcome != "HIT" and resolved.analysis_id == planned.analysis_id
        is_new = planned.outcome == "OWN" and not fell_back
        return Served(analysed.event, analysed.at, body, new=is_new, stale=planned.stale or fell_back)

    async def _assess(self, job: _Analysed, delivery_count: int) -> AsyncIterator[Event | _Assessed]:
        """Have a model assess the article with its claims' analyses; code computes the score."""
        _, article = await load_article(self.texts, job.fetched)
        wanted: RunRequest[ArticleToAssess, AssessAnswer] = RunRequest(
            run_id=step_run_id(job.request.job_id, ASSESS),
            subject_id=job.request.job_id,
            step=CLAIM_AUDIT.assess,
            rules=CLAIM_AUDIT.rules,
            material=_show(job, article),
            model=_stage(job.fetched, ASSESS),
            until=job.request.input.until,
            folder=run_folder(job.request.job_id, ASSESS),
            call_micro_usd=self.call_micro_usd,
            run_s=ASSESS_S,
        )
        async for item in self.runs.carry_out(wanted, delivery_count):
            if isinstance(item, Event):
                yield item
            elif isinstance(item, Answered):
                claims = zip(job.found.extraction.claims, job.outcomes, strict=True)
                found = assess_article([count_claim(*each) for each in claims], item.answer)
                written = write_assessment(job.found.extraction, found, item.answer, item.end.model, self.clock.now())
                yield _Assessed(written, item.end)

    async def _end(self, job: _Analysed, assessed: _Assessed | None) -> JobEnded:
        """Store the result with its receipt."""
        now = self.clock.now()
        audit = Audit(
            extraction=job.found.extraction,
            outcomes=job.outcomes,
            assessment=assessed.assessment if assessed else None,
            cost=job.logged.job.split_charge("SUCCEEDED", assessed=assessed is not None),
            prices=_prices(job.request),
            calls=await self._list_calls(job, assessed, now),
            from_memo=job.extracted.memo_of is not None,
            generated_at=now,
        )
        result = write_result(audit, self.upgrade if job.request.mode == "CACHE_ONLY" else None)
        receipt = self.signer.sign(describe_receipt(self.issuer, audit, job.fetched, result))
        signed = result.model_copy(update={"receipt": receipt})
        ref = await self.texts.put(signed.model_dump_json(), job.request.input.until)
        found = audit.assessment
        return JobEnded(
            job_id=job.request.job_id,
            outcome="SUCCEEDED",
            result=ref,
            overall_verdict=found.overall_verdict.replace("-", "_") if found else None,
            credibility_score=found.overall_assessment.credibility_score if found else None,
            risk_tier=found.overall_assessment.risk_tier if found else None,
            publication_mode=found.recommendations.publication_mode if found else None,
            requires_review=found.recommendations.requires_review if found else None,
            charged_micro_usd=job.logged.job.charge("SUCCEEDED", assessed=assessed is not None),
            from_cache=audit.from_cache,
            newly_analysed=len(audit.served) - audit.from_cache,
            stages_cached=tuple(_CACHED[stage] for stage in list_cached_stages(audit)),
            end=assessed.end if assessed else None,
        )

    async def _list_calls(self, job: _Analysed, assessed: _Assessed | None, now: datetime) -> tuple[LlmCall, ...]:
        """The model calls that were bought for this job, without their texts."""
        bought: list[tuple[StepName, RunEnd, datetime]] = []
        if job.extracted.end is not None:
            assert job.logged.extracted_at is not None
            bought.append((EXTRACT, job.extracted.end, job.logged.extracted_at))
        new = (each for each in job.outcomes if isinstance(each, Served) and each.new)
        bought.extend((ANALYSE, each.event.end, each.at) for each in new)
        if assessed is not None:
            bought.append((ASSESS, assessed.end, now))
        starts = await self.log.starts([end.run_id for _, end, _ in bought])
        return tuple(
            LlmCall(
                stage=_STAGES[step],
                provider=end.provider or _stage(job.fetched, step).provider,
                model=end.model,
                input_tokens=end.usage.input_tokens,
                output_tokens=end.usage.output_tokens,
                cost=end.usage.cost_micro_usd or 0,
                seconds=max(0.0, (at - starts.get(end.run_id, at)).total_seconds()),
            )
            for step, end, at in bought
        )


def _needs_assessment(job: _Analysed) -> bool:
    kinds = Counter(type(each) for each in job.outcomes)
    return needs_assessment(job.request.mode, analysed=kinds[Served], missing=kinds[Missed], failed=kinds[Failed])


def _stage(fetched: JobFetched, step: StepName) -> StageModel:
    return next(each for each in fetched.stages if each.step == step)


def _prices(request: JobRequested) -> Prices:
    prices = request.prices
    return Prices(prices.extract_micro_usd, prices.analyse_micro_usd, prices.assess_micro_usd)


def _show(job: _Analysed, article: Material) -> ArticleToAssess:
    """What stage 3 is shown: the article with its claims' analyses."""
    with_context = job.request.options.context_aware_analysis
    claims = zip(job.found.extraction.claims, job.outcomes, strict=True)
    return ArticleToAssess(
        article,
        job.found.extraction.article_thesis,
        tuple(
            AnalysedClaim(
                claim.claim_text,
                claim.is_central_to_thesis,
                _show_analysis(outcome) if isinstance(outcome, Served) else None,
                find_context(claim.claim_text, article.text) if with_context else None,
            )
            for claim, outcome in claims
        ),
    )


def _show_analysis(served: Served) -> JsonValue:
    scenarios: JsonValue = served.body.model_dump(mode="json")["scenarios"]
    return {"recommended": served.recommended.scenario_id, "scenarios": scenarios}
