"""The fold of jobs in memory: the rules of `auditor-conclude`, applied as the concluder does, over a list of facts."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from analyses.claims.normalise import NORMATIVE
from contracts.v1 import (
    AssertionAnalysed,
    AssertionAnalysisRequested,
    CreditPosted,
    Event,
    JobEnded,
    JobExtracted,
    JobFetched,
    JobPlanned,
    JobRequested,
    RunFailed,
)
from contracts.v1.assertion import AnalysedScenario, Shape
from contracts.v1.ids import memo_id, step_run_id
from contracts.v1.job import ExtractedClaim, PlannedClaim
from contracts.v1.parts import EphemeralRef, Usage
from contracts.v1.run import RunEnd, StageModel
from kit.history import StoredFact
from kit.publisher import PublishConflict
from lifecycle.audits.cache import LIFETIME
from lifecycle.audits.runs import ANALYSE, EXTRACT
from services.auditor.concluding import JobRules, OpenJob
from tests.support.audits import ACCOUNT, hash_of, words
from tests.support.factories import NOW
from tests.support.fakes import MemoryLog


class Log:
    """The stream `JOBS` as its leader has it."""

    def __init__(self, log: MemoryLog | None = None) -> None:
        self.facts = log or MemoryLog()
        self.newest_by_subject: dict[str, StoredFact] = {}
        self.refuse = 0

    def store(self, event: Event) -> bool:
        """Store an event; return False for a repetition, and for a once-event that comes too late."""
        try:
            self.facts.publish(event)
        except PublishConflict:
            return False
        self.newest_by_subject[event.subject()] = self.facts.entries[-1]
        return True

    async def newest(self, *subjects: str) -> list[StoredFact]:
        return [self.newest_by_subject[each] for each in subjects if each in self.newest_by_subject]

    async def history(self, key: str) -> list[StoredFact]:
        return [each for each in self.facts.entries if each.event.key() == key]

    async def publish(self, event: Event, correlation: UUID) -> bool:
        if self.refuse:
            self.refuse -= 1
            return False
        return self.store(event)


@dataclass
class Texts:
    """Records the texts that were removed."""

    folders: list[str] = field(default_factory=list)
    texts: list[EphemeralRef] = field(default_factory=list)

    async def remove(self, ref: EphemeralRef) -> None:
        self.texts.append(ref)

    async def remove_answers(self, step: str, until: datetime) -> None:
        self.folders.append(step)


class Fold:
    """One process's fold, from the beginning of the log or from its mark."""

    def __init__(self, log: Log, texts: Texts | None = None, mark: int = 0) -> None:
        self.log = log
        self.texts = texts or Texts()
        self.position = self.mark = mark
        self.rules = JobRules(log, self.texts)
        self.open: dict[str, tuple[OpenJob, int]] = {}

    async def read(self, count: int | None = None, *, twice: bool = False, close: bool = True) -> None:
        """Fold the next facts, all without `count`. `close` False: the process dies before it closes a job."""
        end = len(self.log.facts.entries) if count is None else self.position + count
        while self.position < min(end, len(self.log.facts.entries)):
            fact = self.log.facts.entries[self.position]
            for _ in range(1 + twice):
                await self._apply(fact, close=close)
            self.position += 1
            self.mark = min((since - 1 for _, since in self.open.values()), default=self.position)

    async def restarted(self) -> Fold:
        """The fold of the process that takes over after this one died."""
        return Fold(self.log, self.texts, self.mark)

    async def _apply(self, fact: StoredFact, *, close: bool) -> None:
        for key, each in await self.rules.route(fact):
            if key in self.open:
                self.open[key][0].apply(each)
            elif (opened := await self.rules.open(each)) is not None:
                self.open[key] = opened, fact.sequence
            else:
                continue
            job = self.open[key][0]
            if self.rules.is_over(job):
                if close:
                    await self.rules.close(key, job)
                    del self.open[key]
            elif (follows := self.rules.conclude(job)) is not None:
                self.log.store(follows)


def period_entries(log: Log) -> list[CreditPosted]:
    """All entries about credit, in the order of the log."""
    return [each.event for each in log.facts.entries if isinstance(each.event, CreditPosted)]


def assertion_of(run: UUID) -> UUID:
    """The assertion that a run of these tests analyses: of two runs each, one after the other."""
    return UUID(int=run.int // 2 + 10_000)


def fetched(job: UUID) -> JobFetched:
    stage = StageModel(step=EXTRACT, provider="demo", model="demo", max_tokens=1)
    return JobFetched(
        job_id=job,
        content_sha256=hash_of("text"),
        characters=4,
        reference_day=NOW.date(),
        article=words("article"),
        stages=(stage,),
        score_epoch=0,
    )


def extracted(job: UUID, *runs: UUID) -> JobExtracted:
    """One claim for each run that will be waited for."""
    claims = tuple(
        ExtractedClaim(
            number=number,
            assertion_id=assertion_of(run),
            claim_hash=hash_of(str(run)),
            central=False,
            claim_type="event",
            evaluability="EVALUABLE",
            risk_tier="C",
            domain="politics",
            volatility="SLOW",
        )
        for number, run in enumerate(runs, 1)
    )
    return JobExtracted(
        job_id=job,
        extraction=words(f"extraction of {job}"),
        memo_id=memo_id(ACCOUNT, hash_of("text"), hash_of("options"), "p-1"),
        claims=claims,
        end=end_of(step_run_id(job, EXTRACT)),
    )


def planned(job: UUID, *runs: UUID, own: bool = True) -> JobPlanned:
    """Every claim waits for its run."""
    return JobPlanned(
        job_id=job,
        claims=tuple(
            PlannedClaim(number=number, outcome="OWN" if own else "JOINED", run_id=run)
            for number, run in enumerate(runs, 1)
        ),
    )


def requested_analysis(run: UUID, job: UUID) -> AssertionAnalysisRequested:
    """A job requests a run."""
    return AssertionAnalysisRequested(
        assertion_id=assertion_of(run),
        run_id=run,
        published_key=f"claim:{NORMATIVE}:en:{hash_of('canonical')}",
        norm_version=NORMATIVE,
        language="en",
        canonical_sha256=hash_of("canonical"),
        guard_sha256=hash_of("guard"),
        volatility="SLOW",
        words=words("claim"),
        shape=Shape(scenarios=1, evidence=3),
        model=StageModel(step=ANALYSE, provider="demo", model="demo", max_tokens=1),
        requested_by=job,
    )


def end_of(run: UUID) -> RunEnd:
    return RunEnd(run_id=run, attempt=1, model="demo", usage=Usage())


def analysed(run: UUID, follows: int = 0) -> AssertionAnalysed:
    return AssertionAnalysed(
        follows=follows,
        assertion_id=assertion_of(run),
        analysis_id=run,
        shape=Shape(scenarios=1, evidence=3),
        volatility="SLOW",
        expires_at=NOW + LIFETIME,
        body=words("body"),
        scenarios=(AnalysedScenario(ordinal=1, confidence=0.2, label="UNSUBSTANTIATED"),),
        recommended=1,
        rollup="INCONCLUSIVE",
        score_epoch=0,
        end=end_of(run),
    )


def failed(run: UUID, reason: str = "model_unavailable") -> RunFailed:
    return RunFailed(run_id=run, attempt=4, failure="TRANSIENT", reason=reason)


def ended(job: UUID, charged: int = 84_000) -> JobEnded:
    return JobEnded(job_id=job, outcome="SUCCEEDED", result=words("result"), charged_micro_usd=charged)


def of_month(request: JobRequested, period: UUID, amount: int) -> JobRequested:
    """The request with its reservation in that month."""
    return request.model_copy(update={"period_id": period, "reserved_micro_usd": amount})
