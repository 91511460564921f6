"""Money is whole micro-dollars, and what the claim cache saves is stated."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyses.claims.costs import DEFAULT_PRICES, Prices, add_costs, compare_prices, format_dollars, to_dollars
from analyses.claims.coverage import Coverage, hit_rate
from tests.support.audit_cases import Case, read_cases


class Priced(Case):
    new_claims: int
    usd: Decimal


AMOUNTS = st.integers(0, 10**12)


@pytest.mark.parametrize("case", read_cases("costs", list[Priced]), ids=str)
@pytest.mark.requirement("FH-36", "FH-37")
def test_the_printed_costs(case: Priced) -> None:
    """FH-36: Default prices are 0.003, 0.081 and 0.030 dollars; a cache hit costs nothing.
    FH-37: Costs are exact decimals.
    """
    assert to_dollars(add_costs(DEFAULT_PRICES, case.new_claims).total) == case.usd


@given(st.builds(Prices, AMOUNTS, AMOUNTS, AMOUNTS), st.integers(0, 10), st.booleans(), st.booleans())
@pytest.mark.requirement("FH-12", "FH-36")
def test_the_parts_are_the_sum(prices: Prices, new: int, extracted: bool, assessed: bool) -> None:
    """FH-12: The parts of a cost add up to the estimate.
    FH-36: Default prices are 0.003, 0.081 and 0.030 dollars; a cache hit costs nothing.
    """
    costs = add_costs(prices, new, extracted=extracted, assessed=assessed)
    assert costs.total == costs.extraction + costs.new_claims + costs.cached_claims + costs.assessment
    assert costs.cached_claims == 0
    assert bool(costs.extraction) == (extracted and prices.extraction > 0)
    assert bool(costs.assessment) == (assessed and prices.assessment > 0)


@given(st.integers(-(10**15), 10**15))
@pytest.mark.requirement("FH-37")
def test_dollars_are_exact(micro_usd: int) -> None:
    """FH-37: Costs are exact decimals."""
    dollars = to_dollars(micro_usd)
    assert dollars * 1_000_000 == micro_usd
    assert "E" not in str(dollars)
    assert Decimal(format_dollars(micro_usd).replace("$", "")) == dollars


@pytest.mark.parametrize(
    ("micro_usd", "text"),
    [(81_000, "$0.081"), (162_000, "$0.162"), (30_000_000, "$30.00"), (-500_000, "-$0.50"), (1, "$0.000001")],
)
def test_dollars_for_people(micro_usd: int, text: str) -> None:
    assert format_dollars(micro_usd) == text


@pytest.mark.parametrize(
    ("old", "new", "percent"), [(81_000, 45_000, 44), (45_000, 81_000, -80), (5, 5, 0), (200, 199, 1), (0, 5, None)]
)
@pytest.mark.requirement("FH-25")
def test_savings(old: int, new: int, percent: int | None) -> None:
    """FH-25: Savings are whole per cent of the old price, negative where the new one is dearer."""
    assert compare_prices(old, new) == percent


@pytest.mark.parametrize(("cached", "missing", "percent"), [(3, 2, 60), (0, 0, 0), (1, 0, 100), (1, 7, 13), (2, 1, 67)])
@pytest.mark.requirement("FH-47")
def test_coverage(cached: int, missing: int, percent: int) -> None:
    """FH-47: Coverage and the price to complete are stated."""
    assert Coverage(cached, missing).percent == percent


@pytest.mark.requirement("FH-47")
def test_the_price_to_complete() -> None:
    """FH-47: Coverage and the price to complete are stated."""
    assert format_dollars(Coverage(3, 2).price_to_complete(DEFAULT_PRICES)) == "$0.162"


@pytest.mark.parametrize(("cached", "new", "rate"), [(189, 113, "0.626"), (0, 0, "0.000"), (5, 0, "1.000")])
@pytest.mark.requirement("FH-23")
def test_the_hit_rate(cached: int, new: int, rate: str) -> None:
    """FH-23: The cache hit rate is cached over all claims, to three places."""
    assert str(hit_rate(cached, new)) == rate
