"""What an audit costs, in whole micro-dollars. Source: requirements C.1."""

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


class Costs(NamedTuple):
    """What a job costs, by part, in micro-dollars."""

    extraction: int
    new_claims: int
    cached_claims: int
    assessment: int

    @property
    def total(self) -> int:
        """The sum of the parts."""
        return sum(self)


def add_costs(prices: Prices, new_claims: int, *, extracted: bool = True, assessed: bool = True) -> Costs:
    """What a job costs with so many new claims. Nothing for an extraction from a memo or a stage that did not run."""
    return Costs(
        prices.extraction if extracted else 0, prices.new_claim * new_claims, 0, prices.assessment if assessed else 0
    )


def to_dollars(micro_usd: int) -> Decimal:
    """Micro-dollars as they are sent: exact, at most six places, no trailing zeros."""
    return Decimal(micro_usd).scaleb(-6).normalize() + 0


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
