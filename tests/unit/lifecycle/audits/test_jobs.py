"""A job's next step, when its claims are all there, and what it is charged."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.v1 import (
    AssertionAnalysed,
    AssertionAnalysisRequested,
    Event,
    JobEnded,
    JobExtracted,
    JobFetched,
    JobPlanned,
    JobResolved,
    RunFailed,
    RunStarted,
)
from contracts.v1.assertion import AnalysedScenario, Shape
from contracts.v1.ids import memo_id, step_run_id
from contracts.v1.job import LookOutcome, PlannedClaim
from contracts.v1.parts import Usage
from contracts.v1.run import RunEnd, StageModel
from lifecycle.audits.cache import LIFETIME
from lifecycle.audits.conclusion import CLAIM_FAILURES, find_failure, resolve
from lifecycle.audits.jobs import Job, JobStep, needs_assessment
from lifecycle.audits.runs import ANALYSE, ASSESS, EXTRACT
from tests.support.audits import ACCOUNT, asked, hash_of, words
from tests.support.factories import NOW

JOB, OTHER = UUID(int=1), UUID(int=2)
RUNS = [UUID(int=100 + number) for number in range(10)]
OLD = UUID(int=50)


def fetched() -> JobFetched:
    stage = StageModel(step=EXTRACT, provider="demo", model="demo", max_tokens=1)
    return JobFetched(
        job_id=JOB,
        content_sha256=hash_of("text"),
        characters=4,
        reference_day=NOW.date(),
        article=words("article"),
        stages=(stage,),
        score_epoch=0,
    )


def end_of(run: UUID) -> RunEnd:
    return RunEnd(run_id=run, attempt=1, model="demo", usage=Usage())


def extracted(memo_of: UUID | None = None) -> JobExtracted:
    return JobExtracted(
        job_id=JOB,
        extraction=words("extraction"),
        memo_id=memo_id(ACCOUNT, hash_of("text"), hash_of("options"), "p-1"),
        memo_of=memo_of,
        end=end_of(step_run_id(JOB, EXTRACT)) if memo_of is None else None,
    )


def claim(number: int, outcome: LookOutcome, older: UUID | None = None) -> PlannedClaim:
    waits = outcome in ("OWN", "JOINED")
    return PlannedClaim(
        number=number,
        outcome=outcome,
        run_id=RUNS[number] if waits else None,
        analysis_id=OLD if outcome == "HIT" else older,
    )


def planned(*claims: PlannedClaim) -> JobPlanned:
    return JobPlanned(job_id=JOB, claims=claims)


def started(run: UUID, step: str = ANALYSE) -> RunStarted:
    return RunStarted(
        run_id=run,
        step=step,
        subject_id=JOB,
        attempt=1,
        worker="auditor-1",
        delivery_count=1,
        prompt_version="p-1",
        prompt_sha256=hash_of("prompt"),
        provider="demo",
        model="demo",
        rules="r-1",
    )


def bought(run: UUID, job: UUID = JOB) -> AssertionAnalysisRequested:
    return AssertionAnalysisRequested(
        assertion_id=UUID(int=run.int + 1000),
        run_id=run,
        published_key=f"claim:v1norm1:en:{hash_of('canonical')}",
        norm_version="v1norm1",
        language="en",
        canonical_sha256=hash_of("canonical"),
        guard_sha256=hash_of("guard"),
        volatility="SLOW",
        words=words("words"),
        shape=Shape(scenarios=1, evidence=3),
        model=StageModel(step=ANALYSE, provider="demo", model="demo", max_tokens=1),
        requested_by=job,
    )


def analysed(run: UUID) -> AssertionAnalysed:
    return AssertionAnalysed(
        assertion_id=UUID(int=run.int + 1000),
        analysis_id=run,
        shape=Shape(scenarios=1, evidence=3),
        volatility="SLOW",
        expires_at=NOW + LIFETIME,
        body=words("body"),
        scenarios=(AnalysedScenario(ordinal=1, confidence=0.2, label="UNSUBSTANTIATED"),),
        recommended=1,
        rollup="INCONCLUSIVE",
        score_epoch=0,
        end=end_of(run),
    )


def failed(run: UUID, reason: str = "model_unavailable") -> RunFailed:
    return RunFailed(run_id=run, attempt=4, failure="TRANSIENT", reason=reason)


def job_of(*events: Event) -> Job:
    job = Job(JOB)
    for event in events:
        job.apply(event)
    return job


HISTORY: tuple[Event, ...] = (
    asked(JOB),
    fetched(),
    extracted(),
    planned(),
    JobResolved(job_id=JOB, complete=True),
    JobEnded(job_id=JOB, outcome="CANCELED", charged_micro_usd=0),
)


@pytest.mark.parametrize(
    ("stored", "step"), list(enumerate((JobStep.FETCH, *JobStep), 0)), ids=lambda value: getattr(value, "name", value)
)
def test_a_worker_does_what_follows_the_last_fact(stored: int, step: JobStep) -> None:
    assert job_of(*HISTORY[:stored]).next_step is step


def test_other_jobs_facts_change_nothing() -> None:
    others = [each.model_copy(update={"job_id": OTHER}) for each in HISTORY]
    assert job_of(*HISTORY[:3], *others) == job_of(*HISTORY[:3])


OUTCOMES = st.lists(st.sampled_from(["HIT", "OWN", "JOINED", "MISS", "UNUSABLE"]), max_size=6)


@given(OUTCOMES, st.data())
def test_it_is_resolved_once_with_the_last_run_whatever_the_order(
    outcomes: list[LookOutcome], data: st.DataObject
) -> None:
    claims = [claim(number, each) for number, each in enumerate(outcomes, 1)]
    ends = [
        failed(each.run_id) if data.draw(st.booleans()) else analysed(each.run_id) for each in claims if each.run_id
    ]
    order = data.draw(st.permutations(ends))
    doubled: Sequence[Event] = data.draw(st.permutations([*ends, *ends]))
    job = job_of(*HISTORY[:3], planned(*claims))
    for event in order:
        assert resolve(job) is None
        job.apply(event)
    decision = resolve(job)
    assert decision is not None
    before = job_of(*HISTORY[:3], *doubled, planned(*claims), *doubled)
    assert resolve(before) == decision, "runs may end before the plan is stored"
    served = [
        each
        for each in claims
        if each.outcome == "HIT" or isinstance(job.ended.get(each.run_id or JOB), AssertionAnalysed)
    ]
    if isinstance(decision, JobEnded):
        assert (decision.outcome, decision.charged_micro_usd, served) == ("FAILED", 0, [])
        assert ends
    else:
        assert [each.number for each in decision.claims] == [each.number for each in claims]
        assert [each.number for each in decision.claims if each.analysis_id] == [each.number for each in served]
        assert decision.complete == (len(served) == len(claims))
        job.apply(decision)
    job.apply(JobEnded(job_id=JOB, outcome="CANCELED", charged_micro_usd=0))
    assert resolve(job) is None


def test_each_claim_says_what_became_of_it() -> None:
    claims = [claim(1, "HIT"), claim(2, "OWN"), claim(3, "JOINED"), claim(4, "MISS"), claim(5, "UNUSABLE")]
    job = job_of(*HISTORY[:3], planned(*claims), analysed(RUNS[2]), failed(RUNS[3], "cost_limit"))
    decision = resolve(job)
    assert isinstance(decision, JobResolved)
    found = [(each.analysis_id, each.failure) for each in decision.claims]
    assert found == [(OLD, None), (RUNS[2], None), (None, "COST_LIMIT"), (None, None), (None, "NOT_A_CLAIM")]
    assert not decision.complete


def test_the_first_end_of_a_run_counts() -> None:
    job = job_of(*HISTORY[:3], planned(claim(1, "OWN")), analysed(RUNS[1]), failed(RUNS[1]))
    assert isinstance(resolve(job), JobResolved)
    job = job_of(*HISTORY[:3], planned(claim(1, "OWN")), failed(RUNS[1]), analysed(RUNS[1]))
    assert isinstance(resolve(job), JobEnded)


def test_where_a_run_fails_an_older_analysis_serves() -> None:
    """FH-105: a cached analysis under 90 days old, past its horizon, before the job fails."""
    job = job_of(*HISTORY[:3], planned(claim(1, "OWN", older=OLD)), failed(RUNS[1]))
    decision = resolve(job)
    assert isinstance(decision, JobResolved)
    assert decision.claims[0].analysis_id == OLD
    assert decision.complete


@pytest.mark.parametrize(
    ("reason", "code"),
    [
        ("model_unavailable", "SERVICE_UNAVAILABLE"),
        ("search_unavailable", "SERVICE_UNAVAILABLE"),
        ("timeout", "SERVICE_UNAVAILABLE"),
        ("model_refused", "MODEL_REFUSED"),
        ("invalid_answer", "INVALID_ANSWER"),
        ("cost_limit", "COST_LIMIT"),
        ("exhausted", "SERVICE_UNAVAILABLE"),
    ],
)
@pytest.mark.parametrize("step", [EXTRACT, ASSESS])
def test_a_job_fails_with_its_own_step(reason: str, code: str, step: str) -> None:
    run = step_run_id(JOB, step)
    decision = resolve(job_of(asked(JOB), fetched(), started(run, step), failed(run, reason)))
    assert decision == JobEnded(job_id=JOB, outcome="FAILED", code=code, charged_micro_usd=0)


def test_a_reason_that_no_claim_may_have_is_replaced() -> None:
    assert {find_failure(failed(RUNS[0], each.lower())) for each in CLAIM_FAILURES} == CLAIM_FAILURES
    unknown = failed(RUNS[0], "exhausted")
    assert find_failure(unknown) == "MODEL_UNAVAILABLE"
    assert find_failure(unknown.model_copy(update={"failure": "NON_RETRYABLE"})) == "INVALID_ANSWER"


OWN = (claim(1, "OWN"), claim(2, "JOINED"), claim(3, "HIT"), claim(4, "OWN"))


@pytest.mark.parametrize(
    ("events", "charged"),
    [
        ((), 0),
        ((fetched(),), 0),
        ((fetched(), started(step_run_id(JOB, EXTRACT), EXTRACT)), 3_000),
        ((fetched(), extracted()), 3_000),
        ((fetched(), extracted(memo_of=OTHER)), 0),
        ((fetched(), extracted(), bought(RUNS[1])), 84_000),
        ((fetched(), extracted(), bought(RUNS[1], OTHER)), 3_000),
        ((fetched(), extracted(), bought(RUNS[1]), planned(*OWN)), 165_000),
        ((fetched(), extracted(), planned(*OWN)), 165_000),
        ((fetched(), extracted(), planned(*OWN), started(RUNS[1]), failed(RUNS[1]), analysed(RUNS[2])), 84_000),
        ((fetched(), extracted(memo_of=OTHER), planned(*OWN), analysed(RUNS[1]), analysed(RUNS[4])), 162_000),
        ((fetched(), extracted(), planned(*OWN[1:3]), started(step_run_id(JOB, ASSESS), ASSESS)), 33_000),
    ],
    ids=[
        *("asked", "fetched", "extracting", "extracted", "memo", "buying", "another buys", "bought"),
        *("planned", "one failed", "analysed", "assessing"),
    ],
)
@pytest.mark.requirement("FH-155")
def test_a_job_that_is_cancelled_pays_for_what_it_began(events: tuple[Event, ...], charged: int) -> None:
    """FH-155: Cancellation before the first paid step is free. Later the job pays for its own steps that had started
    and did not fail, at list price, never more than reserved; claims that it paid for stay cached

    FH-155: A cancelled job pays for its own started steps.
    """
    request = asked(JOB).model_copy(update={"reserved_micro_usd": 438_000})
    job = job_of(request, *events)
    end = job.cancel()
    assert end == JobEnded(job_id=JOB, outcome="CANCELED", charged_micro_usd=charged)
    job.apply(end)
    assert job.cancel() is None
    assert Job(JOB).cancel() is None


def test_a_job_that_succeeds_pays_for_what_it_did() -> None:
    request = asked(JOB).model_copy(update={"reserved_micro_usd": 438_000})
    job = job_of(request, fetched(), extracted(), planned(*OWN), analysed(RUNS[1]), analysed(RUNS[2]), failed(RUNS[4]))
    assert job.charge("SUCCEEDED", assessed=True) == 114_000
    assert job.charge("SUCCEEDED") == 84_000
    assert job.charge("FAILED", assessed=True) == 0


@pytest.mark.requirement("FH-48")
@pytest.mark.parametrize(
    ("analysed", "missing", "failed", "with_credit", "without"),
    [
        (0, 0, 0, True, True),
        (2, 0, 0, True, True),
        (2, 0, 1, True, True),
        (2, 1, 0, True, False),
        (2, 1, 1, True, False),
        (0, 2, 0, False, False),
        (0, 0, 2, False, False),
        (0, 1, 1, False, False),
    ],
)
def test_an_article_is_assessed_if_there_is_something_to_assess(
    analysed: int, missing: int, failed: int, with_credit: bool, without: bool
) -> None:
    """FH-48: In cache-only mode stage 3 runs with full coverage only."""
    assert needs_assessment("CREDIT", analysed=analysed, missing=missing, failed=failed) == with_credit
    assert needs_assessment("CACHE_ONLY", analysed=analysed, missing=missing, failed=failed) == without
