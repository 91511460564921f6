"""Jobs are concluded once whatever the order of facts, and the credit of each is settled once, in its own month."""

from __future__ import annotations

import asyncio
from random import Random
from uuid import UUID

import pytest

from contracts.v1 import CreditPosted, JobEnded, JobResolved
from contracts.v1.ids import period_id, step_run_id
from lifecycle.audits.credits import Period, Refused, Terms, reserve
from lifecycle.audits.jobs import Job
from lifecycle.audits.runs import EXTRACT
from lifecycle.audits.words import open_folder
from tests.support.audits import ACCOUNT, MONTH, PERIOD, asked, reserved
from tests.support.concluding_jobs import (
    Fold,
    Log,
    Texts,
    analysed,
    assertion_of,
    ended,
    extracted,
    failed,
    fetched,
    of_month,
    period_entries,
    planned,
    requested_analysis,
)

JOB, OTHER = UUID(int=1), UUID(int=2)
RUNS = [UUID(int=100 + number) for number in range(6)]
MONTHS = {month: period_id(ACCOUNT, month) for month in (MONTH, "2027-01")}
SEQUENCES = 10_000
SHARES = 4
"""The sequences are shared among so many tests, which run beside each other."""


def resolved(log: Log) -> list[JobResolved]:
    return [each for each in log.facts.events if isinstance(each, JobResolved)]


def log_of(*jobs: UUID) -> Log:
    """Requested jobs, each with its reservation, ready to be planned with one claim that waits."""
    log = Log()
    for job in jobs:
        last = log.newest_by_subject.get(f"{CreditPosted.SUBJECT}.{PERIOD}")
        before = last.event if last is not None and isinstance(last.event, CreditPosted) else None
        assert log.store(reserved(job, before, last.sequence if last is not None else 0))
        for event in (asked(job), fetched(job), extracted(job, RUNS[0])):
            assert log.store(event)
    return log


async def test_one_end_of_a_run_resolves_all_jobs_that_wait_for_it() -> None:
    log = log_of(JOB, OTHER)
    log.store(planned(JOB, RUNS[0]))
    log.store(planned(OTHER, RUNS[0], own=False))
    fold = Fold(log)
    await fold.read()
    assert resolved(log) == []
    log.store(analysed(RUNS[0]))
    await fold.read()
    assert {each.job_id for each in resolved(log)} == {JOB, OTHER}
    assert all(each.complete for each in resolved(log))


@pytest.mark.parametrize("later", [False, True], ids=["the newest", "behind a later analysis"])
async def test_a_run_that_ended_before_the_plan_is_found_in_the_log(later: bool) -> None:
    log = log_of(JOB)
    log.store(analysed(RUNS[0]))
    if later:
        assert assertion_of(RUNS[1]) == assertion_of(RUNS[0])
        log.store(analysed(RUNS[1], follows=len(log.facts.entries)))
    log.store(planned(JOB, RUNS[0], own=False))
    await Fold(log).read()
    (found,) = resolved(log)
    assert found.claims[0].analysis_id == RUNS[0]


async def test_a_job_waits_for_a_run_of_its_own_from_the_request_on() -> None:
    """The end is stored before the plan, and the log is not asked for it."""
    log = log_of(JOB, OTHER)
    log.store(requested_analysis(RUNS[0], JOB))
    log.store(analysed(RUNS[0]))
    log.newest_by_subject.clear()
    log.store(planned(JOB, RUNS[0]))
    log.store(planned(OTHER, RUNS[0], own=False))
    await Fold(log).read()
    assert [each.job_id for each in resolved(log)] == [JOB]


async def test_a_run_that_failed_before_the_plan_is_found_too() -> None:
    log = log_of(JOB)
    log.store(failed(RUNS[0]))
    log.store(planned(JOB, RUNS[0], own=False))
    await Fold(log).read()
    end = log.facts.events[-1]
    assert isinstance(end, JobEnded)
    assert (end.outcome, end.code) == ("FAILED", "SERVICE_UNAVAILABLE")


async def test_a_step_that_fails_ends_its_job_alone() -> None:
    log = log_of(JOB, OTHER)
    fold = Fold(log)
    log.store(failed(step_run_id(JOB, EXTRACT), "invalid_answer"))
    await fold.read()
    ends = [each for each in log.facts.events if isinstance(each, JobEnded)]
    assert [(each.job_id, each.code) for each in ends] == [(JOB, "INVALID_ANSWER")]


@pytest.mark.requirement("FH-40")
@pytest.mark.parametrize(
    ("end", "entry", "used"),
    [
        (ended(JOB), "SETTLED", 84_000),
        (JobEnded(job_id=JOB, outcome="FAILED", code="INTERNAL", charged_micro_usd=0), "RELEASED", 0),
        (JobEnded(job_id=JOB, outcome="CANCELED", charged_micro_usd=3_000), "SETTLED", 3_000),
        (JobEnded(job_id=JOB, outcome="CANCELED", charged_micro_usd=0), "RELEASED", 0),
    ],
    ids=lambda value: getattr(value, "outcome", value),
)
async def test_an_end_settles_what_it_charges_and_releases_the_rest(end: JobEnded, entry: str, used: int) -> None:
    """FH-40: Credit is reserved at intake and settled at the end."""
    log = log_of(JOB, OTHER)
    log.store(end)
    log.refuse = 2  # others post meanwhile
    await Fold(log).read()
    last = period_entries(log)[-1]
    assert (last.entry, last.job_id, last.used_micro_usd) == (entry, JOB, used)
    assert [each.job_id for each in last.open] == [OTHER]


async def test_a_fold_that_dies_between_credit_and_mark_settles_once() -> None:
    log = log_of(JOB)
    log.store(ended(JOB))
    first = Fold(log)
    await first.read()
    before = len(log.facts.entries)
    await Fold(log).read()
    assert len(log.facts.entries) == before
    dying = Fold(log)
    await dying.read(close=False)
    assert dying.mark < dying.position, "an open job holds the mark"


async def test_a_job_without_reservation_posts_nothing() -> None:
    log = Log()
    log.store(asked(JOB, cache_only=True))
    log.store(ended(JOB, 0))
    await Fold(log).read()
    assert period_entries(log) == []


@pytest.mark.requirement("FH-139")
async def test_the_articles_text_goes_with_the_end_of_its_job_and_a_cancelled_job_keeps_nothing() -> None:
    """FH-139: An article's text is gone when its job ends."""
    log, texts = log_of(JOB), Texts()
    log.store(ended(JOB))
    await Fold(log, texts).read()
    assert texts.folders == [open_folder(JOB)]
    assert texts.texts == []
    log, texts = log_of(JOB), Texts()
    log.store(JobEnded(job_id=JOB, outcome="CANCELED", charged_micro_usd=0))
    await Fold(log, texts).read()
    assert texts.folders == [str(JOB)]
    assert texts.texts == [asked(JOB).input, extracted(JOB).extraction]


async def test_a_cancelled_job_keeps_its_request_until_the_webhook_was_sent() -> None:
    log, texts = Log(), Texts()
    log.store(asked(JOB, cache_only=True).model_copy(update={"has_webhook": True}))
    log.store(JobEnded(job_id=JOB, outcome="CANCELED", charged_micro_usd=0))
    await Fold(log, texts).read()
    assert texts.texts == []


class History:
    """A random history of one account: intake, plans, ends, cancellations, months that change, and two folds.

    The folds read behind each other, sometimes every fact twice, and die.
    """

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.log = Log()
        self.terms = self.random.choice(
            (Terms(10_000_000, hard=True, max_open_jobs=5), Terms(300_000, hard=True, max_open_jobs=3))
        )
        self.month = MONTH
        self.folds = [Fold(self.log), Fold(self.log)]
        self.jobs: list[UUID] = []

    def period(self, month: str) -> Period:
        last = self.log.newest_by_subject.get(f"{CreditPosted.SUBJECT}.{MONTHS[month]}")
        if last is None or not isinstance(last.event, CreditPosted):
            return Period(ACCOUNT, month)
        return Period(ACCOUNT, month, last.event, last.sequence)

    def take_in(self) -> None:
        job = UUID(int=len(self.jobs) + 1)
        entry = reserve(self.period(self.month), self.terms, job, most=276_000, least=33_000)
        if isinstance(entry, CreditPosted):
            self.log.store(entry)
            self.log.store(of_month(asked(job), MONTHS[self.month], entry.micro_usd))
            self.jobs.append(job)
        else:
            assert isinstance(entry, Refused)

    def plan(self, job: UUID) -> None:
        runs = self.random.sample(RUNS[::2], self.random.randint(0, 2))
        self.log.store(extracted(job, *runs))
        self.log.store(planned(job, *runs))

    def end(self, job: UUID) -> None:
        folded = Job(job)
        for event in self.log.facts.events:
            folded.apply(event)
        if self.random.random() < 0.5:
            cancelled = folded.cancel()
            if cancelled is not None:
                self.log.store(cancelled)
        elif folded.resolved is not None:
            self.log.store(ended(job, folded.charge("SUCCEEDED", assessed=True)))

    async def step(self) -> None:
        random, job = self.random, self.random.choice(self.jobs) if self.jobs else None
        match random.choice("iipprefffxm"):
            case "i":
                self.take_in()
            case "p" if job is not None:
                self.plan(job)
            case "r":
                run = random.choice(RUNS[::2])
                self.log.store(analysed(run) if random.random() < 0.6 else failed(run))
            case "e" if job is not None:
                self.end(job)
            case "f":
                await random.choice(self.folds).read(random.randint(1, 6), twice=random.random() < 0.3)
            case "x":
                number = random.randrange(2)
                await self.folds[number].read(random.randint(0, 4), close=False)
                self.folds[number] = await self.folds[number].restarted()
            case "m":
                self.month = "2027-01"
            case _:
                pass

    async def finish(self) -> None:
        for job in self.jobs:
            if self.random.random() < 0.7:
                self.log.store(JobEnded(job_id=job, outcome="FAILED", code="INTERNAL", charged_micro_usd=0))
        length = 0
        while length != len(self.log.facts.entries):
            length = len(self.log.facts.entries)
            await self.folds[0].read()
            await self.folds[1].read()

    def require_balance(self) -> None:
        over = {each.job_id: each for each in self.log.facts.events if isinstance(each, JobEnded)}
        for month, period in MONTHS.items():
            entries = [each for each in period_entries(self.log) if each.period_id == period]
            mine = [each.job_id for each in entries if each.entry == "RESERVED"]
            closed = [each.job_id for each in entries if each.entry in ("SETTLED", "RELEASED")]
            assert sorted(closed, key=str) == sorted((each for each in mine if each in over), key=str)
            found = self.period(month)
            assert {each.job_id for each in found.open} == {each for each in mine if each not in over}
            amounts = {each.job_id: each.micro_usd for each in entries if each.entry == "RESERVED"}
            charged = [min(over[each].charged_micro_usd, amounts[each]) for each in mine if each in over]
            assert found.used == sum(charged)
            for each in entries:
                reserved_ = sum(one.micro_usd for one in each.open)
                assert 0 <= each.used_micro_usd + reserved_ <= (self.terms.limit_micro_usd or 0)


@pytest.mark.requirement("FH-40")
@pytest.mark.parametrize("share", range(SHARES))
def test_balances_add_up_over_any_sequence_of_jobs(share: int) -> None:
    """FH-40: Credit is reserved at intake and settled at the end.

    10,000 random sequences of intake, settlement, cancellation and change of the month, with two folds.
    """

    async def check() -> None:
        for seed in range(share, SEQUENCES, SHARES):
            history = History(seed)
            for _ in range(history.random.randint(4, 16)):
                await history.step()
            await history.finish()
            history.require_balance()
            before = len(history.log.facts.entries)
            await Fold(history.log).read()
            assert len(history.log.facts.entries) == before, "a fold of everything again adds nothing"

    asyncio.run(check())
