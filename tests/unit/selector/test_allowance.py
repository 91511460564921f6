"""A day's budgets, in runs and in money, are never knowingly exceeded, and nothing is held back without a reason."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.selector.domain import Budget, Spent, find_allowance
from services.selector.settings import SelectorSettings

DAY = Budget(100, 5_000_000)


@given(st.integers(0, 200), st.integers(0, 400), st.integers(1, 50))
def test_no_round_takes_more_than_batch_or_runs(budget: int, runs: int, batch: int) -> None:
    allowed = find_allowance(Budget(budget), Spent(runs=runs), batch).runs
    assert 0 <= allowed <= batch
    assert allowed == 0 or runs + allowed <= budget
    assert allowed == batch or runs + allowed >= min(budget, runs)


@pytest.mark.requirement("2.10-02")
@given(st.integers(0, 10**9), st.integers(0, 10**9), st.integers(0, 30), st.integers(1, 10**7), st.integers(1, 50))
def test_what_is_under_way_and_what_is_taken_fits_the_money(
    budget: int, spent: int, under_way: int, usual: int, batch: int
) -> None:
    """2.10-02: Budget configurable."""
    allowed = find_allowance(
        Budget(1_000, budget), Spent(micro_usd=spent, under_way=under_way, typical_micro_usd=usual), batch
    ).runs
    assert 0 <= allowed <= batch
    assert allowed == 0 or spent + (under_way + allowed) * usual <= budget
    assert allowed == batch or spent + (under_way + allowed + 1) * usual > budget


@pytest.mark.parametrize(
    ("spent", "runs", "limit"),
    [
        (Spent(), 1, "$5.00 a day, and the cost of a run is not known yet"),
        (Spent(runs=1, under_way=1), 0, "$5.00 a day, and the cost of a run is not known yet"),
        (Spent(runs=1, micro_usd=400_000, typical_micro_usd=400_000), 8, "8 in one round"),
        (Spent(runs=9, micro_usd=4_000_000, typical_micro_usd=400_000), 2, "$5.00 a day, at $0.40 a run"),
        (Spent(micro_usd=5_000_000), 0, "$5.00 a day"),
        (Spent(typical_micro_usd=0), 8, "8 in one round"),
        (Spent(runs=97, typical_micro_usd=0), 3, "100 runs a day"),
        (Spent(unpriced=1), 0, "$5.00 a day, but the model's price is not known; see OPENERRATA_MODEL_PRICES"),
    ],
)
def test_what_limits_a_round(spent: Spent, runs: int, limit: str) -> None:
    allowed = find_allowance(DAY, spent, 8)
    assert (allowed.runs, allowed.limit) == (runs, limit)


def test_unknown_prices_matter_only_to_a_budget_in_money() -> None:
    assert find_allowance(Budget(100), Spent(unpriced=7), 8).runs == 8


def test_settings_are_in_dollars() -> None:
    assert SelectorSettings(usd_per_day=Decimal("0.29"), runs_per_day=7).budget == Budget(7, 290_000)
    assert SelectorSettings().budget == Budget(100)
