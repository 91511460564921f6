"""The message that a webhook carries, and when it is sent. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate
from typing import Final

from contracts.jobs.webhooks import JobReference, WebhookMessage, WebhookType
from contracts.v1 import JobEnded, JobRequested
from contracts.v1.job import JobOutcome

_TYPES: Final[dict[JobOutcome, WebhookType]] = {
    "SUCCEEDED": "job.succeeded",
    "FAILED": "job.failed",
    "CANCELED": "job.canceled",
}

WAITS_S: Final = (0, 5, 300, 1_800, 7_200, 18_000, 36_000)
"""The waits before each of seven tries, some eighteen hours in all. Source: FH-159."""
_EARLY_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class EndedJob:
    """A job that is over, and when it ended."""

    requested: JobRequested
    ended_at: datetime


def wait_at(age_s: float) -> float | None:
    """How long to wait for the next try, by the time since the job ended; None after the last. Units: seconds.

    A try that comes a moment early is the one that was due, so there are never more than seven. By a clock that was set
    back the job has just ended.
    """
    age_s = max(age_s, 0.0)
    return next((due_s - age_s for due_s in accumulate(WAITS_S) if due_s > age_s + _EARLY_S), None)


def write_message(end: JobEnded, ended_at: datetime) -> bytes:
    """The body of a webhook, the same at each try."""
    message = WebhookMessage(type=_TYPES[end.outcome], timestamp=ended_at, data=JobReference(job_id=end.job_id))
    return message.model_dump_json().encode()
