"""Decide what follows once all runs that a job waits for have ended. Deterministic, so replicas and replays agree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from contracts.v1 import JobEnded, JobResolved, RunFailed
from contracts.v1.codes import Code
from contracts.v1.ids import step_run_id
from contracts.v1.job import PlannedClaim, ResolvedClaim
from lifecycle.audits.jobs import Job
from lifecycle.audits.runs import ASSESS, EXTRACT

CLAIM_FAILURES: Final = frozenset(
    {
        "MODEL_UNAVAILABLE",
        "SEARCH_UNAVAILABLE",
        "TIMEOUT",
        "MODEL_REFUSED",
        "INVALID_ANSWER",
        "COST_LIMIT",
        "WITHDRAWN",
    }
)
"""The reasons of failed runs that are kept as failures of claims. Source: FH-156."""
_OF_JOB: Final[Mapping[str, Code]] = {
    "MODEL_REFUSED": "MODEL_REFUSED",
    "INVALID_ANSWER": "INVALID_ANSWER",
    "COST_LIMIT": "COST_LIMIT",
}
"""The codes of a job by the failure of its claims or steps; for all others it is SERVICE_UNAVAILABLE."""


def resolve(job: Job) -> JobResolved | JobEnded | None:
    """The fact that follows without a worker, None until everything it needs is known.

    The job fails if a step of its own failed, or if runs failed and no claim has an analysis.
    """
    if job.over is not None or job.requested is None:
        return None
    for step in (EXTRACT, ASSESS):
        lost = job.ended.get(step_run_id(job.job_id, step))
        if isinstance(lost, RunFailed):
            return _fail(job, lost)
    if job.planned is None or job.resolved is not None or not job.awaited <= job.ended.keys():
        return None
    claims = tuple(_resolve_claim(job, each) for each in job.planned.claims)
    failures = [found for run in job.awaited if isinstance(found := job.ended[run], RunFailed)]
    if failures and not any(each.analysis_id for each in claims):
        return _fail(job, min(failures, key=lambda each: str(each.run_id)))
    return JobResolved(job_id=job.job_id, claims=claims, complete=all(each.analysis_id is not None for each in claims))


def find_failure(failed: RunFailed) -> Code:
    """The failure of a claim whose run failed, from the run's reason."""
    code = failed.reason.upper()
    if code in CLAIM_FAILURES:
        return code
    return "MODEL_UNAVAILABLE" if failed.failure == "TRANSIENT" else "INVALID_ANSWER"


def _resolve_claim(job: Job, claim: PlannedClaim) -> ResolvedClaim:
    """Resolve a claim whose run has ended: if the run failed, an older analysis is used if there is one."""
    number = claim.number
    if claim.outcome == "UNUSABLE":
        return ResolvedClaim(number=number, failure="NOT_A_CLAIM")
    end = job.ended.get(claim.run_id) if claim.run_id is not None else None
    if isinstance(end, RunFailed):
        if claim.analysis_id is None:
            return ResolvedClaim(number=number, failure=find_failure(end))
        return ResolvedClaim(number=number, analysis_id=claim.analysis_id)
    return ResolvedClaim(number=number, analysis_id=claim.run_id or claim.analysis_id)


def _fail(job: Job, failed: RunFailed) -> JobEnded:
    code = _OF_JOB.get(find_failure(failed), "SERVICE_UNAVAILABLE")
    return JobEnded(job_id=job.job_id, outcome="FAILED", code=code, charged_micro_usd=0)
