"""Jobs beyond their deadline end once, whichever curator sees them first."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest

from contracts.v1 import JobEnded
from services.curator.overdue import Deadlines, OpenJob
from tests.support.audits import asked
from tests.support.curating import JobsLog, Metrics
from tests.support.factories import NOW
from tests.support.fakes import StillClock

JOB, LATER = UUID(int=1), UUID(int=2)
DEADLINE = asked(JOB).deadline_at


async def folded(log: JobsLog, clock: StillClock) -> Deadlines:
    """A curator that has read the log."""
    deadlines = Deadlines(log, Metrics(), clock)
    open_: dict[str, OpenJob] = {}
    for fact in log.facts.entries:
        for key, each in await deadlines.route(fact):
            if key in open_:
                open_[key].apply(each)
            elif (opened := await deadlines.open(each)) is not None:
                open_[key] = opened
            assert deadlines.conclude(open_[key]) is None
            if deadlines.is_over(open_[key]):
                await deadlines.close(key, open_.pop(key))
    return deadlines


@pytest.mark.requirement("FH-171")
async def test_two_curators_end_an_overdue_job_once() -> None:
    """FH-171: Overdue jobs fail and release their credit."""
    later = asked(LATER).model_copy(update={"deadline_at": DEADLINE + timedelta(minutes=1)})
    log, clock = JobsLog(asked(JOB), later), StillClock(DEADLINE - timedelta(seconds=1))
    curators = [await folded(log, clock) for _ in range(2)]
    assert [await each.end_overdue() for each in curators] == [0, 0]
    clock.time = DEADLINE
    assert [await each.end_overdue() for each in curators] == [1, 0]
    assert [await each.end_overdue() for each in curators] == [0, 0]
    ends = [each for each in log.facts.events if isinstance(each, JobEnded)]
    assert [(each.job_id, each.outcome, each.code, each.charged_micro_usd) for each in ends] == [
        (JOB, "FAILED", "DEADLINE_EXCEEDED", 0)
    ]


async def test_a_job_that_ended_in_time_is_left_alone() -> None:
    log = JobsLog(asked(JOB), JobEnded(job_id=JOB, outcome="CANCELED", charged_micro_usd=0))
    deadlines = await folded(log, StillClock(NOW + timedelta(days=1)))
    assert await deadlines.end_overdue() == 0
    deadlines.clear()
    assert len(log.facts.events) == 2
