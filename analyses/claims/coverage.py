"""How much of an article the claim cache answers. Source: requirement FH-47."""

from __future__ import annotations

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
