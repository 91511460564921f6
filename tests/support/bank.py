"""An account over days and months: jobs come in, go on, end, are cancelled and settled, in an order that a seed draws.

Intake, charges and settlement are the system's own; what they must come to is counted here from amounts alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from typing import Final
from uuid import UUID

from contracts.accounts import credit_month
from contracts.v1 import CreditPosted, Event, JobEnded, RunStarted
from contracts.v1.ids import period_id, step_run_id
from contracts.v1.job import AuditOptions, CachePreference
from lifecycle.audits.charges import count_affordable
from lifecycle.audits.credits import Period, Refused, Terms
from lifecycle.audits.intake import NewJob, book
from lifecycle.audits.jobs import Job, JobStep
from lifecycle.audits.runs import ASSESS, EXTRACT
from services.auditor.concluding import Settlement
from tests.support.audits import ACCOUNT, PRICES, asked
from tests.support.concluding_jobs import Log, analysed, ended, extracted, failed, fetched, planned
from tests.support.factories import NOW

TERMS: Final = (
    Terms(10_000_000, hard=True, max_open_jobs=5),
    Terms(1_000_000, hard=True, max_open_jobs=5),
    Terms(200_000, hard=True, max_open_jobs=3),
    Terms(1_000_000, hard=False, max_open_jobs=20),
    Terms(None, hard=False, max_open_jobs=20),
)
PREFERENCES: Final[tuple[CachePreference, ...]] = ("PREFER_CACHE", "PREFER_CACHE", "ALLOW_PARTIAL", "CACHE_ONLY")
START: Final = NOW.replace(month=12, day=31, hour=6)
CORRELATION: Final = UUID(int=1)


@dataclass
class Bank:
    """One account. Shapes: `periods` are its months by id."""

    seed: int
    log: Log = field(default_factory=Log)
    jobs: dict[UUID, Job] = field(default_factory=dict)
    periods: dict[UUID, Period] = field(default_factory=dict)
    now: datetime = START

    def __post_init__(self) -> None:
        self.draw = Random(self.seed)
        self.terms = self.draw.choice(TERMS)
        self._settlement = Settlement(self.log)

    async def live(self, steps: int) -> None:
        """Take this many random steps; at the end all jobs are over and settled, some of them twice."""
        for _ in range(steps):
            before = len(self.entries)
            match self.draw.choice("aaagggggggcfssd"):
                case "a":
                    self._accept()
                case "g":
                    self._go_on()
                case "c":
                    self._end(self._pick(over=False), cancel=True)
                case "f":
                    self._end(self._pick(over=False), cancel=False)
                case "s":
                    await self._settle(self._pick(over=True))
                case _:
                    self.now += timedelta(hours=self.draw.randint(1, 40))
            if len(self.entries) > before:
                require_sums(self)
        for job in [each for each in self.jobs.values() if each.over is None]:
            self._end(job, cancel=self.draw.random() < 0.5)
        for job in self.draw.choices(list(self.jobs.values()), k=3) if self.jobs else ():
            await self._settle(job)
        for job in self.jobs.values():
            await self._settle(job)
        require_sums(self)

    def _store(self, event: Event) -> bool:
        stored = self.log.store(event)
        for job in self.jobs.values() if stored else ():
            job.apply(event)
        return stored

    def _accept(self) -> None:
        """A request of the account, whose gateway may have looked before another one stored its own."""
        number = len(self.jobs)
        options = AuditOptions(max_claims=self.draw.randint(1, 10), cache_preference=self.draw.choice(PREFERENCES))
        job = NewJob(UUID(int=self.seed << 32 | number + 1), options, PRICES, self.now.date())
        month = credit_month(self.now)
        period = self._read(month)
        elsewhere = sum(len(each.open) for each in self.periods.values() if each.month != month)
        posted = book(period, self.terms, job, open_elsewhere=elsewhere)
        if isinstance(posted, Refused):
            return
        if self.draw.random() < 0.2 and period.last is not None:  # looked too early: nothing of it is stored
            stale = posted.model_copy(update={"follows": period.follows - 1})
            assert not self.log.store(stale)
            return
        assert self._store(posted)
        self.periods[posted.period_id] = self._read(month)
        pays = posted.entry == "RESERVED"
        self.jobs[job.job_id] = Job(job.job_id)
        request = asked(job.job_id, cache_only=not pays, options=options)
        given = {"period_id": posted.period_id if pays else None, "reserved_micro_usd": posted.micro_usd}
        assert self._store(request.model_copy(update=given))

    def _go_on(self) -> None:
        """One thing that happens to a job that is not over."""
        job = self._pick(over=False)
        if job is None or job.requested is None:
            return
        match job.next_step:
            case JobStep.FETCH:
                self._store(fetched(job.job_id))
            case JobStep.EXTRACT if step_run_id(job.job_id, EXTRACT) not in job.started:
                self._store(_started(job.job_id, EXTRACT))
            case JobStep.EXTRACT:
                self._store(extracted(job.job_id, *self._runs(job)))
            case JobStep.PLAN:
                own = self.draw.randint(0, count_affordable(job.requested))
                self._store(planned(job.job_id, *self._runs(job)[:own]))
            case _ if waiting := sorted(job.awaited - job.ended.keys()):
                run = waiting[0]
                self._store(failed(run) if self.draw.random() < 0.2 else analysed(run))
            case _ if step_run_id(job.job_id, ASSESS) not in job.started:
                self._store(_started(job.job_id, ASSESS))
            case _:
                self._store(ended(job.job_id, job.charge("SUCCEEDED", assessed=True)))

    def _end(self, job: Job | None, *, cancel: bool) -> None:
        if job is not None:
            end = job.cancel() if cancel else _fail(job.job_id)
            assert end is not None
            self._store(end)

    async def _settle(self, job: Job | None) -> None:
        """Settle as one of two folds does, which may come first or second, and may lose against another entry."""
        if job is None:
            return
        assert job.requested is not None
        assert job.over is not None
        self.log.refuse = self.draw.choice((0, 0, 1))
        await self._settlement.settle(job.requested, job.over, CORRELATION)
        self.log.refuse = 0
        if (period := job.requested.period_id) is not None:
            self.periods[period] = self._read(self.periods[period].month)

    def _pick(self, *, over: bool) -> Job | None:
        found = [each for each in self.jobs.values() if (each.over is not None) == over]
        return self.draw.choice(found) if found else None

    def _runs(self, job: Job) -> list[UUID]:
        """Runs of the job's own claims; every other number, since two in a row are about one assertion."""
        return [UUID(int=job.job_id.int << 8 | 2 * number) for number in range(10)]

    def _read(self, month: str) -> Period:
        found = self.log.newest_by_subject.get(f"{CreditPosted.SUBJECT}.{period_id(ACCOUNT, month)}")
        if found is None:
            return Period(ACCOUNT, month)
        assert isinstance(found.event, CreditPosted)
        return Period(ACCOUNT, month, found.event, found.sequence)

    @property
    def entries(self) -> list[CreditPosted]:
        """All entries about credit."""
        return [each.event for each in self.log.facts.entries if isinstance(each.event, CreditPosted)]


def require_sums(bank: Bank) -> None:
    """Assert that each month's used and reserved credit match what was settled and is open, within the limit."""
    settled: dict[UUID, dict[UUID, int]] = {}
    for each in bank.entries:
        if each.entry in ("SETTLED", "RELEASED"):
            assert each.job_id is not None
            of_month = settled.setdefault(each.period_id, {})
            assert each.job_id not in of_month, "a job is settled once"
            of_month[each.job_id] = each.micro_usd if each.entry == "SETTLED" else 0
    for id_, period in bank.periods.items():
        requests = (each.requested for each in bank.jobs.values() if each.requested is not None)
        paying = [each for each in requests if each.period_id == id_]
        done = settled.get(id_, {})
        open_ = {each.job_id: each.reserved_micro_usd for each in paying if each.job_id not in done}
        assert period.used == sum(done.values())
        assert {each.job_id: each.micro_usd for each in period.open} == open_
        assert all(amount >= 0 for amount in (*open_.values(), *done.values()))
        for request in paying:
            if request.job_id in done:
                end = bank.jobs[request.job_id].over
                assert end is not None
                assert done[request.job_id] == end.charged_micro_usd <= request.reserved_micro_usd
        limit = bank.terms.limit_micro_usd
        if bank.terms.hard and limit is not None:
            assert period.used + period.reserved <= limit
            assert period.left(limit) == limit - period.used - period.reserved
    assert sum(len(each.open) for each in bank.periods.values()) <= bank.terms.max_open_jobs


def _fail(job: UUID) -> JobEnded:
    return JobEnded(job_id=job, outcome="FAILED", code="INTERNAL", charged_micro_usd=0)


def _started(job: UUID, step: str) -> RunStarted:
    return RunStarted(
        run_id=step_run_id(job, EXTRACT if step == EXTRACT else ASSESS),
        step=step,
        subject_id=job,
        attempt=1,
        worker="auditor-1",
        delivery_count=1,
        prompt_version="p-1",
        prompt_sha256="0" * 64,
        provider="demo",
        model="demo",
        rules="r-1",
    )
