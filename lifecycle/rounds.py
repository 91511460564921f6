"""One round of an investigation: its attempts and candidates. Events may arrive twice and late; the first counts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from contracts.v1 import (
    ClaimApproved,
    ClaimHeld,
    ClaimProposed,
    ClaimRejected,
    ClaimRetained,
    ClaimValidationFailed,
    ClaimValidationRetryScheduled,
    InvestigationAdvanced,
    InvestigationCompleted,
    InvestigationDrafted,
    InvestigationFailed,
    InvestigationRequested,
    InvestigationRetryScheduled,
    InvestigationStarted,
)
from contracts.v1.claim import ClaimEvent
from contracts.v1.parts import TextRef, Usage

Verdict = ClaimApproved | ClaimRejected | ClaimValidationFailed
AttemptEnd = InvestigationDrafted | InvestigationRetryScheduled | InvestigationFailed


@dataclass(slots=True)
class Attempt:
    """One attempt. Shapes: `ended` is None while it is in progress, and stays None if its worker was lost."""

    number: int
    started: InvestigationStarted | None = None
    started_at: datetime | None = None
    checkpoints: list[InvestigationAdvanced] = field(default_factory=list)
    drafted: InvestigationDrafted | None = None
    ended: AttemptEnd | None = None
    ended_at: datetime | None = None

    @property
    def usage(self) -> Usage | None:
        """Its usage, as far as it was published."""
        if self.ended is not None:
            return self.ended.usage
        return self.checkpoints[-1].usage if self.checkpoints else None

    @property
    def retry_at(self) -> datetime | None:
        """When the next attempt is due, if a retry is scheduled."""
        return self.ended.retry_at if isinstance(self.ended, InvestigationRetryScheduled) else None

    @property
    def transcript(self) -> TextRef | None:
        """Its whole transcript, once it has ended."""
        return self.ended.transcript if self.ended is not None else None

    @property
    def micro_usd(self) -> int:
        """Its cost. Units: millionths of a US dollar."""
        used = [*(each.usage for each in self.checkpoints), self.ended.usage if self.ended else None]
        return max(((usage.cost_micro_usd if usage else None) or 0 for usage in used), default=0)

    def end(self, event: AttemptEnd, at: datetime) -> None:
        """Record the attempt's first end; later ones change nothing."""
        if self.ended is None:
            self.ended, self.ended_at = event, at


@dataclass(slots=True)
class Candidate:
    """A claim of a round, with its failed reviews by number and its first verdict.

    Shapes: `held`: it was approved, and its verdict is published after its hold. `retained`: it is a finding of an
    earlier version, which needs no verdict. Units: `proposed_at` is the sequence of its proposal, 0 if there is none.
    """

    claim_id: UUID
    proposed: ClaimProposed | None = None
    proposed_at: int = 0
    retained: ClaimRetained | None = None
    retries: dict[int, tuple[ClaimValidationRetryScheduled, datetime]] = field(default_factory=dict)
    held: ClaimHeld | None = None
    verdict: Verdict | None = None
    decided_at: datetime | None = None

    @property
    def submission(self) -> ClaimProposed | ClaimRetained | None:
        """The event that submitted the claim; None if only its verdict is known."""
        return self.proposed or self.retained

    @property
    def is_settled(self) -> bool:
        """Whether the claim needs no further review: it was retained, is held, or has its verdict."""
        return self.judged is not None or self.retained is not None

    @property
    def judged(self) -> Verdict | None:
        """The verdict, or the approval that is held; the verdict after a hold repeats the review's cost and words."""
        return self.verdict or (self.held.approval if self.held is not None else None)

    def apply(self, sequence: int, event: ClaimEvent, at: datetime) -> None:
        """Apply the next event about the claim; the first of each kind counts."""
        match event:
            case ClaimProposed() if self.proposed is None:
                self.proposed, self.proposed_at = event, sequence
            case ClaimRetained():
                self.retained = self.retained or event
            case ClaimValidationRetryScheduled():
                self.retries.setdefault(event.review_attempt, (event, at))
            case ClaimHeld():
                self.held = self.held or event
            case ClaimApproved() | ClaimRejected() | ClaimValidationFailed() if self.verdict is None:
                self.verdict, self.decided_at = event, at
            case _:
                pass


@dataclass(slots=True)
class Round:
    """One request and its outcome. Shapes: its attempts have numbers above `attempts_before`."""

    request: InvestigationRequested
    sequence: int
    requested_at: datetime
    attempts_before: int = 0
    attempts: dict[int, Attempt] = field(default_factory=dict)
    candidates: dict[UUID, Candidate] = field(default_factory=dict)
    end: InvestigationCompleted | InvestigationFailed | None = None
    ended_at: datetime | None = None

    @property
    def number(self) -> int:
        """The round's number, from 1."""
        return self.request.round

    @property
    def started(self) -> Iterator[Attempt]:
        """The attempts whose start was published, in order."""
        return (self.attempts[number] for number in sorted(self.attempts) if self.attempts[number].started is not None)

    @property
    def drafted(self) -> InvestigationDrafted | None:
        """The newest draft of the round's attempts."""
        drafts = [attempt.drafted for attempt in self.attempts.values() if attempt.drafted is not None]
        return max(drafts, key=lambda draft: draft.attempt, default=None)

    @property
    def checkpoints(self) -> list[InvestigationAdvanced]:
        """All checkpoints, by attempt, then in the order of the log."""
        return [each for number in sorted(self.attempts) for each in self.attempts[number].checkpoints]

    @property
    def micro_usd(self) -> int:
        """The cost of all attempts and reviews, as far as prices are known. Units: millionths of a US dollar."""
        used: list[Usage | None] = []
        for candidate in self.candidates.values():
            used += [retry.usage for retry, _ in candidate.retries.values()]
            used.append(candidate.judged.usage if candidate.judged is not None else None)
        reviews = sum((usage.cost_micro_usd if usage else None) or 0 for usage in used)
        return reviews + sum(attempt.micro_usd for attempt in self.attempts.values())

    def attempt(self, number: int) -> Attempt:
        """Get or create an attempt."""
        return self.attempts.setdefault(number, Attempt(number))

    def add_checkpoint(self, event: InvestigationAdvanced) -> None:
        """Add a checkpoint to its attempt, once."""
        checkpoints = self.attempt(event.attempt).checkpoints
        if event not in checkpoints:
            checkpoints.append(event)

    def candidate(self, claim_id: UUID) -> Candidate:
        """Get or create a candidate."""
        return self.candidates.setdefault(claim_id, Candidate(claim_id))
