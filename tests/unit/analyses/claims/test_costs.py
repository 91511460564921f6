"""Money is whole micro-dollars, and what the claim cache saves is stated."""

from __future__ import annotations

import pytest

from analyses.claims.costs import DEFAULT_PRICES, Coverage, compare_prices, format_dollars


@pytest.mark.parametrize(
    ("micro_usd", "text"),
    [(81_000, "$0.081"), (162_000, "$0.162"), (30_000_000, "$30.00"), (-500_000, "-$0.50"), (1, "$0.000001")],
)
def test_dollars_for_people(micro_usd: int, text: str) -> None:
    assert format_dollars(micro_usd) == text


@pytest.mark.parametrize(
    ("old", "new", "percent"),
    [(81_000, 45_000, 44), (45_000, 81_000, -80), (5, 5, 0), (5, 0, 100), (200, 199, 1), (0, 5, None)],
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
