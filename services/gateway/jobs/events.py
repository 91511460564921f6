"""The facts of a job as server-sent events. Pure: the same facts give the same events, so a client resumes anywhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final
from uuid import UUID

from contracts.jobs.answers import links_of
from contracts.jobs.events import (
    EVENT_NAMES,
    Assessing,
    ClaimEnded,
    Ended,
    Extracted,
    Fetched,
    JobEvent,
    LookOutcome,
    Planned,
    PlannedClaim,
    Queued,
)
from contracts.jobs.values import RollupVerdict
from contracts.v1 import (
    AssertionAnalysed,
    JobEnded,
    JobExtracted,
    JobFetched,
    JobPlanned,
    JobRequested,
    JobResolved,
    RunFailed,
)
from contracts.v1 import job as facts
from lifecycle.audits.jobs import needs_assessment
from services.gateway.jobs.logged import LoggedJob

_OUTCOMES: Final[Mapping[facts.LookOutcome, LookOutcome]] = {
    "HIT": "hit",
    "OWN": "new",
    "JOINED": "joined",
    "MISS": "miss",
    "UNUSABLE": "unusable",
}
_ROLLUPS: Final[Mapping[str, RollupVerdict]] = {
    "SUPPORTED": "Supported",
    "REFUTED": "Refuted",
    "INCONCLUSIVE": "Inconclusive",
}


def list_events(logged: LoggedJob) -> Iterator[tuple[int, list[JobEvent]]]:
    """Yield the sequence and the events of each fact that has events, in the order of the log.

    A run that a claim joined may end before the plan that says so; its event then follows the plan's.
    """
    waiting = logged.waiting_claims
    is_planned, ended = False, dict[UUID, JobEvent]()
    for fact in logged.facts:
        found: list[JobEvent] = []
        match fact.event:
            case JobPlanned() as planned:
                is_planned = True
                found = [_describe_plan(planned), *ended.values()]
            case AssertionAnalysed() | RunFailed() as end:
                run = end.analysis_id if isinstance(end, AssertionAnalysed) else end.run_id
                if run in waiting and run not in ended:
                    ended[run] = _describe_end(waiting[run], end)
                    found = [ended[run]] if is_planned else []
            case event:
                one = _describe(logged, event)
                found = [] if one is None else [one]
        if found:
            yield fact.sequence, found
        if isinstance(fact.event, JobEnded):
            return  # analyses of a cancelled job's claims go on


def list_missing(logged: LoggedJob, after: int) -> list[tuple[int, list[JobEvent]]]:
    """The events that a client lacks if `after` is the id of its last event.

    A run's end may have been sent before the job's end, although its id is higher. So the job's end is sent
    unless it was the client's last event.
    """
    found, over = list(list_events(logged)), logged.job.over is not None
    missing = [one for one in found if one[0] > after]
    return found[-1:] if over and not missing and found[-1][0] != after else missing


def encode_events(sequence: int, events: list[JobEvent]) -> bytes:
    """The events of one fact. Only the last carries the id, so that a client cut off between them gets all again."""
    frames = [b"event: %b\ndata: %b\n\n" % (EVENT_NAMES[type(each)].encode(), _to_json(each)) for each in events]
    frames[-1] = b"id: %d\n%b" % (sequence, frames[-1])
    return b"".join(frames)


def _to_json(event: JobEvent) -> bytes:
    return event.model_dump_json().encode()


def _describe(logged: LoggedJob, event: object) -> JobEvent | None:
    job_id = logged.job.job_id
    match event:
        case JobRequested():
            return Queued(job_id=job_id, created_at=logged.created_at, mode=logged.mode)
        case JobFetched():
            return Fetched(characters=event.characters, language=event.language)
        case JobExtracted():
            return Extracted(claims_total=len(event.claims), cached_extraction=event.memo_of is not None)
        case JobResolved() if _needs_assessment(logged.request, event):
            return Assessing()
        case JobEnded():
            ended = Ended(status=event.outcome, charged=event.charged_micro_usd, links=links_of(job_id))
            return ended if event.code is None else ended.model_copy(update={"code": event.code})
        case _:
            return None


def _needs_assessment(request: JobRequested, resolved: JobResolved) -> bool:
    analysed = sum(each.analysis_id is not None for each in resolved.claims)
    failed = sum(each.failure is not None for each in resolved.claims)
    missing = len(resolved.claims) - analysed - failed
    return needs_assessment(request.mode, analysed=analysed, missing=missing, failed=failed)


def _describe_plan(planned: JobPlanned) -> Planned:
    return Planned(
        claims=tuple(
            PlannedClaim(claim_id=f"C{each.number}", outcome=_OUTCOMES[each.outcome]) for each in planned.claims
        )
    )


def _describe_end(claim: facts.PlannedClaim, end: AssertionAnalysed | RunFailed) -> ClaimEnded:
    claim_id = f"C{claim.number}"
    if isinstance(end, AssertionAnalysed):
        return ClaimEnded(claim_id=claim_id, state="done", rollup_verdict=_ROLLUPS[end.rollup])
    return ClaimEnded(claim_id=claim_id, state="failed" if claim.analysis_id is None else "done")
