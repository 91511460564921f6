"""The estimate of what a request could cost is at least what it then costs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from contracts.transcript import Price
from contracts.v1.parts import Usage
from kit.models.base import ModelError
from kit.models.call_cap import CallCap
from kit.models.prices import Bill, Spent

PRICE = Price(input=3_000_000, cached=300_000, cache_write=3_750_000, output=15_000_000, search=0)


@given(text=st.text(max_size=300), before=st.integers(0, 10_000), longest=st.integers(1, 20_000), data=st.data())
def test_no_answer_within_its_length_costs_more_than_estimated(
    text: str, before: int, longest: int, data: st.DataObject
) -> None:
    """A token has three bytes or more, as the estimate assumes."""
    body: dict[str, JsonValue] = {"messages": [text], "previous_response_id": "r"}
    asked = before + len(text.encode("utf-8", "replace")) // 3
    bill = Bill(PRICE)
    bill.add(Spent(input=asked, output=data.draw(st.integers(0, longest))))
    cost = bill.usage.cost_micro_usd
    cap = CallCap("m", PRICE, 0, longest)
    assert cost is not None
    assert cap.estimate(body, Usage(total_tokens=before), PRICE) >= cost


@pytest.mark.parametrize(("most", "refused"), [(None, False), (150_012, False), (150_011, True)])
def test_it_is_exact_to_a_millionth(most: int | None, refused: bool) -> None:
    cap = CallCap("m", PRICE, most, 10_000)
    body: dict[str, JsonValue] = {"a": "12"}  # {"a": "12"} has 11 bytes, so 4 tokens
    if refused:
        with pytest.raises(ModelError, match="A request could cost"):
            cap.require_room(body, Usage())
    else:
        cap.require_room(body, Usage())


@pytest.mark.parametrize(("body", "more"), [({"tools": [{}]}, 70_000), ({"tools": []}, 0), ({}, 0)])
def test_each_search_that_a_provider_may_make_is_counted(body: dict[str, JsonValue], more: int) -> None:
    price = PRICE.model_copy(update={"search": 10_000})
    without = CallCap("m", PRICE, 0, 100).estimate(body, Usage(), PRICE)
    assert CallCap("m", price, 0, 100, searches=7).estimate(body, Usage(), price) == without + more
