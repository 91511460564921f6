"""The costs of an audit, in whole micro-dollars. Source: requirements C.1, FH-47."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from typing import Final, NamedTuple


class Prices(NamedTuple):
    """Prices in micro-dollars; those of a job are frozen when it is accepted."""

    extraction: int = 3_000
    """Stage 1, per article."""
    new_claim: int = 81_000
    """Stage 2, per newly analysed claim."""
    assessment: int = 30_000
    """Stage 3, per article."""


DEFAULT_PRICES: Final = Prices()


def format_dollars(micro_usd: int) -> str:
    """An amount for people, e.g. `$0.081`, with at least two decimals."""
    sign = "-" if micro_usd < 0 else ""
    whole, rest = divmod(abs(micro_usd), 1_000_000)
    places = f"{rest:06d}"
    return f"{sign}${whole}.{places[:2]}{places[2:].rstrip('0')}"


def compare_prices(old: int, new: int) -> int | None:
    """The saving of a new price in per cent, negative if it is higher; None if the old one was 0."""
    if old == 0:
        return None
    return int((Decimal(old - new) / old * 100).quantize(Decimal(1), ROUND_HALF_UP))


class Coverage(NamedTuple):
    """Claims with and without a usable analysis."""

    cached: int
    missing: int

    @property
    def total(self) -> int:
        """The number of all claims."""
        return self.cached + self.missing

    @property
    def percent(self) -> int:
        """The share of cached claims in whole per cent, rounded half up; 0 without claims."""
        return (200 * self.cached + self.total) // (2 * self.total) if self.total else 0

    def price_to_complete(self, prices: Prices) -> int:
        """The price of the missing claims in micro-dollars."""
        return self.missing * prices.new_claim
