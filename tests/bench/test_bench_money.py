"""A live bench cannot spend more than its limit, and says which posts have no answer for it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import SecretStr

from contracts.transcript import Price
from contracts.v1.parts import Usage
from kit.models.base import Brief, Checkpoint, Finished, KeyAccepted, KeyStatus, ModelError, Sampling, ask
from kit.models.call_cap import SEARCHES
from kit.models.provider import ProviderDeps
from tests.bench import bench_cases, casebook
from tests.bench.__main__ import main as bench_main
from tests.bench.bench_cases import Options
from tests.bench.budget import ANSWER_TOKENS, BudgetedModel, Ceiling, ceilings_of
from tests.bench.casereport import print_report, tally
from tests.bench.report import Report
from tests.support.factories import MODEL
from tests.support.openai_server import Answer, Broken, HttpError, Turn, call, message
from tests.support.providers import ANTHROPIC, CHAT, FETCH, OPENAI, Api, brief, provider

DOLLAR = 1_000_000
PRICE = Price(input=DOLLAR, cached=0, cache_write=DOLLAR, output=DOLLAR, search=0)
SEARCHING = Price(input=DOLLAR, cached=0, cache_write=2 * DOLLAR, output=DOLLAR, search=10_000)
USED = {"input_tokens": 0, "output_tokens": 10_000, "total_tokens": 10_000}
DONE = Answer((message("done"),), usage=USED)
COST = 10_000
WINDOW = 20_000
CEILING = Ceiling(PRICE, WINDOW)
MOST = CEILING.most_micro_usd(ANSWER_TOKENS, has_tools=True)
POSTS = [post for post in casebook.posts() if not post.search]
LIVE = Options(live=True, max_usd=1, window=WINDOW)


class Spender:
    """Each request costs its drawn part of the most that it could, and at times says so; the last may fail."""

    labelled_demo = False
    sees_pictures = False
    name = MODEL

    def __init__(self, conversations: list[list[float]], *, failing: bool = False, silent: bool = False) -> None:
        self.spent = 0
        self.requests = 0
        self._conversations = conversations
        self._failing = failing
        self._silent = silent

    async def converse(self, brief: Brief[Any, Any], key: SecretStr | None = None) -> AsyncGenerator[Any, None]:
        shares = self._conversations.pop()
        own = 0
        for number, share in enumerate(shares):
            cost = int(share * MOST)
            self.requests += 1
            self.spent += cost
            own += cost
            await asyncio.sleep(0)
            usage = Usage(cost_micro_usd=None if self._silent else own)
            if number + 1 < len(shares):
                yield Checkpoint(b"{}", begins=not number, calls=number + 1, usage=usage)
                await asyncio.sleep(0)
            elif self._failing:
                raise ModelError("NON_RETRYABLE", "refused", name="Refused", usage=usage)
            else:
                yield Finished("done", usage, MODEL, b"{}")

    async def probe(self, key: SecretStr) -> KeyStatus:
        return KeyAccepted()


@settings(max_examples=100, deadline=None)
@example(conversations=[[1.0] * 3] * 20, limit=MOST, failing=False, silent=True, left_at=1)
@example(conversations=[[1.0] * 3] * 20, limit=5 * MOST, failing=True, silent=False, left_at=2)
@given(
    conversations=st.lists(st.lists(st.floats(0, 1), min_size=1, max_size=5), min_size=1, max_size=30),
    limit=st.integers(MOST, 20 * MOST),
    failing=st.booleans(),
    silent=st.booleans(),
    left_at=st.integers(0, 40),
)
@pytest.mark.requirement("TR-42")
def test_no_more_is_spent_than_the_limit_whatever_requests_cost_and_however_many_are_sent_at_once(
    conversations: list[list[float]], limit: int, failing: bool, silent: bool, left_at: int
) -> None:
    """TR-42: A live bench keeps its limit of money."""
    spender = Spender([list(each) for each in conversations], failing=failing, silent=silent)
    budgeted = BudgetedModel(spender, limit, [CEILING])

    async def all_at_once() -> list[object]:
        tasks = [asyncio.create_task(ask(budgeted, brief())) for _ in conversations]
        for _ in range(left_at):
            await asyncio.sleep(0)
        tasks[left_at % len(tasks)].cancel()
        return await asyncio.gather(*tasks, return_exceptions=True)

    outcomes = asyncio.run(all_at_once())
    assert len(outcomes) == len(conversations)
    assert spender.spent <= limit
    assert 0 <= budgeted.left_micro_usd <= limit - spender.spent
    refused = [each for each in outcomes if isinstance(each, ModelError) and each.name == "MoneyLimit"]
    assert not refused or budgeted.left_micro_usd < MOST


@pytest.mark.requirement("TR-42")
async def test_a_live_bench_stops_at_its_limit(capsys: pytest.CaptureFixture[str]) -> None:
    """TR-42: A live bench keeps its limit of money."""
    limit = 400_000
    deps = ProviderDeps(price=lambda _: PRICE)
    async with provider(CHAT, *[DONE] * len(POSTS), deps=deps) as (model, server):
        ceilings = ceilings_of(model, WINDOW)
        results = await bench_cases.run_all(BudgetedModel(model, limit, ceilings), POSTS, LIVE)
    counted = tally(results)
    assert counted.cost_micro_usd == len(server.requests) * COST
    assert limit - MOST < counted.cost_micro_usd <= limit
    assert counted.failed == len(POSTS) - len(server.requests) > 0
    report = Report()
    print_report(results, report)
    assert report.failures == 1
    assert "The money limit of this bench is reached" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("turns", "charged"),
    [
        ((HttpError(429),), 0),
        ((HttpError(500),), 0),
        ((Broken("lost"),), MOST),
        ((Answer((message("done"),)),), MOST),
        ((DONE,), COST),
        ((Answer((call(FETCH, {}, "1"),), usage=USED), DONE), 2 * COST),
        ((Answer((call(FETCH, {}, "1"),), usage=USED), HttpError(500)), COST),
        ((Answer((call(FETCH, {}, "1"),), usage=USED), Broken("lost")), COST + MOST),
    ],
    ids=["busy", "broken", "lost", "silent", "answered", "answered twice", "then broken", "then lost"],
)
@pytest.mark.requirement("TR-42")
async def test_a_request_is_settled_at_what_it_cost_or_at_the_most_if_nobody_says(
    turns: tuple[Turn, ...], charged: int
) -> None:
    """TR-42: A live bench keeps its limit of money."""

    async def fetch(_: str) -> str:
        return "a page"

    async with provider(CHAT, *turns, deps=ProviderDeps(price=lambda _: PRICE)) as (model, _):
        budgeted = BudgetedModel(model, DOLLAR, ceilings_of(model, WINDOW))
        with contextlib.suppress(ModelError):
            await ask(budgeted, brief(research={FETCH: fetch}))
    assert budgeted.left_micro_usd == DOLLAR - charged


@pytest.mark.parametrize("api", [OPENAI, ANTHROPIC, CHAT], ids=repr)
@pytest.mark.requirement("TR-42")
async def test_all_that_a_provider_may_read_write_and_search_is_reserved_before_it_is_asked(api: Api) -> None:
    """TR-42: A live bench keeps its limit of money.

    With two dollars per million tokens that are put into the cache, one that is written and a cent for a search.
    """
    searches = 0 if api is CHAT else SEARCHES
    most = (1 + searches) * (2 * WINDOW + 1_000) + searches * SEARCHING.search
    async with provider(api, DONE, deps=ProviderDeps(price=lambda _: SEARCHING)) as (model, server):
        (ceiling,) = ceilings_of(model, WINDOW)
        assert ceiling.most_micro_usd(1_000, has_tools=True) == most
        assert ceiling.most_micro_usd(1_000, has_tools=False) == 2 * WINDOW + 1_000
        await ask(BudgetedModel(model, 100 * most, [ceiling]), replace(brief(), sampling=Sampling(1_000)))
        body = server.requests[0].body
        assert 1_000 in (body.get("max_tokens"), body.get("max_output_tokens"), body.get("max_completion_tokens"))
        assert not searches or body.get("max_tool_calls", body["tools"][0].get("max_uses")) == searches


async def test_where_no_cost_of_a_request_is_limited_a_provider_searches_as_it_likes() -> None:
    for api in (OPENAI, ANTHROPIC):
        async with provider(api, DONE) as (model, server):
            await ask(model, brief())
        body = server.requests[0].body
        assert not {"max_tool_calls", "max_uses"} & (body | body["tools"][0]).keys()


@pytest.mark.requirement("TR-42")
def test_nothing_is_asked_whose_cost_has_no_bound(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """TR-42: A live bench keeps its limit of money."""
    monkeypatch.setenv("OPENERRATA_MODEL", "chat_completions")
    monkeypatch.setenv("OPENERRATA_CHAT_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("OPENERRATA_CHAT_MODEL_ID", "mine")
    monkeypatch.setattr("sys.argv", ["bench", "cases", "--live", "--max-usd", "1", "--window", "2000000"])
    assert bench_main() == 2
    assert "a live bench needs the price of mine: set OPENERRATA_MODEL_PRICES" in capsys.readouterr().err
    monkeypatch.setenv("OPENERRATA_MODEL_PRICES", '{"mine": {"input_usd": 1, "output_usd": 1}}')
    assert bench_main() == 2
    assert "a request to mine could cost 2.0160 USD, and --max-usd allows less" in capsys.readouterr().err


async def test_what_was_not_spent_pays_for_others() -> None:
    spender = Spender([[0.01, 0.01] for _ in range(40)])
    budgeted = BudgetedModel(spender, DOLLAR, [CEILING])
    for _ in range(40):
        await ask(budgeted, brief())
    assert budgeted.left_micro_usd == DOLLAR - spender.spent > DOLLAR - MOST


@pytest.mark.parametrize(
    ("live", "max_usd", "window", "missing"),
    [
        (True, None, WINDOW, "--max-usd"),
        (False, 1.0, None, "--max-usd"),
        (True, 0.0, WINDOW, "--max-usd"),
        (True, -1.0, WINDOW, "--max-usd"),
        (True, float("nan"), WINDOW, "--max-usd"),
        (True, 1e9, WINDOW, "--max-usd"),
        (True, 1.0, None, "--window"),
        (True, 1.0, 0, "--window"),
        (False, None, WINDOW, "--window"),
    ],
)
@pytest.mark.requirement("TR-42")
def test_nothing_is_live_without_a_limit(live: bool, max_usd: float | None, window: int | None, missing: str) -> None:
    """TR-42: A live bench keeps its limit of money."""
    with pytest.raises(ValueError, match=missing):
        Options(live=live, max_usd=max_usd, window=window)
