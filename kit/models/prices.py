"""The cost of calls by the public price lists; an instance's own prices take precedence.

An unknown price gives a cost of None, never zero: a budget that counts unknown costs as zero is useless.
Surcharges for very long inputs and discounts by contract are not known here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from contracts.transcript import Price
from contracts.v1.parts import ModelName, Usage

MILLION: Final = 1_000_000
_DATED = re.compile(r"-\d{4}-?\d{2}-?\d{2}$")


def _openai(input_: int, cached: int, output: int) -> Price:
    return Price(input=input_, cached=cached, cache_write=input_, output=output, search=10_000)


def _anthropic(input_: int, output: int) -> Price:
    return Price(input=input_, cached=input_ // 10, cache_write=input_ * 5 // 4, output=output, search=10_000)


LISTED: Final[Mapping[str, Price]] = {
    "gpt-5.5": _openai(5_000_000, 500_000, 30_000_000),
    "gpt-5.4": _openai(2_500_000, 250_000, 15_000_000),
    "gpt-5.4-mini": _openai(750_000, 75_000, 4_500_000),
    "gpt-5.4-nano": _openai(200_000, 20_000, 1_250_000),
    "claude-fable-5-1": _anthropic(10_000_000, 50_000_000),
    "claude-opus-5-5": _anthropic(4_000_000, 20_000_000),
    "claude-opus-5": _anthropic(5_000_000, 25_000_000),
    "claude-sonnet-5-5": _anthropic(2_000_000, 10_000_000),
    "claude-sonnet-5": _anthropic(2_000_000, 10_000_000),
    "claude-haiku-4-5": _anthropic(1_000_000, 5_000_000),
}


class Charges(NamedTuple):
    """A model's price, None if unknown; `searches`: its provider searches within a request, for a fee."""

    model: ModelName
    price: Price | None
    searches: bool


def price_of(model: str, own: Mapping[str, Price] | None = None) -> Price | None:
    """The price of a model by its id, with or without a date at the end; None if unknown."""
    for name in (model, _DATED.sub("", model)):
        for prices in (own or {}, LISTED):
            if name in prices:
                return prices[name]
    return None


@dataclass(frozen=True, slots=True)
class Spent:
    """The usage of one call. Units: tokens; `input` includes `cached` and `cache_written`; `searches` is a number."""

    input: int
    output: int
    total: int | None = None
    cached: int | None = None
    reasoning: int | None = None
    cache_written: int = 0
    searches: int = 0


class Bill:
    """Adds up the calls of a run. Units: sums are exact; only `usage` rounds money, up to a whole millionth."""

    def __init__(self, price: Price | None) -> None:
        self._price = price
        self._money = 0
        self._tokens = Usage(cost_micro_usd=0 if price else None)

    def add(self, spent: Spent) -> None:
        """Add one call."""
        before = self._tokens
        total = spent.input + spent.output if spent.total is None else spent.total
        if self._price:
            cached = spent.cached or 0
            plain = max(0, spent.input - cached - spent.cache_written)
            self._money += plain * self._price.input + cached * self._price.cached
            self._money += spent.cache_written * self._price.cache_write + spent.output * self._price.output
            self._money += spent.searches * self._price.search * MILLION
        self._tokens = Usage(
            input_tokens=before.input_tokens + spent.input,
            output_tokens=before.output_tokens + spent.output,
            total_tokens=before.total_tokens + total,
            cached_input_tokens=_plus(before.cached_input_tokens, spent.cached),
            reasoning_output_tokens=_plus(before.reasoning_output_tokens, spent.reasoning),
            cost_micro_usd=-(-self._money // MILLION) if self._price else None,
        )

    @property
    def usage(self) -> Usage:
        """The usage of all calls together."""
        return self._tokens


def _plus(total: int | None, more: int | None) -> int | None:
    return total if more is None else (total or 0) + more
