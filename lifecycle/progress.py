"""The state machine of a paid run of any kind.

The first end wins: COMPLETE is final, and only a new round changes FAILED. Events may arrive twice and late; those of
an attempt that a newer one has replaced change nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from contracts.v1.investigation import FailureClass

Status = Literal["PENDING", "PROCESSING", "COMPLETE", "FAILED"]


@dataclass(slots=True, kw_only=True)
class Progress:
    """The state of a run.

    Shapes: `attempt_count` is the number of the newest attempt over all rounds, 0 before the first; `retry_after` is
    when the next attempt is due, if one is scheduled. Units: times are UTC.
    """

    queued_at: datetime
    status: Status = "PENDING"
    round: int = 1
    attempt_count: int = 0
    retry_after: datetime | None = None
    checked_at: datetime | None = None
    failed_at: datetime | None = None
    failure: FailureClass | None = None
    failure_reason: str | None = None

    @property
    def is_open(self) -> bool:
        """Whether the run has not ended."""
        return self.status in ("PENDING", "PROCESSING")

    def request(self, round_: int, at: datetime) -> bool:
        """Record that a round is requested; return False if the run is complete."""
        if self.status == "COMPLETE":
            return False
        if self.status == "FAILED" and round_ > self.round:
            self.status, self.queued_at, self.retry_after = "PENDING", at, None
            self.failed_at = self.failure = self.failure_reason = None
        self.round = max(self.round, round_)
        return True

    def start(self, attempt: int) -> bool:
        """Record that an attempt begins; return whether it is the newest of an open run."""
        if not self.is_open or attempt < self.attempt_count:
            return False
        self.attempt_count, self.status, self.retry_after = attempt, "PROCESSING", None
        return True

    def schedule_retry(self, attempt: int, due: datetime) -> bool:
        """Record that an attempt failed and is retried; return whether it was the newest of an open run."""
        if not self.is_open or attempt < self.attempt_count:
            return False
        self.status, self.retry_after = "PENDING", due
        return True

    def complete(self, at: datetime) -> bool:
        """Record that the result is published; return whether this ends the run."""
        if not self.is_open:
            return False
        self.status, self.checked_at, self.retry_after = "COMPLETE", at, None
        return True

    def fail(self, round_: int, at: datetime, failure: FailureClass, reason: str) -> bool:
        """Record that a round failed; return whether this ends the run: not if it is an earlier round."""
        if not self.is_open or round_ < self.round:
            return False
        self.status, self.round, self.retry_after = "FAILED", round_, None
        self.failed_at, self.failure, self.failure_reason = at, failure, reason
        return True
