"""How much of an article the claim cache answers. Source: requirements FH-23, FH-47."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from typing import NamedTuple

from analyses.claims.costs import Prices


class Coverage(NamedTuple):
    """Claims with and without a usable analysis."""

    cached: int
    missing: int

    @property
    def total(self) -> int:
        """All claims."""
        return self.cached + self.missing

    @property
    def percent(self) -> int:
        """The share that is cached, in whole per cent, halves up; 0 without claims."""
        return (200 * self.cached + self.total) // (2 * self.total) if self.total else 0

    def price_to_complete(self, prices: Prices) -> int:
        """What the missing claims cost, in micro-dollars."""
        return self.missing * prices.new_claim


def hit_rate(cached: int, new: int) -> Decimal:
    """The share of claims that came from the cache, three places; 0 without claims."""
    share = Decimal(cached) / max(1, cached + new)
    return share.quantize(Decimal("0.001"), ROUND_HALF_UP)
