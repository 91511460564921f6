"""The surroundings of a job's end: claims that were analysed, failed or missed, and a model for the last step."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from pydantic import TypeAdapter

from contracts.jobs.result import AnalysisBody, Evidence, EvidenceItem, Result, Scenario, UpgradeOptions, Verdict
from contracts.v1 import (
    AssertionAnalysed,
    AssertionAnalysisRequested,
    Event,
    JobEnded,
    JobExtracted,
    JobPlanned,
    JobResolved,
    RunFailed,
)
from contracts.v1.assertion import AnalysedScenario, Shape
from contracts.v1.job import PlannedClaim
from contracts.v1.parts import Usage
from contracts.v1.run import RunEnd
from kit.receipts import ReceiptKey
from lifecycle.audits.cache import LIFETIME, Analysed
from lifecycle.audits.conclusion import resolve
from lifecycle.audits.jobs import Job
from services.auditor.assessing import Assessor
from services.auditor.domain import AlreadyFailed, Answered, RunRequest
from services.auditor.ports import LoggedJob
from tests.support.auditing import CORRELATION, MODELS, World
from tests.support.factories import NOW

KEY: Final = ReceiptKey(bytes(range(32)))
ISSUER: Final = "https://errata.example"
UPGRADE: Final = UpgradeOptions(top_up="More credit.", pro_tier="Another tier.")
ASSESSED: Final[Mapping[str, Any]] = {
    "summary": "Mostly accurate.",
    "confidence": 0.8,
    "credibility_score": 0.9,
    "thesis_follows": True,
    "missing_context": False,
    "contextual_factors": [{"factor": "Source credibility", "impact": "positive"}],
    "fallacies": [{"type": "straw man", "why": "It answers what was not said.", "severity": "minor"}],
    "reasoning_quality": dict.fromkeys(("evidence_strength", "logical_coherence", "transparency", "nuance"), "high"),
    "disclaimers": ["Prices change."],
}
BODY: Final = AnalysisBody(
    scenarios=(
        Scenario(
            scenario_id="s1",
            description="By day",
            assumptions=("There is no cloud.",),
            verdict=Verdict(
                label="Highly Likely",
                truth_label="TRUE",
                probability=0.95,
                confidence=0.95,
                model_confidence=0.95,
                explanation="Air scatters blue light more.",
                caps_applied=(),
                uncertainty_factors=(),
            ),
            evidence=Evidence(
                supporting=(
                    EvidenceItem(
                        text="Blue light is scattered more.",
                        source_url="https://light.example/sky",
                        source_title="Light",
                        credibility_score=0.5,
                        quotes=("Blue light is scattered more.",),
                        summary=None,
                        relevance=0.9,
                        published_at=None,
                        family=1,
                        looked_up="found",
                    ),
                ),
                opposing=(),
            ),
        ),
    ),
    families=2,
)


class EndWorld(World):
    """A job after its plan, whose claims end as a test says."""

    def __init__(self, answer: Mapping[str, Any] | None = None, **given: Any) -> None:
        super().__init__(answer, **given)
        self.assessed: Mapping[str, Any] = ASSESSED
        self.shown: list[str] = []
        self.withdrawn: set[UUID] = set()
        self.body, self.recommended = BODY, 1

    async def planned(self) -> JobPlanned:
        """Go up to the plan."""
        *_, planned = await self.whole()
        assert isinstance(planned, JobPlanned)
        return planned

    async def end(self, run: UUID, *, fails: str | None = None) -> None:
        """End the analysis of a claim."""
        if fails is not None:
            self.log.publish(RunFailed(run_id=run, attempt=1, failure="NON_RETRYABLE", reason=fails))
            return
        requests = (each for each in self.log.events if isinstance(each, AssertionAnalysisRequested))
        request = next(each for each in requests if each.run_id == run)
        self.log.publish(await self.analysed(request.assertion_id, run))

    async def analysed(self, assertion: UUID, run: UUID) -> AssertionAnalysed:
        """An analysis, with its words stored."""
        return AssertionAnalysed(
            assertion_id=assertion,
            analysis_id=run,
            shape=Shape(scenarios=2, evidence=6),
            volatility="TIMELESS",
            expires_at=NOW + LIFETIME,
            body=await self.put(self.body.model_dump_json(), NOW + LIFETIME),
            scenarios=tuple(
                AnalysedScenario(ordinal=ordinal, probability=0.95, confidence=0.95, label="HIGHLY_LIKELY")
                for ordinal, _ in enumerate(self.body.scenarios, 1)
            ),
            recommended=self.recommended,
            rollup="SUPPORTED",
            score_epoch=0,
            end=RunEnd(
                run_id=run,
                attempt=1,
                model="gpt-5.4-2026",
                usage=Usage(input_tokens=900, output_tokens=90, total_tokens=990, cost_micro_usd=21_000),
            ),
        )

    async def resolved(self, *failures: str | None) -> JobResolved:
        """Let the runs of the claims end, in their order, and conclude."""
        planned = await self.planned()
        runs = [each.run_id for each in planned.claims if each.run_id is not None]
        for run, failure in zip(runs, failures or (None,) * len(runs), strict=True):
            await self.end(run, fails=failure)
        return await self.concluded()

    async def replanned(self, *claims: PlannedClaim) -> JobResolved:
        """Replace the job's plan with the test's own, and conclude."""
        self.log.entries = [each for each in self.log.entries if not isinstance(each.event, JobPlanned)]
        self.log.publish(JobPlanned(job_id=self.request.job_id, claims=claims))
        return await self.concluded()

    async def concluded(self) -> JobResolved:
        job = Job(self.request.job_id)
        for event in self.log.events:
            job.apply(event)
        fact = resolve(job)
        assert isinstance(fact, JobResolved), fact
        self.log.publish(fact)
        return fact

    @property
    def extracted(self) -> JobExtracted:
        """The fact that holds the job's claims."""
        return next(each for each in self.log.events if isinstance(each, JobExtracted))

    async def job(self, job_id: UUID) -> LoggedJob | None:
        """The job by its own facts; those of its claims and runs are read apart."""
        job = Job(job_id)
        for event in self.log.events:
            if event.key() == str(job_id):
                job.apply(event)
        return LoggedJob(job, 1, NOW, CORRELATION, NOW)

    async def analysis(self, assertion_id: UUID, analysis_id: UUID) -> Analysed | None:
        found = next(
            each
            for each in self.log.entries
            if isinstance(each.event, AssertionAnalysed) and each.event.analysis_id == analysis_id
        )
        assert isinstance(found.event, AssertionAnalysed)
        return None if analysis_id in self.withdrawn else Analysed(found.sequence, NOW, found.event)

    async def starts(self, runs: Sequence[UUID]) -> Mapping[UUID, datetime]:
        return dict.fromkeys(runs, NOW - timedelta(seconds=7))

    async def carry_out(self, wanted: RunRequest[Any, Any], delivery_count: int) -> AsyncIterator[Any]:
        if wanted.step.name != "CLAIM_AUDIT/assess":
            async for item in super().carry_out(wanted, delivery_count):
                yield item
            return
        failed = (await self.run(wanted.run_id)).failure
        if failed is not None:
            yield AlreadyFailed(failed)
            return
        self.shown.append("".join(part for part in wanted.step.brief(wanted.material) if isinstance(part, str)))
        if not self.assessed:
            yield RunFailed(run_id=wanted.run_id, attempt=1, failure="NON_RETRYABLE", reason="model_refused")
            return
        usage = Usage(input_tokens=4_000, output_tokens=400, total_tokens=4_400, cost_micro_usd=9_000)
        yield Answered(
            wanted.step.read(json.dumps(self.assessed), ()),
            RunEnd(run_id=wanted.run_id, attempt=1, model=MODELS[wanted.step.name].model, usage=usage),
        )

    @property
    def assessor(self) -> Assessor:
        """The handler, over all of this."""
        return Assessor(self, self, self, KEY, self.clock, 1_000_000, ISSUER, UPGRADE)

    async def assess(self, event: JobResolved) -> list[Event]:
        """Deliver once; return the facts that were yielded."""
        yielded = []
        async for fact in self.assessor.on_job_resolved(event, 1):
            self.log.publish(fact)
            yielded.append(fact)
        return yielded

    async def result(self, event: JobResolved) -> tuple[JobEnded, Any]:
        """The end of the job, and its result as JSON."""
        *_, end = await self.assess(event)
        assert isinstance(end, JobEnded)
        assert end.result is not None
        text = self.texts[end.result.sha256]
        TypeAdapter(Result).validate_json(text)
        return end, json.loads(text)
