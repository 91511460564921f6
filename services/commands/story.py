"""One investigation as an operator reads it, also what later facts overruled: pure, and the log is its only source.

Somebody who asks why a sentence was marked must not have to guess what the tables left out.
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
from lifecycle import investigation as known
from lifecycle.investigation import Investigation


@dataclass(frozen=True)
class Attempt:
    """One attempt. Shapes: `ended_at` is None while it is under way, and for ever if its worker was lost."""

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
class Try:
    """A review that failed for now."""

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
    """One sentence the model named. Shapes: `state` PENDING until there is a verdict; `gate` says what refused it."""

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
    tries: tuple[Try, ...] = ()


Step = Attempt | Try | Candidate


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
    """One request and what came of it."""

    number: int
    requested_by: str
    key_source: str
    requested_at: datetime
    attempts: tuple[Attempt, ...]
    candidates: tuple[Candidate, ...]
    end: End | None

    @property
    def steps(self) -> Iterator[Step]:
        """Everything that may have been paid for."""
        yield from self.attempts
        for candidate in self.candidates:
            yield from candidate.tries
            yield candidate


@dataclass(frozen=True)
class Story:
    """The whole of it. Shapes: `input` is None until the first attempt froze it; `status` as readers are told."""

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
        """Everything that may have been paid for."""
        for each in self.rounds:
            yield from each.steps


def story(found: Investigation) -> Story:
    """Put into an operator's words what is known of an investigation."""
    request = found.request
    return Story(
        request.investigation_id,
        request.version_id,
        request.post_id,
        request.analysis,
        found.correlation,
        found.input,
        tuple(_round(each) for each in found.rounds),
        found.progress.status,
    )


def _round(each: known.Round) -> Round:
    return Round(
        each.number,
        each.request.requested_by,
        each.request.key_source,
        each.requested_at,
        tuple(_attempt(attempt) for attempt in each.started),
        tuple(found for candidate in each.candidates.values() if (found := _candidate(candidate)) is not None),
        _end(each),
    )


def _attempt(each: known.Attempt) -> Attempt:
    assert each.started is not None, "only those that have begun are asked for"
    assert each.started_at is not None, "it is known from when it began"
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


def _candidate(each: known.Candidate) -> Candidate | None:
    named = each.named
    if named is None:
        return None
    tries = tuple(_tried(named.payload, *retry) for retry in each.retries.values())
    if isinstance(named, ClaimRetained):
        return Candidate(each.claim_id, named.ordinal, named.payload, named.retained_from, "APPROVED", tries=tries)
    verdict = each.verdict
    if verdict is None:
        return Candidate(each.claim_id, named.ordinal, named.payload, tries=tries)
    return Candidate(
        each.claim_id,
        named.ordinal,
        named.payload,
        state=_state(verdict),
        gate=verdict.gate if isinstance(verdict, ClaimRejected) else None,
        reason=None if isinstance(verdict, ClaimApproved) else verdict.reason,
        decided_at=each.decided_at,
        sources=verdict.sources,
        usage=verdict.usage,
        transcript=verdict.transcript,
        tries=tries,
    )


def _state(verdict: known.Verdict) -> str:
    match verdict:
        case ClaimApproved():
            return "APPROVED"
        case ClaimRejected():
            return "REJECTED"
    return "FAILED"


def _tried(payload: ClaimPayload, event: ClaimValidationRetryScheduled, at: datetime) -> Try:
    return Try(
        event.claim_id,
        payload,
        event.attempt,
        at,
        event.error_name or event.failure,
        event.reason,
        event.status_code,
        event.usage,
        event.transcript,
    )


def _end(each: known.Round) -> End | None:
    end = each.end
    if end is None or each.ended_at is None:
        return None
    if isinstance(end, InvestigationCompleted):
        return End("COMPLETE", each.ended_at)
    return End("FAILED", each.ended_at, end.reason, end.failure, end.fault, end.status_code)
