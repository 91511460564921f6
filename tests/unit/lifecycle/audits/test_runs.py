"""Runs of an audit's steps are folded from their facts and planned by the rules that all runs share."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.v1 import Event, JobEnded, JobExtracted, RunAdvanced, RunFailed, RunRetryScheduled, RunStarted
from contracts.v1.ids import memo_id, step_run_id
from contracts.v1.parts import Usage
from contracts.v1.run import RunEnd
from lifecycle.attempts import NothingToDo, OwnedByOtherWorker
from lifecycle.audits.charges import StepState
from lifecycle.audits.runs import ASSESS, EXTRACT, Run, fold_run
from lifecycle.run import NextAttempt
from tests.support.audits import ACCOUNT, hash_of, words
from tests.support.factories import NOW

JOB = UUID(int=1)
RUN, OTHER = step_run_id(JOB, EXTRACT), step_run_id(JOB, ASSESS)
LATER = NOW + timedelta(hours=1)


def started(attempt: int = 1, delivery_count: int = 1, run: UUID = RUN) -> RunStarted:
    return RunStarted(
        run_id=run,
        step=EXTRACT,
        subject_id=JOB,
        attempt=attempt,
        worker="auditor-1",
        delivery_count=delivery_count,
        prompt_version="p-1",
        prompt_sha256=hash_of("prompt"),
        provider="demo",
        model="demo",
        rules="r-1",
    )


def advanced(calls: int = 1, before: str | None = None, run: UUID = RUN) -> RunAdvanced:
    usage = Usage(cost_micro_usd=100 * calls)
    return RunAdvanced(
        run_id=run, attempt=1, calls=calls, before=before, segment=words(f"segment {calls}"), usage=usage
    )


def retried(run: UUID = RUN) -> RunRetryScheduled:
    return RunRetryScheduled(
        run_id=run,
        attempt=1,
        failure="TRANSIENT",
        reason="model_unavailable",
        usage=Usage(cost_micro_usd=250),
        transcript=words("transcript"),
        retry_at=NOW,
    )


def failed(run: UUID = RUN) -> RunFailed:
    return RunFailed(run_id=run, attempt=4, failure="TRANSIENT", reason="model_unavailable")


def extracted(run: UUID = RUN) -> JobExtracted:
    end = RunEnd(run_id=run, attempt=1, model="demo", usage=Usage())
    memo = memo_id(ACCOUNT, hash_of("text"), hash_of("options"), "p-1")
    return JobExtracted(job_id=JOB, extraction=words("extraction"), memo_id=memo, end=end)


def run_of(*events: Event) -> Run:
    return fold_run(RUN, enumerate(events, 1))


HALF = (started(), advanced(), advanced(2, words("segment 1").sha256), retried())


def test_the_next_attempt_goes_on_where_the_last_one_stopped() -> None:
    assert run_of(*HALF).history.plan(2, LATER) == NextAttempt(
        attempt=2,
        follows=1,
        done=(words("segment 1"), words("segment 2")),
        on_record=frozenset(words(each).sha256 for each in ("segment 1", "segment 2", "transcript")),
        spent_micro_usd=250,
    )


@pytest.mark.requirement("FH-169")
def test_a_delivery_is_no_attempt() -> None:
    """FH-169: Delivery and attempt are distinct: `delivery_count` counts deliveries of a message, an attempt is a paid
    try

    FH-169: Deliveries and attempts are counted apart.
    """
    run = run_of(started(attempt=1, delivery_count=7))
    assert isinstance(run.history.plan(7, LATER), OwnedByOtherWorker)
    found = run.history.plan(8, LATER)
    assert isinstance(found, NextAttempt)
    assert found.attempt == 2


@pytest.mark.parametrize(
    ("events", "state"),
    [
        ((), StepState.FREE),
        (HALF, StepState.STARTED),
        ((*HALF, failed()), StepState.FAILED),
        ((*HALF, extracted()), StepState.DONE),
        ((*HALF, extracted(), failed()), StepState.DONE),
        ((*HALF, failed(), extracted()), StepState.FAILED),
    ],
    ids=["not begun", "under way", "failed", "done", "done first", "failed first"],
)
def test_the_first_end_counts(events: tuple[Event, ...], state: StepState) -> None:
    run = run_of(*events)
    assert run.state is state
    assert (run.result is not None, run.failure is not None) == (state is StepState.DONE, state is StepState.FAILED)
    if state in (StepState.DONE, StepState.FAILED):
        assert isinstance(run.history.plan(9, LATER), NothingToDo)


def test_other_runs_and_a_jobs_end_without_a_run_change_nothing() -> None:
    others = (started(run=OTHER), advanced(run=OTHER), retried(OTHER), failed(OTHER), extracted(OTHER))
    canceled = JobEnded(job_id=JOB, outcome="CANCELED", charged_micro_usd=0)
    assert run_of(*HALF, *others, canceled) == run_of(*HALF)


@given(st.lists(st.integers(0, len(HALF)), max_size=8))
def test_repetitions_change_nothing(repeated: list[int]) -> None:
    events = [(number, each) for number, each in enumerate((*HALF, extracted()), 1)]
    twice = [pair for number, pair in enumerate(events) for _ in range(1 + repeated.count(number))]
    one, other = fold_run(RUN, events), fold_run(RUN, twice)
    assert (one.state, one.result, one.history.plan(3, LATER)) == (
        other.state,
        other.result,
        other.history.plan(3, LATER),
    )
