"""An investigation as `openerrata investigation show` presents it. Pure; built from the log alone.

It includes what later facts overruled, which the read model does not have.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from contracts.v1 import (
    ClaimApproved,
    ClaimRejected,
    ClaimRetained,
    ClaimValidationRetryScheduled,
    InvestigationCompleted,
    InvestigationDrafted,
    InvestigationRetryScheduled,
)
from contracts.v1.parts import CheckedSource, ClaimPayload, InvestigationInput, ModelName, TextRef, Usage
from lifecycle import rounds as aggregate
from lifecycle.investigation import Investigation


@dataclass(frozen=True)
class Attempt:
    """One attempt. Shapes: `ended_at` is None while it runs, and stays None if its worker was lost."""

    number: int
    worker: str
    started_at: datetime
    model: ModelName
    prompt: str
    ended_at: datetime | None = None
    error: str | None = None
    reason: str | None = None
    status_code: int | None = None
    retry_at: datetime | None = None
    usage: Usage | None = None
    transcript: TextRef | None = None


@dataclass(frozen=True)
class FailedReview:
    """A review that failed and may be repeated."""

    claim_id: UUID
    payload: ClaimPayload
    number: int
    at: datetime
    error: str
    reason: str
    status_code: int | None
    usage: Usage | None
    transcript: TextRef | None


@dataclass(frozen=True)
class Candidate:
    """A claim the model proposed. Shapes: `state` is PENDING until there is a verdict; `gate` is what rejected it."""

    claim_id: UUID
    ordinal: int
    payload: ClaimPayload
    retained_from: UUID | None = None
    state: str = "PENDING"
    gate: str | None = None
    reason: str | None = None
    decided_at: datetime | None = None
    sources: tuple[CheckedSource, ...] = ()
    usage: Usage | None = None
    transcript: TextRef | None = None
    tries: tuple[FailedReview, ...] = ()


Step = Attempt | FailedReview | Candidate


@dataclass(frozen=True)
class End:
    """How a round ended."""

    state: str
    at: datetime
    reason: str | None = None
    failure: str | None = None
    fault: str | None = None
    status_code: int | None = None


@dataclass(frozen=True)
class Round:
    """One request and its outcome."""

    number: int
    requested_by: str
    key_source: str
    requested_at: datetime
    attempts: tuple[Attempt, ...]
    candidates: tuple[Candidate, ...]
    end: End | None

    @property
    def steps(self) -> Iterator[Step]:
        """All steps that may have used a model."""
        yield from self.attempts
        for candidate in self.candidates:
            yield from candidate.tries
            yield candidate


@dataclass(frozen=True)
class Summary:
    """An investigation. Shapes: `input` is None until an attempt starts; `status` as the extension shows it."""

    investigation_id: UUID
    version_id: UUID
    post_id: UUID
    analysis: str
    correlation: UUID
    input: InvestigationInput | None
    rounds: tuple[Round, ...]
    status: str

    @property
    def steps(self) -> Iterator[Step]:
        """All steps that may have used a model."""
        for each in self.rounds:
            yield from each.steps


def summarize(found: Investigation) -> Summary:
    """Convert the aggregate."""
    request = found.request
    return Summary(
        request.investigation_id,
        request.version_id,
        request.post_id,
        request.analysis,
        found.correlation,
        found.input,
        tuple(_round(each) for each in found.rounds),
        found.progress.status,
    )


def _round(each: aggregate.Round) -> Round:
    return Round(
        each.number,
        each.request.requested_by,
        each.request.key_source,
        each.requested_at,
        tuple(_attempt(attempt) for attempt in each.started),
        tuple(found for candidate in each.candidates.values() if (found := _candidate(candidate)) is not None),
        _end(each),
    )


def _attempt(each: aggregate.Attempt) -> Attempt:
    assert each.started is not None
    assert each.started_at is not None
    ended, started = each.ended, each.started
    failed = None if isinstance(ended, InvestigationDrafted) else ended
    return Attempt(
        each.number,
        started.worker,
        each.started_at,
        ended.model if isinstance(ended, InvestigationDrafted) else started.model,
        started.prompt.version,
        ended_at=each.ended_at,
        error=(failed.error_name or failed.failure) if failed is not None else None,
        reason=failed.reason if failed is not None else None,
        status_code=failed.status_code if failed is not None else None,
        retry_at=failed.retry_at if isinstance(failed, InvestigationRetryScheduled) else None,
        usage=each.usage,
        transcript=each.transcript,
    )


def _candidate(each: aggregate.Candidate) -> Candidate | None:
    proposal = each.submission
    if proposal is None:
        return None
    tries = tuple(_failed_review(proposal.payload, *retry) for retry in each.retries.values())
    if isinstance(proposal, ClaimRetained):
        return Candidate(
            each.claim_id, proposal.ordinal, proposal.payload, proposal.retained_from, "APPROVED", tries=tries
        )
    verdict = each.verdict
    if verdict is None:
        return Candidate(each.claim_id, proposal.ordinal, proposal.payload, tries=tries)
    return Candidate(
        each.claim_id,
        proposal.ordinal,
        proposal.payload,
        state=_state(verdict),
        gate=verdict.gate if isinstance(verdict, ClaimRejected) else None,
        reason=None if isinstance(verdict, ClaimApproved) else verdict.reason,
        decided_at=each.decided_at,
        sources=verdict.sources,
        usage=verdict.usage,
        transcript=verdict.transcript,
        tries=tries,
    )


def _state(verdict: aggregate.Verdict) -> str:
    match verdict:
        case ClaimApproved():
            return "APPROVED"
        case ClaimRejected():
            return "REJECTED"
    return "FAILED"


def _failed_review(payload: ClaimPayload, event: ClaimValidationRetryScheduled, at: datetime) -> FailedReview:
    return FailedReview(
        event.claim_id,
        payload,
        event.review_attempt,
        at,
        event.error_name or event.failure,
        event.reason,
        event.status_code,
        event.usage,
        event.transcript,
    )


def _end(each: aggregate.Round) -> End | None:
    end = each.end
    if end is None or each.ended_at is None:
        return None
    if isinstance(end, InvestigationCompleted):
        return End("COMPLETE", each.ended_at)
    return End("FAILED", each.ended_at, end.reason, end.failure, end.fault, end.status_code)
