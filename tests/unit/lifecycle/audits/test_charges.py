"""What a job reserves and is charged."""

from __future__ import annotations

from itertools import product
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.v1 import JobRequested
from contracts.v1.job import AuditOptions
from lifecycle.audits.charges import (
    Steps,
    StepState,
    compute_charge,
    compute_least,
    compute_most,
    count_affordable,
)
from tests.support.audits import PRICES, asked

JOB = UUID(int=1)
FREE, STARTED, DONE, FAILED = StepState
STATES = st.sampled_from(StepState)
STEPS = st.builds(Steps, STATES, st.lists(STATES, max_size=5).map(tuple), STATES)


def request(reserved: int | None = None, **options: object) -> JobRequested:
    chosen = AuditOptions.model_validate(options)
    amount = compute_most(PRICES, chosen) if reserved is None else reserved
    return asked(JOB, options=chosen).model_copy(update={"reserved_micro_usd": amount})


@pytest.mark.requirement("FH-36", "FH-37")
@pytest.mark.parametrize(
    ("new", "charged"),
    [(0, 33_000), (1, 114_000), (2, 195_000), (3, 276_000), (4, 357_000), (5, 438_000), (10, 843_000)],
)
def test_a_job_pays_for_what_it_bought(new: int, charged: int) -> None:
    """FH-36: Default prices: 0.003 an article (stage 1), 0.081 a NEW claim (stage 2), 0.030 an article (stage 3); a
    cache hit costs 0
    FH-37: 0/1/3/5 new claims cost 0.033 / 0.114 / 0.276 / 0.438, in decimal arithmetic

    FH-36: Default prices are 0.003, 0.081 and 0.030 dollars; a cache hit costs nothing.
    FH-37: Costs are exact decimals.
    """
    assert compute_charge(request(max_claims=10), "SUCCEEDED", Steps(DONE, (DONE,) * new, DONE)) == charged
    assert compute_most(PRICES, AuditOptions(max_claims=new or 1, browsing=new > 0)) == charged


def test_a_memo_and_a_step_that_did_not_run_cost_nothing() -> None:
    assert compute_charge(request(), "SUCCEEDED", Steps(FREE, (FREE, FREE), DONE)) == 30_000
    assert compute_charge(request(), "SUCCEEDED", Steps(DONE, (FAILED, DONE), FREE)) == 84_000


@given(STEPS)
def test_a_failure_and_a_job_of_the_cache_alone_are_free(steps: Steps) -> None:
    assert compute_charge(request(), "FAILED", steps) == 0
    for outcome in ("SUCCEEDED", "CANCELED"):
        assert compute_charge(asked(JOB, cache_only=True), outcome, steps) == 0


@pytest.mark.requirement("FH-155")
@given(STEPS, st.integers(0, 500_000))
def test_a_cancelled_job_pays_for_what_it_began(steps: Steps, reserved: int) -> None:
    """FH-155: Cancellation before the first paid step is free. Later the job pays for its own steps that had started
    and did not fail, at list price, never more than reserved; claims that it paid for stay cached

    FH-155: A cancelled job pays for its own started steps.
    """
    began = {STARTED, DONE}
    price = 3_000 * (steps.extract in began) + 30_000 * (steps.assess in began)
    price += sum(81_000 for each in steps.analyses if each in began)
    assert compute_charge(request(reserved), "CANCELED", steps) == min(price, reserved)
    assert compute_charge(request(), "CANCELED", Steps()) == 0


@pytest.mark.requirement("FH-155")
def test_to_cancel_and_ask_again_is_never_cheaper_than_to_finish() -> None:
    """FH-155: Cancellation before the first paid step is free. Later the job pays for its own steps that had started
    and did not fail, at list price, never more than reserved; claims that it paid for stay cached

    The second job finds what the first began in the cache, extracts again and assesses.

    FH-155: A cancelled job pays for its own started steps.
    """
    finished = compute_charge(request(), "SUCCEEDED", Steps(DONE, (DONE,) * 3, DONE))
    for extract, assess, *analyses in product((FREE, STARTED, DONE), (FREE, STARTED, DONE), *[(FREE, STARTED)] * 3):
        if extract is not DONE and (assess is not FREE or STARTED in analyses):
            continue  # the steps follow one another
        first = compute_charge(request(), "CANCELED", Steps(extract, tuple(analyses), assess))
        again = tuple(FREE if each is STARTED else DONE for each in analyses)
        second = compute_charge(request(), "SUCCEEDED", Steps(DONE, again, DONE))
        assert first + second >= finished


@pytest.mark.parametrize(
    ("reserved", "claims"), [(33_000, 0), (113_999, 0), (114_000, 1), (437_999, 4), (438_000, 5), (9_000_000, 5)]
)
def test_a_reservation_allows_so_many_new_claims(reserved: int, claims: int) -> None:
    assert count_affordable(request(reserved)) == claims
    assert count_affordable(request(reserved, browsing=False)) == 0
    assert count_affordable(asked(JOB, cache_only=True)) == 0


@given(st.integers(33_000, 900_000), st.integers(1, 10))
def test_what_a_reservation_allows_is_never_dearer_than_it(reserved: int, most_claims: int) -> None:
    allowed = count_affordable(request(reserved, max_claims=most_claims))
    price = compute_least(PRICES) + allowed * PRICES.analyse_micro_usd
    assert price <= reserved
    assert allowed == most_claims or price + PRICES.analyse_micro_usd > reserved
