"""The rules that conclude jobs: a job is resolved when it waits for nothing more, and closed when it is over.

Many jobs may wait for one run, so a run's end concerns all of them. A job waits for its own runs from their request
on. A run of another job may have ended between the look-up that found it under way and the job's plan: such ends are
read from the log when the plan comes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID
from weakref import WeakValueDictionary

from contracts.v1 import (
    AssertionAnalysed,
    AssertionAnalysisRequested,
    CreditPosted,
    Event,
    JobEnded,
    JobPlanned,
    JobRequested,
    RunFailed,
)
from contracts.v1.ids import step_run_id
from contracts.v1.job import PlannedClaim
from contracts.v1.parts import EphemeralRef
from kit.history import StoredFact
from lifecycle.audits.conclusion import resolve
from lifecycle.audits.credits import Period, close_reservation
from lifecycle.audits.jobs import Job
from lifecycle.audits.runs import ASSESS, EXTRACT
from lifecycle.audits.words import list_removable


class Log(Protocol):
    """The stream `JOBS` as its leader has it. Raises: Outage, BusError."""

    async def newest(self, *subjects: str) -> list[StoredFact]:
        """The newest fact on each of the given subjects."""

    async def history(self, key: str) -> list[StoredFact]:
        """All facts of one aggregate."""

    async def publish(self, event: Event, correlation: UUID) -> bool:
        """Store the event, unless another one came first; whether it is stored, now or before."""


class Settlement:
    """Charges a job's credit or gives it back, exactly once, in the month it was reserved in.

    Jobs of one month are settled one after another, as each entry follows the one before.
    """

    def __init__(self, log: Log) -> None:
        self._log = log
        self._locks: WeakValueDictionary[UUID, asyncio.Lock] = WeakValueDictionary()

    async def settle(self, request: JobRequested, end: JobEnded, correlation: UUID) -> None:
        """Charge what the job cost, or release its reservation, unless that was done before."""
        if request.period_id is None:
            return
        async with self._locks.setdefault(request.period_id, asyncio.Lock()):
            while True:  # ends, since each refusal means that another entry was stored
                found = await self._log.newest(f"{CreditPosted.SUBJECT}.{request.period_id}")
                entry = _decide(found, request.job_id, end.charged_micro_usd)
                if entry is None or await self._log.publish(entry, correlation):
                    return


def _decide(found: list[StoredFact], job_id: UUID, charged: int) -> CreditPosted | None:
    for fact in found:
        if isinstance(last := fact.event, CreditPosted):
            period = Period(last.account_id, last.month, last, fact.sequence)
            return close_reservation(period, job_id, charged)
    return None


class Texts(Protocol):
    """Texts that expire. Raises: BusError."""

    async def remove(self, ref: EphemeralRef) -> None: ...

    async def remove_answers(self, step: str, until: datetime) -> None: ...


@dataclass(slots=True)
class OpenJob:
    """A job that is not closed. Shapes: `runs` are the runs that it waits for."""

    job: Job
    correlation: UUID
    runs: set[UUID]

    def apply(self, fact: StoredFact) -> None:
        self.job.apply(fact.event)


class JobRules:
    """Rules of the fold `auditor-conclude`."""

    def __init__(self, log: Log, texts: Texts) -> None:
        self._log = log
        self._texts = texts
        self._settlement = Settlement(log)
        self._jobs: dict[str, OpenJob] = {}
        self._by_run: dict[UUID, set[str]] = {}

    async def route(self, fact: StoredFact) -> Sequence[tuple[str, StoredFact]]:
        """The job that a fact belongs to; for the end of a run, all jobs that wait for it."""
        match fact.event:
            case RunFailed(run_id=run) | AssertionAnalysed(analysis_id=run):
                return [(key, fact) for key in sorted(self._by_run.get(run, ()))]
            case AssertionAnalysisRequested(requested_by=job, run_id=run):
                if str(job) in self._jobs:
                    self._wait_for(str(job), {run})
                return ()
            case JobPlanned() as planned if (found := self._jobs.get(planned.key())) is not None:
                others = [each for each in planned.claims if each.run_id is not None and each.run_id not in found.runs]
                self._wait_for(planned.key(), {each.run_id for each in others if each.run_id is not None})
                ends = await asyncio.gather(*(self._find_end(found.job, each) for each in others))
                return [(planned.key(), each) for each in (fact, *ends) if each is not None]
            case event:
                return ((event.key(), fact),)

    async def open(self, fact: StoredFact) -> OpenJob | None:
        request = fact.event
        if not isinstance(request, JobRequested):
            return None
        opened = OpenJob(Job(request.job_id, request), fact.envelope.correlation, set())
        self._jobs[request.key()] = opened
        self._wait_for(request.key(), {step_run_id(request.job_id, step) for step in (EXTRACT, ASSESS)})
        return opened

    def is_over(self, aggregate: OpenJob) -> bool:
        return aggregate.job.over is not None

    def conclude(self, aggregate: OpenJob) -> Event | None:
        """The event that resolves or ends the job; None while it waits for a run."""
        return resolve(aggregate.job)

    async def is_over_in_log(self, key: str, aggregate: OpenJob) -> bool:
        for fact in await self._log.newest(f"{JobEnded.SUBJECT}.{key}"):
            aggregate.apply(fact)
        return self.is_over(aggregate)

    async def close(self, key: str, aggregate: OpenJob) -> None:
        """Settle the job's credit and remove the texts that nothing needs any more."""
        job = aggregate.job
        assert job.requested is not None
        assert job.over is not None
        await self._settlement.settle(job.requested, job.over, aggregate.correlation)
        words = list_removable(job)
        await asyncio.gather(
            *(self._texts.remove_answers(each, job.requested.input.until) for each in words.folders),
            *(self._texts.remove(each) for each in words.texts),
        )
        self._jobs.pop(key, None)
        for run in aggregate.runs:
            self._by_run.get(run, set()).discard(key)
            if not self._by_run.get(run):
                self._by_run.pop(run, None)

    def _wait_for(self, key: str, runs: set[UUID]) -> None:
        self._jobs[key].runs |= runs
        for run in runs:
            self._by_run.setdefault(run, set()).add(key)

    async def _find_end(self, job: Job, claim: PlannedClaim) -> StoredFact | None:
        """The end of the run that a claim waits for, if the log has it."""
        extracted = job.extracted.claims if job.extracted is not None else ()
        assertion = next((each.assertion_id for each in extracted if each.number == claim.number), None)
        subjects = [f"{RunFailed.SUBJECT}.{claim.run_id}"]
        if assertion is not None:
            subjects.append(f"{AssertionAnalysed.SUBJECT}.{assertion}")
        found = await self._log.newest(*subjects)
        if assertion is not None and any(isinstance(each.event, AssertionAnalysed) for each in found):
            found += await self._log.history(str(assertion))  # the newest may be of a later run
        return next((each for each in found if _is_end_of(each.event, claim.run_id)), None)


def _is_end_of(event: Event, run: UUID | None) -> bool:
    match event:
        case RunFailed(run_id=ended) | AssertionAnalysed(analysis_id=ended):
            return ended == run
        case _:
            return False
