"""The analysis of one claim: a model looks for evidence; code checks it, judges by it and stores the result.

One request is one run, however many jobs wait for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Final

from analyses.claim_audit import ClaimToAnalyse
from analyses.claims.analysis import analyse_claim, list_cited
from analyses.claims.answers import AnalyseAnswer
from contracts.jobs.words import ClaimWords
from contracts.v1 import AssertionAnalysed, AssertionAnalysisRequested, Event, RunFailed
from contracts.v1.assertion import Shape
from contracts.v1.ids import publisher_id
from kit.clock import Clock
from kit.errors import Outage, Retry
from lifecycle.audits.cache import LIFETIME, Requested
from lifecycle.audits.turns import AnalysisTurn
from services.auditor.domain import CLAIM_AUDIT, LOG_LAG_S, Answered, RunRequest
from services.auditor.metrics import AuditorMetrics
from services.auditor.ports import AnalysisLog, Evidence, RunsPort, Scores, Texts
from services.auditor.scenarios import (
    count_dropped,
    describe_scenarios,
    list_citations,
    number_scenarios,
    write_body,
)

TRANSCRIPT_KEPT: Final = timedelta(hours=24)
STANDARD_S: Final = 240.0
DEEP_S: Final = 480.0
"""The time limit of an attempt; with all retries, a run must end before other jobs consider it lost."""
INTERNAL: Final = "internal"


@dataclass(frozen=True, slots=True)
class Analyst:
    """Analyses claims. Units: `call_micro_usd` is the most that one request to a model may cost.

    `low_confidence`: verdicts below it are Unclear.
    """

    log: AnalysisLog
    texts: Texts
    evidence: Evidence
    runs: RunsPort
    clock: Clock
    call_micro_usd: int
    low_confidence: Decimal
    metrics: AuditorMetrics
    scores: Scores

    async def on_assertion_analysis_requested(
        self, event: AssertionAnalysisRequested, delivery_count: int
    ) -> AsyncIterator[Event]:
        """Carry out the run and judge its answer, once the analysis requested before it has ended."""
        turn = await self.log.turn(event)
        if turn.requested is None:
            raise Outage(LOG_LAG_S, "the log does not show the request yet")
        if turn.is_done:
            return
        await self._wait(turn)
        shape = turn.grow(event.shape)
        wanted = await self._prepare(event, turn.requested, shape)
        async for item in self.runs.carry_out(wanted, delivery_count):
            if isinstance(item, Event):
                yield item
            elif isinstance(item, Answered):
                yield await self._conclude(event, turn, shape, item)

    async def on_exhausted(self, event: AssertionAnalysisRequested, reason: str) -> AsyncIterator[Event]:
        """Publish that the run failed, so that no job waits for it any longer."""
        turn, run = await self.log.turn(event), await self.log.run(event.run_id)
        if not turn.is_done and run.failure is None:
            yield RunFailed(run_id=event.run_id, attempt=run.history.attempts, failure="NON_RETRYABLE", reason=INTERNAL)

    async def _wait(self, turn: AnalysisTurn) -> None:
        """Raises: Retry: an earlier analysis of the claim is under way."""
        if turn.awaited is None:
            return
        failed = (await self.log.run(turn.awaited)).failure is not None
        wait_s = turn.wait_s(self.clock.now(), failed=failed)
        if wait_s:
            raise Retry(wait_s, "another analysis of the same claim is under way")

    async def _prepare(
        self, event: AssertionAnalysisRequested, requested: Requested, shape: Shape
    ) -> RunRequest[ClaimToAnalyse, AnalyseAnswer]:
        words = ClaimWords.model_validate_json(await self.texts.get(event.words))
        is_deep = shape.depth == "DEEP"
        return RunRequest(
            run_id=event.run_id,
            subject_id=event.assertion_id,
            step=CLAIM_AUDIT.analyse_deep if is_deep else CLAIM_AUDIT.analyse,
            rules=CLAIM_AUDIT.rules,
            material=ClaimToAnalyse(words.text, event.language, words.reference_day, shape.scenarios, shape.evidence),
            model=event.model,
            until=requested.at + TRANSCRIPT_KEPT,
            folder=str(event.run_id),
            call_micro_usd=self.call_micro_usd,
            run_s=DEEP_S if is_deep else STANDARD_S,
            research=self.evidence.tools,
        )

    async def _conclude(
        self, event: AssertionAnalysisRequested, turn: AnalysisTurn, shape: Shape, answered: Answered[AnalyseAnswer]
    ) -> AssertionAnalysed:
        """Check the cited evidence, judge the claim by it and store the analysis."""
        cited = list_cited(answered.answer, shape.scenarios)
        pages = await self.evidence.read(cited, answered.looked_up)
        found = await asyncio.to_thread(  # comparing long pages takes a while
            analyse_claim,
            answered.answer,
            {address: page.read if page else None for address, page in pages.items()},
            max_scenarios=shape.scenarios,
            max_evidence=shape.evidence,
            low_confidence=self.low_confidence,
        )
        publishers = {publisher_id(page.domain) for page in pages.values() if page}
        scores = await self.scores.read(publishers, event.score_epoch)
        citations, dropped = list_citations(found, pages, scores), count_dropped(found)
        self.metrics.count_evidence(len(citations), dropped)
        now = self.clock.now()
        expires_at = now + LIFETIME
        body = await self.texts.put(write_body(found, pages, scores, now).model_dump_json(), expires_at)
        return AssertionAnalysed(
            follows=turn.latest.sequence if turn.latest else 0,
            assertion_id=event.assertion_id,
            analysis_id=event.run_id,
            shape=shape,
            volatility=event.volatility,
            expires_at=expires_at,
            body=body,
            scenarios=describe_scenarios(found),
            recommended=number_scenarios(found)[found.recommended],
            rollup=found.rollup.name,
            citations=citations,
            dropped=dropped,
            score_epoch=event.score_epoch,
            end=answered.end,
        )
