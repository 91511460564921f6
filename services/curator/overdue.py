"""Jobs beyond their deadline: a fold of requests and ends knows which jobs are open, and a leader ends what is overdue.

The fold has a mark of its own, so a restart reads from the oldest open job on. A job's credit is released by the fold
that closes jobs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from contracts.v1 import Event, JobEnded, JobRequested
from kit.clock import Clock
from kit.history import StoredFact
from services.curator.ports import Log, Metrics

CODE: Final = "DEADLINE_EXCEEDED"


@dataclass(slots=True)
class OpenJob:
    """A job that has not ended, as far as this process knows."""

    request: JobRequested
    correlation: UUID
    is_over: bool = False

    def apply(self, fact: StoredFact) -> None:
        self.is_over = self.is_over or isinstance(fact.event, JobEnded)


class Deadlines:
    """The rules of the fold `curator-overdue`, and the open jobs that it knows."""

    def __init__(self, log: Log, metrics: Metrics, clock: Clock) -> None:
        self._log = log
        self._metrics = metrics
        self._clock = clock
        self._open: dict[str, OpenJob] = {}

    async def end_overdue(self) -> int:
        """End the jobs whose deadline has passed; return how many. Only the first end of a job is stored."""
        now, ended = self._clock.now(), 0
        for key, job in [each for each in self._open.items() if each[1].request.deadline_at <= now]:
            end = JobEnded(job_id=job.request.job_id, outcome="FAILED", code=CODE, charged_micro_usd=0)
            if await self._log.publish(end, job.correlation):
                self._metrics.count_overdue()
                ended += 1
            self._open.pop(key, None)
        return ended

    async def route(self, fact: StoredFact) -> Sequence[tuple[str, StoredFact]]:
        """The job that the fact belongs to."""
        return ((fact.event.key(), fact),)

    async def open(self, fact: StoredFact) -> OpenJob | None:
        if not isinstance(fact.event, JobRequested):
            return None
        opened = self._open[fact.event.key()] = OpenJob(fact.event, fact.envelope.correlation)
        return opened

    def is_over(self, aggregate: OpenJob) -> bool:
        return aggregate.is_over

    def conclude(self, aggregate: OpenJob) -> Event | None:
        """None: here, only time ends a job."""
        return None

    async def is_over_in_log(self, key: str, aggregate: OpenJob) -> bool:
        return await self._log.is_over(key)

    async def close(self, key: str, aggregate: OpenJob) -> None:
        """Drop the job; nothing else is left to do."""
        self._open.pop(key, None)

    def seen(self, sequence: int, key: str, event: Event, at: datetime) -> None:
        """A fact of an open job was folded."""

    def passed(self, sequence: int) -> None:
        """A fact of a job that is over was folded."""

    def ended(self, key: str) -> None:
        """A job is over."""

    def clear(self) -> None:
        """The fold starts again."""
        self._open.clear()
