"""Money is counted exactly, and money that cannot be counted is never nothing."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.transcript import Price
from contracts.v1.parts import Usage
from kit.models.prices import LISTED, Bill, Spent, price_of

PRICE = Price(input=3_000_000, cached=300_000, cache_write=3_750_000, output=15_000_000, search=10_000)
COUNTS = st.integers(0, 10**7)


@st.composite
def calls(draw: st.DrawFn) -> Spent:
    cached, written, fresh = draw(COUNTS), draw(COUNTS), draw(COUNTS)
    return Spent(
        input=cached + written + fresh,
        output=draw(COUNTS),
        cached=draw(st.sampled_from([cached, None])),
        cache_written=written,
        searches=draw(st.integers(0, 50)),
    )


@given(st.lists(calls(), max_size=8))
def test_the_bill_is_exact_and_rounded_up_once(spent: list[Spent]) -> None:
    bill = Bill(PRICE)
    for each in spent:
        bill.add(each)
    money = Fraction(0)
    for each in spent:
        cached = each.cached or 0
        plain = each.input - cached - each.cache_written
        money += Fraction(
            plain * 3_000_000 + cached * 300_000 + each.cache_written * 3_750_000 + each.output * 15_000_000, 10**6
        )
        money += each.searches * 10_000
    cost = bill.usage.cost_micro_usd
    assert cost is not None
    assert money <= cost < money + 1
    assert bill.usage.total_tokens == sum(each.input + each.output for each in spent)


def test_an_unknown_price_is_unknown_from_the_first_call_on() -> None:
    bill = Bill(None)
    assert bill.usage == Usage()
    bill.add(Spent(input=10, output=5))
    assert bill.usage.cost_micro_usd is None
    assert bill.usage.total_tokens == 15


def test_nothing_spent_at_a_known_price_is_nothing() -> None:
    assert Bill(PRICE).usage.cost_micro_usd == 0


@pytest.mark.parametrize(
    ("model", "listed"),
    [
        ("gpt-5.4", "gpt-5.4"),
        ("gpt-5.4-2026-03-05", "gpt-5.4"),
        ("gpt-5.4-mini", "gpt-5.4-mini"),
        ("claude-haiku-4-5-20251001", "claude-haiku-4-5"),
    ],
)
def test_a_dated_model_costs_what_its_family_costs(model: str, listed: str) -> None:
    assert price_of(model) == LISTED[listed]


@pytest.mark.parametrize("model", ["", "gpt", "gpt-5.4-turbo", "my-local-model"])
def test_a_model_that_only_resembles_a_listed_one_has_no_price(model: str) -> None:
    assert price_of(model) is None


def test_the_instances_own_price_goes_first() -> None:
    assert price_of("gpt-5.4-2026-03-05", {"gpt-5.4": PRICE}) == PRICE
    assert price_of("mine", {"mine": PRICE}) == PRICE
