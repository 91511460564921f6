"""Fold one investigation from its events: rounds, their attempts, their candidates, and how each ended.

Events may arrive twice and late, and abandoned attempts go on publishing: an attempt belongs to the round in which it
was numbered, a claim's event to the round that it names.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, Self
from uuid import UUID

from contracts.v1 import (
    ClaimApproved,
    ClaimHeld,
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
from contracts.v1.parts import InvestigationInput
from lifecycle.progress import Progress
from lifecycle.rounds import Round


class LoggedEvent(Protocol):
    """An event with its sequence in the log."""

    @property
    def sequence(self) -> int: ...

    @property
    def envelope(self) -> Envelope: ...


@dataclass(slots=True)
class Investigation:
    """The aggregate.

    Shapes: `input` is the snapshot that the first attempt took; `rounds` is never empty. Units: `last_…` are the
    sequences of the newest event of a kind, 0 if there is none: the next once-event follows it.
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
    def fold(cls, facts: Iterable[LoggedEvent]) -> Self | None:
        """Fold events in the order of the log; None if the investigation was never requested.

        Events before the first request count too.
        """
        found: Self | None = None
        before: list[LoggedEvent] = []
        for fact in facts:
            event = fact.envelope.event
            if found is not None:
                found.apply(fact)
            elif isinstance(event, InvestigationRequested):
                found = cls.from_request(fact.sequence, event, fact.envelope)
                for each in before:
                    found.apply(each)
            else:
                before.append(fact)
        return found

    @classmethod
    def from_request(cls, sequence: int, request: InvestigationRequested, envelope: Envelope) -> Self:
        """The aggregate after its first request."""
        at = envelope.occurred_at
        progress = Progress(queued_at=at, round=request.round)
        return cls(progress, envelope.correlation, [Round(request, sequence, at)], last_request=sequence)

    @property
    def round(self) -> Round:
        """The newest round."""
        return self.rounds[-1]

    @property
    def request(self) -> InvestigationRequested:
        """The newest round's request."""
        return self.rounds[-1].request

    def is_over(self, round_: int) -> bool:
        """Whether this round has ended or was replaced by a later one, so that work on it would be wasted."""
        return not self.progress.is_open or self.round.number > round_

    def find_round(self, number: int) -> Round | None:
        """The round of this number; None if it was not requested."""
        return next((each for each in reversed(self.rounds) if each.number == number), None)

    def apply(self, fact: LoggedEvent) -> None:
        """Apply the next event of the log; events of other aggregates change nothing."""
        event, at, sequence = fact.envelope.event, fact.envelope.occurred_at, fact.sequence
        match event:
            case InvestigationRequested():
                self._request(sequence, event, at)
            case InvestigationStarted():
                self.last_start = sequence
                self.input = self.input or event.input
                self.progress.start(event.attempt)
                attempt = self._round_of(event.attempt).attempt(event.attempt)
                if attempt.started is None:
                    attempt.started, attempt.started_at = event, at
            case InvestigationAdvanced():
                self._round_of(event.attempt).add_checkpoint(event)
            case InvestigationDrafted():
                self.last_draft = sequence
                attempt = self._round_of(event.attempt).attempt(event.attempt)
                attempt.drafted = event
                attempt.end(event, at)
            case InvestigationRetryScheduled():
                self.progress.schedule_retry(event.attempt, event.retry_at)
                self._round_of(event.attempt).attempt(event.attempt).end(event, at)
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
                | ClaimHeld()
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
        if not self.progress.request(event.round, at):  # the result could not be applied: see decision 0046
            self.progress = Progress(queued_at=at, round=event.round, attempt_count=self.progress.attempt_count)
        before = max((number for each in self.rounds for number in each.attempts), default=0)
        self.rounds.append(Round(event, sequence, at, attempts_before=before))

    def _fail(self, sequence: int, event: InvestigationFailed, at: datetime) -> None:
        self.last_failure = sequence
        if event.attempt > 0:
            self._round_of(event.attempt).attempt(event.attempt).end(event, at)
        failed = self.find_round(event.round)
        if failed is not None and failed.end is None:
            failed.end, failed.ended_at = event, at
        self.progress.fail(event.round, at, event.failure, event.reason)

    def _round_of(self, attempt: int) -> Round:
        """The round in which an attempt was numbered."""
        return next((each for each in reversed(self.rounds) if each.attempts_before < attempt), self.rounds[0])


def ends_round(round_: int, event: Event) -> bool:
    """Whether an event ends this round or a later one, decided without the history."""
    return isinstance(event, InvestigationCompleted | InvestigationFailed) and event.round >= round_
