"""What an audit costs, in whole micro-dollars. Source: requirements C.1, FH-47."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from typing import Final, NamedTuple


class Prices(NamedTuple):
    """Prices in micro-dollars; those of a job are frozen when it is accepted."""

    extraction: int = 3_000
    """Stage 1, an article."""
    new_claim: int = 81_000
    """Stage 2, a claim that was not analysed before."""
    assessment: int = 30_000
    """Stage 3, an article."""


DEFAULT_PRICES: Final = Prices()


def format_dollars(micro_usd: int) -> str:
    """For people, e.g. `$0.081`: at least two places."""
    sign = "-" if micro_usd < 0 else ""
    whole, rest = divmod(abs(micro_usd), 1_000_000)
    places = f"{rest:06d}"
    return f"{sign}${whole}.{places[:2]}{places[2:].rstrip('0')}"


def compare_prices(old: int, new: int) -> int | None:
    """How many per cent a new price saves, negative if it is dearer; None where the old one was 0."""
    if old == 0:
        return None
    return int((Decimal(old - new) / old * 100).quantize(Decimal(1), ROUND_HALF_UP))


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
