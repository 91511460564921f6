"""Credit as an account reads it, and the models of stages as an admin reads and changes them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import httpx
import pytest

from contracts.jobs.answers import Estimate
from contracts.jobs.credit import Credit
from contracts.jobs.stages import Configuration, Configured
from contracts.v1 import JobRequested, LlmStageConfigured
from lifecycle.audits.credits import adjust
from services.gateway.jobs.options import terms_of
from tests.support.job_api import (
    ALICE,
    ARTICLE,
    BOB,
    analyze,
    close,
    opened,
    period_of,
    problem,
    send,
    spend,
    start,
    stored,
)
from tests.unit.gateway.fakes import NOW, Bench

ADMIN = replace(BOB, role="admin")
PRICES = {"openai/gpt-5.4/stage2": Decimal("0.045"), "anthropic/claude-haiku-4-5/stage1": Decimal("0.001")}
CHANGE = {"stage": "stage2", "provider": "openai", "model": "gpt-5.4", "max_tokens": 9_000, "temperature": 0.1}


async def credit(bench: Bench, key: str = "oe_of-alice") -> Credit:
    response = await send(bench, "GET", "/v1/user/credit", key=key)
    assert response.status_code == 200, response.text
    return Credit.model_validate_json(response.content)


async def test_what_one_account_asks_for_does_not_count_for_another() -> None:
    bench = opened(reads_rate="1/60")
    await credit(bench)
    assert (await send(bench, "GET", "/v1/user/credit")).status_code == 429
    await credit(bench, "oe_of-bob")


@pytest.mark.requirement("FH-22", "FH-23")
async def test_an_account_reads_its_credit() -> None:
    """FH-22: The credit of an account can be read.
    FH-23: The cache hit rate is cached over all claims, to three places.
    """
    bench = opened()
    found = await credit(bench)
    assert found.model_dump(exclude={"usage_stats"}) == {
        "user_id": ALICE.account_id,
        "tier": "free",
        "credit_limit": 10_000_000,
        "credit_used": 0,
        "credit_remaining": 10_000_000,
        "reset_date": datetime(2026, 4, 1, tzinfo=UTC),
        "cache_only_mode": False,
        "credit_reserved": 0,
        "open_jobs": 0,
        "extractions_left_today": 50,
    }
    assert found.usage_stats.cache_hit_rate == 0
    first, second = await start(bench), await start(bench)
    cached = await start(bench, ARTICLE | {"options": {"cache_preference": "cache_only"}})
    found = await credit(bench)
    assert (found.credit_used, found.credit_reserved, found.credit_remaining) == (0, 876_000, 9_124_000)
    assert (found.open_jobs, found.extractions_left_today) == (3, 49)
    close(bench, first, charged=114_000, result="{}", from_cache=100, newly_analysed=113)
    close(bench, second)
    close(bench, cached, result="{}", from_cache=89)
    for _ in range(2):  # what was counted is not counted again
        found = await credit(bench)
        assert (found.credit_used, found.credit_reserved, found.open_jobs) == (114_000, 0, 0)
        assert found.usage_stats.model_dump() == {
            "articles_analyzed": 2,
            "claims_from_cache": 189,
            "claims_newly_analyzed": 113,
            "cache_hit_rate": 0.626,
        }
    assert (await credit(bench, "oe_of-bob")).credit_used == 0


async def test_who_sees_a_job_end_sees_it_paid() -> None:
    """A job is settled a moment after its end is stored."""
    bench = opened()
    charged, free, open_still = await start(bench), await start(bench), await start(bench)
    close(bench, charged, charged=114_000, result="{}", settled=False)
    close(bench, free, settled=False)
    found = await credit(bench)
    assert (found.credit_used, found.credit_reserved, found.open_jobs) == (114_000, 438_000, 1)
    close(bench, open_still, settled=False)
    assert (await credit(bench)).credit_remaining == 10_000_000 - 114_000


@pytest.mark.requirement("FH-39")
async def test_credit_starts_anew_with_the_month() -> None:
    """FH-39: Credit starts anew on the first of a month."""
    bench = opened()
    spend(bench, 10_000_000)
    found = await credit(bench)
    assert (found.cache_only_mode, found.credit_remaining) == (True, 0)
    bench.clock.jump((datetime(2026, 4, 1, tzinfo=UTC) - NOW).total_seconds())
    found = await credit(bench)
    assert (found.cache_only_mode, found.credit_used, found.credit_remaining) == (False, 0, 10_000_000)
    assert found.reset_date == datetime(2026, 5, 1, tzinfo=UTC)


async def test_a_soft_tier_is_never_in_cache_only_mode() -> None:
    bench = opened()
    bench.jobs.add(adjust(period_of(bench, BOB), terms_of(BOB), ALICE.account_id, 60_000_000))
    found = await credit(bench, "oe_of-bob")
    assert (found.cache_only_mode, found.credit_limit, found.credit_remaining) == (False, 50_000_000, 0)
    bench.key_table.add("oe_of-carol", "audit", account=replace(BOB, tier="enterprise"))
    assert (await credit(bench, "oe_of-carol")).credit_limit is None


def with_admin(**settings: Any) -> Bench:
    bench = opened(prices=PRICES, **settings)
    bench.key_table.add("oe_of-admin", "audit", account=ADMIN)
    return bench


async def configure(bench: Bench, key: str = "oe_of-admin", **change: Any) -> httpx.Response:
    return await send(bench, "POST", "/admin/v1/llm/configure", CHANGE | change, key=key)


@pytest.mark.requirement("FH-24", "FH-25")
async def test_an_admin_configures_a_stage() -> None:
    """FH-24: An admin configures a model stage and reads what it costs.
    FH-25: Savings are whole per cent of the old price, negative where the new one is dearer.
    """
    bench = with_admin()
    response = await configure(bench)
    assert response.status_code == 200, response.text
    done = Configured.model_validate_json(response.content)
    assert (done.previous.provider, done.previous.model) == ("anthropic", "claude-sonnet-5-5")
    assert (done.current.provider, done.current.model) == ("openai", "gpt-5.4")
    assert done.cost_impact.model_dump() == {
        "previous_cost_per_claim": 81_000,
        "new_cost_per_claim": 45_000,
        "savings_percent": 44,
    }
    (fact,) = bench.jobs.of(LlmStageConfigured)
    assert (fact.stage, fact.max_tokens, fact.temperature, fact.by) == ("analyse", 9_000, 0.1, ADMIN.account_id)
    back = Configured.model_validate_json((await configure(bench, provider="anthropic", model="x")).content)
    assert back.cost_impact.savings_percent == -80
    assert [each.follows for each in bench.jobs.of(LlmStageConfigured)] == [0, 1]


@pytest.mark.requirement("FH-27")
async def test_a_changed_price_holds_from_the_change_on() -> None:
    """Prices are not read for every request, but a change by this process is known to it.

    FH-27: Admin routes need the role, and a change holds for jobs not yet started.
    """
    bench = with_admin()
    prices = []
    for _ in range(2):
        answer = await send(bench, "POST", "/v1/estimate", {"input_text": "So they say."})
        prices.append(Estimate.model_validate_json(answer.content).maximum_cost)
        await configure(bench)
    assert prices[0] - prices[1] == 5 * (81_000 - 45_000), "five claims at most"


@pytest.mark.requirement("FH-26")
async def test_an_admin_reads_providers_and_stages() -> None:
    """FH-26: An admin reads providers and stages."""
    bench = with_admin()
    await configure(bench)
    response = await send(bench, "GET", "/admin/v1/llm/config", key="oe_of-admin")
    Configuration.model_validate_json(response.content)
    assert response.json() == {
        "providers": ["anthropic", "openai", "google", "local"],
        "primary": "anthropic",
        "fallback": None,
        "stages": {
            "stage1": {"provider": "anthropic", "model": "claude-haiku-4-5", "cost_per_request": 0.001},
            "stage2": {"provider": "openai", "model": "gpt-5.4", "cost_per_new_claim": 0.045},
            "stage3": {"provider": "anthropic", "model": "claude-sonnet-5-5", "cost_per_request": 0.03},
        },
    }


@pytest.mark.requirement("FH-27", "FH-107")
async def test_a_change_needs_the_role_and_a_provider_that_there_is() -> None:
    """FH-27: Admin routes need the role, and a change holds for jobs not yet started.
    FH-107: An unknown provider falls back, or is 400 where it is configured.
    """
    bench = with_admin()
    for key, code in (("", "UNAUTHENTICATED"), ("oe_of-alice", "FORBIDDEN")):
        problem(await configure(bench, key=key), code)  # type: ignore[arg-type]  # both are codes
        problem(await send(bench, "GET", "/admin/v1/llm/config", key=key), code)  # type: ignore[arg-type]  # as above
    problem(await configure(bench, provider="acme"), "UNKNOWN_PROVIDER")
    for wrong in (
        {"stage": "stage4"},
        {"max_tokens": 0},
        {"temperature": 2.1},
        {"model": "a model"},
        {"model": ""},
        {"more": 1},
    ):
        problem(await configure(bench, **wrong), "VALIDATION_ERROR")
    assert bench.jobs.facts == []


async def test_two_changes_at_once_follow_one_another() -> None:
    bench = with_admin()
    rival = LlmStageConfigured(
        stage="analyse", provider="google", model="g", max_tokens=1, temperature=0, by=ALICE.account_id
    )
    bench.jobs.meanwhile = lambda: bench.jobs.add(rival)
    done = Configured.model_validate_json((await configure(bench)).content)
    assert done.previous.provider == "google"
    assert stored(bench) == [LlmStageConfigured] * 2


@pytest.mark.requirement("FH-36")
async def test_a_job_keeps_the_prices_it_was_accepted_at() -> None:
    """FH-36: Default prices are 0.003, 0.081 and 0.030 dollars; a cache hit costs nothing."""
    bench = with_admin()
    assert (await analyze(bench)).json()["cost_breakdown"] == {
        "stage1_extraction": 0.001,
        "stage2_new_claims": 0.405,
        "stage2_cached_claims": 0.0,
        "stage3_holistic": 0.03,
    }
    await configure(bench)
    assert (await analyze(bench)).json()["estimated_cost"] == 0.256
    assert [each.prices.analyse_micro_usd for each in bench.jobs.of(JobRequested)] == [81_000, 45_000]


@pytest.mark.requirement("FH-162")
async def test_anybody_reads_the_keys_of_receipts() -> None:
    """FH-162: A result carries a signed receipt."""
    answer = await send(opened(), "GET", "/.well-known/openerrata-receipts.json", key="")
    assert answer.status_code == 200
    (key,) = answer.json()["keys"]
    assert key.keys() == {"kty", "crv", "x", "kid", "use"}
    assert answer.headers["cache-control"] == "public, max-age=300"
