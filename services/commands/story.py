"""What happened to one investigation, folded from its own facts in the order of the log: pure, and the log alone tells.

Rounds, attempts and verdicts are shown as they were told, also those that later ones overruled: somebody who asks why
a sentence was marked must not have to guess what the tables left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from contracts.v1 import (
    ClaimApproved,
    ClaimProposed,
    ClaimRejected,
    ClaimRetained,
    ClaimValidationFailed,
    ClaimValidationRetryScheduled,
    Envelope,
    InvestigationAdvanced,
    InvestigationCompleted,
    InvestigationDrafted,
    InvestigationFailed,
    InvestigationRequested,
    InvestigationRetryScheduled,
    InvestigationStarted,
)
from contracts.v1.parts import CheckedSource, ClaimPayload, InvestigationInput, ModelName, TextRef, Usage


@dataclass
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


@dataclass
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


@dataclass
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
    tries: list[Try] = field(default_factory=list)


Step = Attempt | Try | Candidate


@dataclass
class End:
    """How a round ended."""

    state: str
    at: datetime
    reason: str | None = None
    failure: str | None = None
    fault: str | None = None
    status_code: int | None = None


@dataclass
class Round:
    """One request and what came of it."""

    number: int
    requested_by: str
    key_source: str
    requested_at: datetime
    attempts: list[Attempt] = field(default_factory=list)
    candidates: dict[UUID, Candidate] = field(default_factory=dict)
    end: End | None = None

    @property
    def steps(self) -> Iterator[Step]:
        """Everything that may have been paid for."""
        yield from self.attempts
        for candidate in self.candidates.values():
            yield from candidate.tries
            yield candidate


@dataclass
class Story:
    """The whole of it. Shapes: `input` is None until the first attempt froze it."""

    investigation_id: UUID
    version_id: UUID
    post_id: UUID
    analysis: str
    correlation: UUID
    input: InvestigationInput | None = None
    rounds: list[Round] = field(default_factory=list)

    @property
    def status(self) -> str:
        """As readers are told."""
        last = self.rounds[-1]
        if last.end is not None:
            return last.end.state
        waiting = not last.attempts or last.attempts[-1].retry_at is not None
        return "PENDING" if waiting else "PROCESSING"

    @property
    def steps(self) -> Iterator[Step]:
        """Everything that may have been paid for."""
        for each in self.rounds:
            yield from each.steps


def fold(envelopes: Sequence[Envelope]) -> Story | None:
    """The story of one investigation; None if nobody ever asked for it."""
    story: Story | None = None
    for envelope in envelopes:
        event = envelope.event
        if isinstance(event, InvestigationRequested):
            if story is None:
                story = Story(
                    event.investigation_id, event.version_id, event.post_id, event.analysis, envelope.correlation
                )
            if not story.rounds or event.round > story.rounds[-1].number:
                asked = Round(event.round, event.requested_by, event.key_source, envelope.occurred_at)
                story.rounds.append(asked)
        elif story is not None:
            _add(story, envelope)
    return story


def _add(story: Story, envelope: Envelope) -> None:
    event, at = envelope.event, envelope.occurred_at
    match event:
        case InvestigationStarted():
            story.input = story.input or event.input
            attempt = Attempt(event.attempt, event.worker, at, event.model, event.prompt.version)
            story.rounds[-1].attempts.append(attempt)
        case InvestigationAdvanced():
            for attempt in _attempts(story, event.attempt):
                attempt.usage = event.usage if attempt.ended_at is None else attempt.usage
        case InvestigationDrafted():
            for attempt in _attempts(story, event.attempt):
                attempt.ended_at, attempt.model = at, event.model
                attempt.usage, attempt.transcript = event.usage, event.transcript
        case InvestigationRetryScheduled():
            for attempt in _attempts(story, event.attempt):
                _failed(attempt, event, at)
                attempt.retry_at = event.retry_at
        case InvestigationFailed():
            for attempt in _attempts(story, event.attempt):
                if attempt.ended_at is None:
                    _failed(attempt, event, at)
            for asked in story.rounds:
                if asked.number == event.round and asked.end is None:
                    asked.end = End("FAILED", at, event.reason, event.failure, event.fault, event.status_code)
        case InvestigationCompleted():
            story.rounds[-1].end = story.rounds[-1].end or End("COMPLETE", at)
        case ClaimProposed():
            candidate = Candidate(event.claim_id, event.ordinal, event.payload)
            _round(story, event.round).candidates.setdefault(event.claim_id, candidate)
        case ClaimRetained():
            kept = Candidate(event.claim_id, event.ordinal, event.payload, event.retained_from, "APPROVED")
            kept.decided_at = at
            _round(story, event.round).candidates.setdefault(event.claim_id, kept)
        case ClaimValidationRetryScheduled():
            _tried(_round(story, event.round), event, at)
        case ClaimApproved() | ClaimRejected() | ClaimValidationFailed():
            _judged(_round(story, event.round), event, at)


def _tried(asked: Round, event: ClaimValidationRetryScheduled, at: datetime) -> None:
    candidate = asked.candidates.get(event.claim_id)
    if candidate is not None and all(each.number != event.attempt for each in candidate.tries):
        candidate.tries.append(
            Try(
                event.claim_id,
                candidate.payload,
                event.attempt,
                at,
                event.error_name or event.failure,
                event.reason,
                event.status_code,
                event.usage,
                event.transcript,
            )
        )


def _judged(asked: Round, event: ClaimApproved | ClaimRejected | ClaimValidationFailed, at: datetime) -> None:
    candidate = asked.candidates.get(event.claim_id)
    if candidate is None or candidate.decided_at is not None:
        return
    candidate.decided_at, candidate.sources = at, event.sources
    candidate.usage, candidate.transcript = event.usage, event.transcript
    match event:
        case ClaimApproved():
            candidate.state = "APPROVED"
        case ClaimRejected():
            candidate.state, candidate.gate, candidate.reason = "REJECTED", event.gate, event.reason
        case ClaimValidationFailed():
            candidate.state, candidate.reason = "FAILED", event.reason


def _failed(attempt: Attempt, event: InvestigationRetryScheduled | InvestigationFailed, at: datetime) -> None:
    attempt.ended_at, attempt.reason, attempt.status_code = at, event.reason, event.status_code
    attempt.error, attempt.usage = event.error_name or event.failure, event.usage
    attempt.transcript = event.transcript


def _round(story: Story, number: int) -> Round:
    return next((asked for asked in story.rounds if asked.number == number), story.rounds[-1])


def _attempts(story: Story, number: int) -> Iterator[Attempt]:
    return (attempt for asked in story.rounds for attempt in asked.attempts if attempt.number == number)
