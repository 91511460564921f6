"""A live bench stops before its money is spent, and says which posts have no answer for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import SecretStr

from contracts.transcript import Price
from contracts.v1.parts import Usage
from kit.models.base import Brief, Finished, KeyAccepted, KeyStatus, ModelError, Sampling, ask
from kit.models.call_cap import SEARCHES
from kit.models.provider import ProviderDeps
from tests.bench import bench_cases, casebook
from tests.bench.bench_cases import Options
from tests.bench.budget import SHARES, BudgetedModel
from tests.bench.casereport import print_report, tally
from tests.bench.caserun import World, run
from tests.bench.report import Report
from tests.support.factories import MODEL
from tests.support.openai_server import Answer, message
from tests.support.providers import ANTHROPIC, CHAT, OPENAI, Api, brief, provider

DOLLAR = 1_000_000
PRICE = Price(input=DOLLAR, cached=0, cache_write=DOLLAR, output=DOLLAR, search=0)
SEARCHING = Price(input=0, cached=0, cache_write=0, output=0, search=10_000)
USED = {"input_tokens": 0, "output_tokens": 10_000, "total_tokens": 10_000}
DONE = Answer((message("done"),), usage=USED)
COST = 10_000
POSTS = [post for post in casebook.posts() if not post.search]
LIVE = Options(live=True, max_usd=1)


class Spender:
    """Costs what it is about to be allowed, in parts drawn beforehand; some conversations fail, or say no cost."""

    labelled_demo = False
    sees_pictures = False
    name = MODEL

    def __init__(self, shares: list[float], *, failing: bool, silent: bool) -> None:
        self.spent = 0
        self._shares = shares
        self._failing = failing
        self._silent = silent

    async def converse(self, brief: Brief[Any, Any], key: SecretStr | None = None) -> AsyncGenerator[Any, None]:
        limits = brief.limits
        assert limits.cost_micro_usd is not None
        assert limits.call_micro_usd is not None
        cost = int(self._shares.pop() * (limits.cost_micro_usd + limits.call_micro_usd))
        await asyncio.sleep(0)
        self.spent += cost
        usage = Usage(cost_micro_usd=None if self._silent else cost)
        if self._failing:
            raise ModelError("NON_RETRYABLE", "refused", name="Refused", usage=usage)
        yield Finished("done", usage, MODEL, b"{}")

    async def probe(self, key: SecretStr) -> KeyStatus:
        return KeyAccepted()


@settings(max_examples=60, deadline=None)
@example(shares=[1.0] * 20, limit=DOLLAR, failing=False, silent=True)
@example(shares=[1.0] * 20, limit=DOLLAR, failing=True, silent=True)
@given(
    shares=st.lists(st.floats(0, 1), min_size=1, max_size=60),
    limit=st.integers(SHARES, 5 * DOLLAR),
    failing=st.booleans(),
    silent=st.booleans(),
)
@pytest.mark.requirement("TR-42")
def test_no_more_is_spent_than_the_limit_however_many_ask_at_once(
    shares: list[float], limit: int, failing: bool, silent: bool
) -> None:
    """TR-42: A live bench keeps its limit of money."""
    spender = Spender(list(shares), failing=failing, silent=silent)
    budgeted = BudgetedModel(spender, limit)

    async def all_at_once() -> list[object]:
        return await asyncio.gather(*(ask(budgeted, brief()) for _ in shares), return_exceptions=True)

    outcomes = asyncio.run(all_at_once())
    assert len(outcomes) == len(shares)
    assert spender.spent <= limit
    assert budgeted.left_micro_usd >= 0


@pytest.mark.requirement("TR-42")
async def test_a_live_bench_stops_at_its_limit(capsys: pytest.CaptureFixture[str]) -> None:
    """TR-42: A live bench keeps its limit of money."""
    limit = 400_000
    deps = ProviderDeps(price=lambda _: PRICE)
    async with provider(OPENAI, *[DONE] * len(POSTS), deps=deps) as (model, server):
        results = await bench_cases.run_all(BudgetedModel(model, limit), POSTS, LIVE)
    counted = tally(results)
    assert counted.cost_micro_usd == len(server.requests) * COST
    assert limit - limit // SHARES - COST < counted.cost_micro_usd <= limit
    assert counted.failed == len(POSTS) - len(server.requests) > 0
    report = Report()
    print_report(results, report)
    assert report.failures == 1
    assert "The money limit of this bench is reached." in capsys.readouterr().out


@pytest.mark.requirement("TR-42")
async def test_a_request_that_could_cost_more_is_not_sent() -> None:
    """TR-42: A live bench keeps its limit of money."""
    async with provider(OPENAI, DONE, deps=ProviderDeps(price=lambda _: PRICE)) as (model, server):
        result = await run(POSTS[0], BudgetedModel(model, 80_000), World())
    assert result.failure is not None
    assert "could cost" in result.failure
    assert server.requests == []


@pytest.mark.parametrize("api", [OPENAI, ANTHROPIC], ids=repr)
@pytest.mark.requirement("TR-42")
async def test_what_a_provider_searches_within_a_request_is_reserved_before_it_is_sent(api: Api) -> None:
    """TR-42: A live bench keeps its limit of money.

    A share is an eighth of the limit, a request costs at most half a share, and one search costs a cent.
    """
    fee = SEARCHES * SEARCHING.search
    sent: list[dict[str, Any]] = []
    for half in (fee - 1, fee + COST):
        async with provider(api, DONE, deps=ProviderDeps(price=lambda _: SEARCHING)) as (model, server):
            budgeted = BudgetedModel(model, 2 * SHARES * half)
            failed = None
            try:
                await ask(budgeted, replace(brief(), sampling=Sampling(1_000)))
            except ModelError as error:
                failed = error.name
            assert failed == ("CostLimit" if half < fee else None)
            sent += [request.body for request in server.requests]
    (body,) = sent
    assert body.get("max_tool_calls", body["tools"][0].get("max_uses")) == SEARCHES


async def test_where_no_cost_of_a_request_is_limited_a_provider_searches_as_it_likes() -> None:
    for api in (OPENAI, ANTHROPIC):
        async with provider(api, DONE) as (model, server):
            await ask(model, brief())
        body = server.requests[0].body
        assert not {"max_tool_calls", "max_uses"} & (body | body["tools"][0]).keys()


@pytest.mark.requirement("TR-42")
async def test_a_model_without_a_price_is_not_asked() -> None:
    """TR-42: A live bench keeps its limit of money."""
    async with provider(CHAT, DONE) as (model, server):
        result = await run(POSTS[0], BudgetedModel(model, DOLLAR), World())
    assert result.failure is not None
    assert "no price" in result.failure
    assert server.requests == []


async def test_what_was_not_spent_pays_for_others() -> None:
    spender = Spender([0.0] * 40, failing=False, silent=False)
    budgeted = BudgetedModel(spender, DOLLAR)
    for _ in range(40):
        await ask(budgeted, brief())
    assert budgeted.left_micro_usd == DOLLAR


@pytest.mark.parametrize(
    ("live", "max_usd"), [(True, None), (False, 1.0), (True, 0.0), (True, -1.0), (True, float("nan")), (True, 1e9)]
)
@pytest.mark.requirement("TR-42")
def test_nothing_is_live_without_a_limit(live: bool, max_usd: float | None) -> None:
    """TR-42: A live bench keeps its limit of money."""
    with pytest.raises(ValueError, match="--max-usd"):
        Options(live=live, max_usd=max_usd)


def test_a_limit_is_an_amount() -> None:
    with pytest.raises(ValueError, match="limit of money"):
        BudgetedModel(Spender([], failing=False, silent=False), SHARES - 1)
