"""One investigation as its facts tell it: rounds, their attempts, their candidates, and how each ended.

Facts may come twice and late, and attempts that were given up go on publishing: an attempt belongs to the round it was
numbered in, a claim's fact to the round that it names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol, Self
from uuid import UUID

from contracts.v1 import (
    ClaimApproved,
    ClaimProposed,
    ClaimRejected,
    ClaimRetained,
    ClaimValidationFailed,
    ClaimValidationRetryScheduled,
    Envelope,
    Event,
    InvestigationAdvanced,
    InvestigationCompleted,
    InvestigationDrafted,
    InvestigationFailed,
    InvestigationRequested,
    InvestigationRetryScheduled,
    InvestigationStarted,
)
from contracts.v1.claim import ClaimEvent
from contracts.v1.parts import InvestigationInput, TextRef, Usage
from lifecycle.progress import Progress

Verdict = ClaimApproved | ClaimRejected | ClaimValidationFailed


class LoggedEvent(Protocol):
    """A fact with its place in the log."""

    @property
    def sequence(self) -> int: ...

    @property
    def envelope(self) -> Envelope: ...


@dataclass(slots=True)
class Attempt:
    """One attempt. Shapes: `ended` is None while it is under way, and for ever if its worker was lost."""

    number: int
    started: InvestigationStarted | None = None
    started_at: datetime | None = None
    checkpoints: list[InvestigationAdvanced] = field(default_factory=list)
    drafted: InvestigationDrafted | None = None
    ended: InvestigationDrafted | InvestigationRetryScheduled | InvestigationFailed | None = None
    ended_at: datetime | None = None

    @property
    def usage(self) -> Usage | None:
        """What it has spent, as far as that is known."""
        if self.ended is not None:
            return self.ended.usage
        return self.checkpoints[-1].usage if self.checkpoints else None

    @property
    def retry_at(self) -> datetime | None:
        """When the next attempt is due, if it failed for now."""
        return self.ended.retry_at if isinstance(self.ended, InvestigationRetryScheduled) else None

    @property
    def transcript(self) -> TextRef | None:
        """The record of all that was said, once it has ended."""
        return self.ended.transcript if self.ended is not None else None

    @property
    def micro_usd(self) -> int:
        """What it has cost. Units: millionths of a US dollar."""
        used = [*(each.usage for each in self.checkpoints), self.ended.usage if self.ended else None]
        return max(((usage.cost_micro_usd if usage else None) or 0 for usage in used), default=0)

    def end(
        self, event: InvestigationDrafted | InvestigationRetryScheduled | InvestigationFailed, at: datetime
    ) -> None:
        """Take its first end."""
        if self.ended is None:
            self.ended, self.ended_at = event, at


@dataclass(slots=True)
class Candidate:
    """A sentence that a round named, with the reviews of it that failed for now and its first verdict.

    Shapes: `kept` says that it is a finding of an earlier version, which needs no verdict. Units: `proposed_at` is the
    place in the log where it was proposed, 0 if it was not.
    """

    claim_id: UUID
    proposed: ClaimProposed | None = None
    proposed_at: int = 0
    kept: ClaimRetained | None = None
    retries: dict[int, tuple[ClaimValidationRetryScheduled, datetime]] = field(default_factory=dict)
    verdict: Verdict | None = None
    decided_at: datetime | None = None

    @property
    def named(self) -> ClaimProposed | ClaimRetained | None:
        """What named it; None where only its verdict is known."""
        return self.proposed or self.kept

    @property
    def is_settled(self) -> bool:
        """Whether it was kept, or has its verdict."""
        return self.verdict is not None or self.kept is not None

    def apply(self, sequence: int, event: ClaimEvent, at: datetime) -> None:
        """Take the next fact about it; the first of each kind counts."""
        match event:
            case ClaimProposed() if self.proposed is None:
                self.proposed, self.proposed_at = event, sequence
            case ClaimRetained():
                self.kept = self.kept or event
            case ClaimValidationRetryScheduled():
                self.retries.setdefault(event.attempt, (event, at))
            case ClaimApproved() | ClaimRejected() | ClaimValidationFailed() if self.verdict is None:
                self.verdict, self.decided_at = event, at
            case _:
                pass


@dataclass(slots=True)
class Round:
    """One request and what came of it. Shapes: its attempts have the numbers above `attempts_before`."""

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
        """Rounds count from 1."""
        return self.request.round

    @property
    def started(self) -> Iterator[Attempt]:
        """Its attempts that are known to have begun, in their order."""
        return (self.attempts[number] for number in sorted(self.attempts) if self.attempts[number].started is not None)

    @property
    def drafted(self) -> InvestigationDrafted | None:
        """The newest draft of its attempts."""
        drafts = [attempt.drafted for attempt in self.attempts.values() if attempt.drafted is not None]
        return max(drafts, key=lambda draft: draft.attempt, default=None)

    @property
    def checkpoints(self) -> list[InvestigationAdvanced]:
        """In the order of attempts, those of each in the order of the log."""
        return [each for number in sorted(self.attempts) for each in self.attempts[number].checkpoints]

    @property
    def micro_usd(self) -> int:
        """What it has cost, each attempt and each review once; what has no price is not in it.

        Units: millionths of a US dollar.
        """
        used: list[Usage | None] = []
        for candidate in self.candidates.values():
            used += [retry.usage for retry, _ in candidate.retries.values()]
            used.append(candidate.verdict.usage if candidate.verdict is not None else None)
        reviews = sum((usage.cost_micro_usd if usage else None) or 0 for usage in used)
        return reviews + sum(attempt.micro_usd for attempt in self.attempts.values())

    def attempt(self, number: int) -> Attempt:
        """The attempt, known or not."""
        return self.attempts.setdefault(number, Attempt(number))

    def add_checkpoint(self, event: InvestigationAdvanced) -> None:
        """One of its attempts has advanced."""
        checkpoints = self.attempt(event.attempt).checkpoints
        if event not in checkpoints:
            checkpoints.append(event)

    def candidate(self, claim_id: UUID) -> Candidate:
        """The candidate, known or not."""
        return self.candidates.setdefault(claim_id, Candidate(claim_id))


@dataclass(slots=True)
class Investigation:
    """All of it.

    Shapes: `input` is the snapshot that the first attempt took; `rounds` has one at least. Units: `last_…` are the
    places in the log of the newest fact of a kind, 0 if there is none: what is stored next follows it.
    """

    progress: Progress
    correlation: UUID
    rounds: list[Round]
    input: InvestigationInput | None = None
    result: InvestigationCompleted | None = None
    last_request: int = 0
    last_start: int = 0
    last_draft: int = 0
    last_failure: int = 0
    last_result: int = 0

    @classmethod
    def of(cls, facts: Iterable[LoggedEvent]) -> Self | None:
        """Fold facts in the order of the log; None if nobody ever asked for it.

        What stands before the first request counts too: an end that came first is an end all the same.
        """
        found: Self | None = None
        before: list[LoggedEvent] = []
        for fact in facts:
            event = fact.envelope.event
            if found is not None:
                found.apply(fact)
            elif isinstance(event, InvestigationRequested):
                found = cls.requested(fact.sequence, event, fact.envelope)
                for each in before:
                    found.apply(each)
            else:
                before.append(fact)
        return found

    @classmethod
    def requested(cls, sequence: int, request: InvestigationRequested, envelope: Envelope) -> Self:
        """As it begins."""
        at = envelope.occurred_at
        progress = Progress(queued_at=at, round=request.round)
        return cls(progress, envelope.correlation, [Round(request, sequence, at)], last_request=sequence)

    @property
    def round(self) -> Round:
        """The newest."""
        return self.rounds[-1]

    @property
    def request(self) -> InvestigationRequested:
        """That of the newest round."""
        return self.rounds[-1].request

    def is_over(self, round_: int) -> bool:
        """Whether this round has ended, or a later one was asked for: what a worker of it still does reaches nobody."""
        return not self.progress.is_open or self.round.number > round_

    def find_round(self, number: int) -> Round | None:
        """The round of this number, if it was asked for."""
        return next((each for each in reversed(self.rounds) if each.number == number), None)

    def apply(self, fact: LoggedEvent) -> None:
        """Take the next fact of the log; facts of other things change nothing."""
        event, at, sequence = fact.envelope.event, fact.envelope.occurred_at, fact.sequence
        match event:
            case InvestigationRequested():
                self._request(sequence, event, at)
            case InvestigationStarted():
                self.last_start = sequence
                self.input = self.input or event.input
                self.progress.start(event.attempt)
                attempt = self._of(event.attempt).attempt(event.attempt)
                if attempt.started is None:
                    attempt.started, attempt.started_at = event, at
            case InvestigationAdvanced():
                self._of(event.attempt).add_checkpoint(event)
            case InvestigationDrafted():
                self.last_draft = sequence
                attempt = self._of(event.attempt).attempt(event.attempt)
                attempt.drafted = event
                attempt.end(event, at)
            case InvestigationRetryScheduled():
                self.progress.schedule_retry(event.attempt, event.retry_at)
                self._of(event.attempt).attempt(event.attempt).end(event, at)
            case InvestigationCompleted():
                self.result, self.last_result = event, sequence
                if self.progress.complete(at):
                    self.round.end, self.round.ended_at = event, at
            case InvestigationFailed():
                self._fail(sequence, event, at)
            case (
                ClaimProposed()
                | ClaimRetained()
                | ClaimValidationRetryScheduled()
                | ClaimApproved()
                | ClaimRejected()
                | ClaimValidationFailed()
            ):
                if (round_ := self.find_round(event.round)) is not None:
                    round_.candidate(event.claim_id).apply(sequence, event, at)
            case _:
                pass

    def _request(self, sequence: int, event: InvestigationRequested, at: datetime) -> None:
        self.last_request = sequence
        if event.round <= self.round.number:
            return
        if not self.progress.request(event.round, at):  # its result could not be stored: see decision 0046
            self.progress = Progress(queued_at=at, round=event.round, attempt_count=self.progress.attempt_count)
        before = max((number for each in self.rounds for number in each.attempts), default=0)
        self.rounds.append(Round(event, sequence, at, attempts_before=before))

    def _fail(self, sequence: int, event: InvestigationFailed, at: datetime) -> None:
        self.last_failure = sequence
        if event.attempt > 0:
            self._of(event.attempt).attempt(event.attempt).end(event, at)
        failed = self.find_round(event.round)
        if failed is not None and failed.end is None:
            failed.end, failed.ended_at = event, at
        self.progress.fail(event.round, at, event.failure, event.reason)

    def _of(self, attempt: int) -> Round:
        """The round that an attempt was numbered in."""
        return next((each for each in reversed(self.rounds) if each.attempts_before < attempt), self.rounds[0])


def ends_round(round_: int, event: Event) -> bool:
    """Whether a fact ends this round or a later one: for whoever has not read the rest."""
    return isinstance(event, InvestigationCompleted | InvestigationFailed) and event.round >= round_
