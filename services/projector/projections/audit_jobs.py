"""Jobs: how far each has come, and the outcomes of its claims. Of each event the first one counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from contracts.v1 import JobEnded, JobExtracted, JobFetched, JobPlanned, JobRequested, JobResolved
from services.projector.facts.fact import Fact
from services.projector.projections import runs
from services.projector.projections.material import Material
from services.projector.projections.rules import rows_by
from services.projector.rows.jobs import JOB_CLAIMS, JOBS, Job, JobClaim
from services.projector.rows.table import RowKey, Tables

_JOB: Final = JOBS.by()
_CLAIMS: Final = JOB_CLAIMS.by("job_id")

JobEvent = JobRequested | JobFetched | JobExtracted | JobPlanned | JobResolved | JobEnded

job_keys: Final = rows_by((_JOB, "job_id"))
claim_keys: Final = rows_by((_JOB, "job_id"), (_CLAIMS, "job_id"))


def end_keys(event: JobExtracted | JobEnded) -> Sequence[RowKey]:
    """A job with its claims, and the attempt that ends with this."""
    return (_JOB, event.job_id), (_CLAIMS, event.job_id), *runs.end_keys(event.end)


def request(tables: Tables, fact: Fact, event: JobRequested, material: Material) -> None:
    """A job was accepted."""
    tables[JOBS].add(
        Job(
            id=event.job_id,
            account_id=event.account_id,
            period_id=event.period_id,
            mode=event.mode,
            options=event.options.model_dump(),
            options_hash=event.options_hash,
            input_type=event.input_type,
            content_sha256=event.content_sha256,
            reserved_micro_usd=event.reserved_micro_usd,
            prices=event.prices.model_dump(),
            has_webhook=event.has_webhook,
            deadline_at=event.deadline_at,
            created_at=fact.at,
        )
    )


def fetch(tables: Tables, fact: Fact, event: JobFetched, material: Material) -> None:
    """The article of a job was fetched."""
    job = _edit(tables, event)
    if job is None or job.fetched_at is not None:
        return
    job.fetched_at, job.content_sha256, job.characters = fact.at, event.content_sha256, event.characters
    job.language, job.reference_day, job.score_epoch = event.language, event.reference_day, event.score_epoch
    job.stages = [stage.model_dump() for stage in event.stages]
    if job.ended_at is None:
        job.status = "RUNNING"


def extract(tables: Tables, fact: Fact, event: JobExtracted, material: Material) -> None:
    """The claims of a job were extracted."""
    runs.end(tables, fact, event.end)
    job = _edit(tables, event)
    if job is None or job.extracted_at is not None:
        return
    job.extracted_at, job.memo_id, job.memo_of = fact.at, event.memo_id, event.memo_of
    job.extraction = event.extraction.model_dump(mode="json", exclude_none=True)
    for claim in event.claims:
        tables[JOB_CLAIMS].add(JobClaim(job_id=event.job_id, **vars(claim)))


def plan(tables: Tables, fact: Fact, event: JobPlanned, material: Material) -> None:
    """The claims of a job were looked up."""
    job = _edit(tables, event)
    if job is None or job.planned_at is not None:
        return
    job.planned_at = fact.at
    for planned in event.claims:
        claim = tables[JOB_CLAIMS].edit((event.job_id, planned.number))
        if claim is not None:
            claim.outcome, claim.run_id, claim.stale = planned.outcome, planned.run_id, planned.stale
            if job.resolved_at is None:
                claim.analysis_id = planned.analysis_id


def resolve(tables: Tables, fact: Fact, event: JobResolved, material: Material) -> None:
    """A job waits for no more analyses."""
    job = _edit(tables, event)
    if job is None or job.resolved_at is not None:
        return
    job.resolved_at, job.complete = fact.at, event.complete
    for resolved in event.claims:
        claim = tables[JOB_CLAIMS].edit((event.job_id, resolved.number))
        if claim is not None:
            claim.analysis_id, claim.failure = resolved.analysis_id, resolved.failure


def end(tables: Tables, fact: Fact, event: JobEnded, material: Material) -> None:
    """A job ended."""
    runs.end(tables, fact, event.end)
    job = _edit(tables, event)
    if job is None or job.ended_at is not None:
        return
    job.ended_at, job.status, job.code = fact.at, event.outcome, event.code
    job.result = None if event.result is None else event.result.model_dump(mode="json", exclude_none=True)
    job.overall_verdict, job.credibility_score = event.overall_verdict, event.credibility_score
    job.risk_tier, job.publication_mode = event.risk_tier, event.publication_mode
    job.requires_review, job.charged_micro_usd = event.requires_review, event.charged_micro_usd
    job.from_cache, job.newly_analysed = event.from_cache, event.newly_analysed
    job.stages_cached = list(event.stages_cached)


def _edit(tables: Tables, event: JobEvent) -> Job | None:
    return tables[JOBS].edit(event.job_id)
