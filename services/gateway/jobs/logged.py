"""A job as the log has it, and as its account sees it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from contracts.jobs.answers import (
    EchoedLabels,
    JobFailure,
    JobFailureCode,
    JobStatus,
    JobView,
    Mode,
    Progress,
    WebhookState,
    links_of,
)
from contracts.jobs.words import RequestWords
from contracts.v1 import (
    AssertionAnalysed,
    JobEnded,
    JobExtracted,
    JobFetched,
    JobPlanned,
    JobRequested,
    JobResolved,
    RunFailed,
    RunStarted,
)
from contracts.v1.ids import step_run_id
from contracts.v1.job import PlannedClaim
from kit.history import StoredFact
from lifecycle.audits.jobs import Job
from lifecycle.audits.runs import ASSESS, EXTRACT
from services.gateway.jobs.options import to_wire

LIFETIME: Final = timedelta(hours=24)
"""How long a job's words and its result can be read, from its acceptance. Source: FH-140."""
_KINDS: Final = (JobRequested, JobFetched, JobExtracted, JobPlanned, JobResolved, JobEnded)
_FAILURES: Final[Mapping[JobFailureCode, str]] = {
    "FETCH_FAILED": "The page could not be fetched. Try again later, or send its text.",
    "NOT_PUBLIC": "The page asks for a login, a payment or consent, or refuses programs. Send its text.",
    "UNSUPPORTED_CONTENT": "The page holds no article that can be read. Send its text.",
    "INPUT_EMPTY": "The article has no words. Send another one, or its text.",
    "INPUT_TOO_LONG": "The article has more than 10,000 words or 100,000 characters. Send a part of it as text.",
    "MODEL_REFUSED": "The model refused to answer. Send a part of the article, or ask the operator for another model.",
    "INVALID_ANSWER": "The model's answers could not be used. Try again.",
    "COST_LIMIT": "The job would have cost more than is allowed. Send a part of the article, or ask for less evidence.",
    "SERVICE_UNAVAILABLE": "A service that the job needs did not answer. Try again later.",
    "DEADLINE_EXCEEDED": "The job did not end before its deadline. Try again later.",
    "INTERNAL": "Something broke; this is our mistake. Try again later.",
}
_OTHERWISE: Final[JobFailureCode] = "INTERNAL"


def own_subjects(job_id: UUID) -> tuple[str, ...]:
    """The subjects of a job's own facts, and of its own runs; only the newest fact on each counts."""
    runs = [step_run_id(job_id, step) for step in (EXTRACT, ASSESS)]
    return (
        *(f"{kind.SUBJECT}.{job_id}" for kind in _KINDS),
        *(f"{kind.SUBJECT}.{run}" for kind in (RunStarted, RunFailed) for run in runs),
    )


@dataclass(frozen=True, slots=True)
class LoggedJob:
    """A job with its facts, in the order of the log."""

    job: Job
    request: JobRequested
    facts: tuple[StoredFact, ...]

    @classmethod
    def fold(cls, job_id: UUID, facts: Iterable[StoredFact]) -> LoggedJob | None:
        """Fold a job from its facts; None if its request is not among them."""
        ordered = tuple(sorted(facts, key=lambda fact: fact.sequence))
        job = Job(job_id)
        for fact in ordered:
            job.apply(fact.event)
        return None if job.requested is None else cls(job, job.requested, ordered)

    @property
    def request_sequence(self) -> int:
        """The sequence of the request; all that the job waits for is stored after it."""
        return next(fact.sequence for fact in self.facts if fact.event is self.request)

    @property
    def created_at(self) -> datetime:
        """When the job was accepted."""
        return next(fact.envelope.occurred_at for fact in self.facts if fact.event is self.request)

    @property
    def correlation(self) -> UUID:
        """The correlation of the request."""
        return next(fact.envelope.correlation for fact in self.facts if fact.event is self.request)

    @property
    def ended_at(self) -> datetime | None:
        """When the job ended, or None."""
        return next((fact.envelope.occurred_at for fact in self.facts if fact.event is self.job.over), None)

    @property
    def updated_at(self) -> datetime:
        """When the job last changed. Facts after its end, and analyses that it does not wait for, do not count."""
        waiting = self.waiting_claims
        return self.ended_at or max(
            fact.envelope.occurred_at
            for fact in self.facts
            if not isinstance(fact.event, AssertionAnalysed) or fact.event.analysis_id in waiting
        )

    @property
    def expires_at(self) -> datetime:
        """When the job's words and result can no longer be read."""
        return self.created_at + LIFETIME

    @property
    def status(self) -> JobStatus:
        """The status as clients see it."""
        if self.job.over is not None:
            return self.job.over.outcome
        under_way = self.job.fetched is not None or bool(self.job.started)
        return "RUNNING" if under_way else "QUEUED"

    @property
    def mode(self) -> Mode:
        """Whether the account's credit pays for the job, or only the cache answers."""
        return "credit" if self.request.mode == "CREDIT" else "cache_only"

    @property
    def waiting_claims(self) -> Mapping[UUID, PlannedClaim]:
        """The claims that wait for a run, by the run's id."""
        planned = self.job.planned.claims if self.job.planned is not None else ()
        return {each.run_id: each for each in planned if each.run_id is not None}

    def awaited_subjects(self) -> tuple[str, ...]:
        """The subjects of the ends of those runs that the job's claims wait for."""
        extracted = self.job.extracted.claims if self.job.extracted is not None else ()
        assertions = {each.number: each.assertion_id for each in extracted}
        waiting = self.waiting_claims
        analysed = dict.fromkeys(assertions[each.number] for each in waiting.values() if each.number in assertions)
        return (
            *(f"{RunFailed.SUBJECT}.{run}" for run in waiting),
            *(f"{AssertionAnalysed.SUBJECT}.{assertion}" for assertion in analysed),
        )

    def watched_keys(self) -> frozenset[str]:
        """The last tokens of subjects whose next fact may change the job."""
        return frozenset({str(self.job.job_id), *(each.rpartition(".")[2] for each in self.awaited_subjects())})

    def has_expired(self, now: datetime) -> bool:
        """Whether the job's words and result can no longer be read."""
        return self.expires_at <= now


def describe_job(logged: LoggedJob, words: RequestWords | None) -> JobView:
    """`GET /v1/jobs/{id}`. `words` is None where they are no longer kept."""
    job, request, over = logged.job, logged.request, logged.job.over
    return JobView(
        job_id=job.job_id,
        status=logged.status,
        created_at=logged.created_at,
        updated_at=logged.updated_at,
        mode=logged.mode,
        options=to_wire(request.options),
        client=EchoedLabels(
            request_id=words.request_id if words is not None else None,
            source_label=words.source_label if words is not None else None,
        ),
        links=links_of(job.job_id),
        deadline_at=request.deadline_at,
        progress=_describe_progress(logged),
        ended_at=logged.ended_at,
        expires_at=logged.expires_at if over is not None and over.result is not None else None,
        charged=over.charged_micro_usd if over is not None else None,
        error=describe_failure(over) if over is not None else None,
        webhook=WebhookState(state="none" if over is not None else "pending") if request.has_webhook else None,
    )


def describe_failure(over: JobEnded) -> JobFailure | None:
    """Why a job failed, for its account, or None. A code that the wire does not have becomes INTERNAL."""
    if over.outcome != "FAILED":
        return None
    known = next((each for each in _FAILURES if each == over.code), _OTHERWISE)
    return JobFailure(code=known, message=_FAILURES[known])


def _describe_progress(logged: LoggedJob) -> Progress:
    job = logged.job
    total = len(job.extracted.claims) if job.extracted is not None else None
    if job.over is not None or job.resolved is not None:
        done = total
    elif job.planned is not None:
        done = len(job.planned.claims) - len(logged.waiting_claims.keys() - job.ended.keys())
    else:
        done = 0 if total is not None else None
    if job.over is not None:
        return Progress(stage="ended", claims_total=total, claims_done=done)
    if job.resolved is not None:
        return Progress(stage="stage3", claims_total=total, claims_done=done)
    if job.extracted is not None:
        return Progress(stage="stage2", claims_total=total, claims_done=done)
    return Progress(stage="stage1" if logged.status == "RUNNING" else "queued", claims_total=total, claims_done=done)
