"""What a job is expected to cost is what its stages cost, to the micro-dollar."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyses.claims.costs import DEFAULT_PRICES
from contracts.jobs.answers import CacheInfo
from contracts.jobs.costs import CostBreakdown
from contracts.v1.job import AuditOptions, AuditPrices
from lifecycle.audits.charges import compute_most
from services.gateway.jobs.expectation import Expectation, Forecast, expect
from tests.support.audit_cases import Case, read_cases

PRICES = AuditPrices(
    extract_micro_usd=DEFAULT_PRICES.extraction,
    analyse_micro_usd=DEFAULT_PRICES.new_claim,
    assess_micro_usd=DEFAULT_PRICES.assessment,
)
AMOUNTS = st.integers(0, 10**9)


class Priced(Case):
    new_claims: int
    usd: Decimal


@pytest.mark.parametrize("case", read_cases("costs", list[Priced]), ids=str)
@pytest.mark.requirement("FH-36", "FH-37")
def test_the_printed_costs(case: Priced) -> None:
    """FH-36: Default prices are 0.003, 0.081 and 0.030 dollars; a cache hit costs nothing.
    FH-37: Costs are exact decimals.
    """
    options = AuditOptions(max_claims=10)
    forecast = Forecast(hits=10 - case.new_claims, new=case.new_claims, basis="rolling_hit_rate")
    expected = expect(options, PRICES, "CREDIT", compute_most(PRICES, options), forecast)
    sent = json.loads(expected.costs.model_dump_json(), parse_float=Decimal)
    assert sum(sent.values()) == case.usd
    assert Decimal(expected.costs.total).scaleb(-6) == case.usd
    assert compute_most(PRICES, AuditOptions(max_claims=max(1, case.new_claims))) == (
        expected.costs.total if case.new_claims else 114_000
    )


@given(
    st.builds(AuditPrices, extract_micro_usd=AMOUNTS, analyse_micro_usd=AMOUNTS, assess_micro_usd=AMOUNTS),
    st.integers(1, 10),
    st.integers(0, 10),
    st.booleans(),
    st.sampled_from(["memo", "rolling_hit_rate"]),
)
@pytest.mark.requirement("FH-12", "FH-36")
def test_the_parts_are_the_sum(prices: AuditPrices, claims: int, hits: int, browsing: bool, basis: str) -> None:
    """FH-12: The parts of a cost add up to the estimate.
    FH-36: Default prices are 0.003, 0.081 and 0.030 dollars; a cache hit costs nothing.
    """
    options, new = AuditOptions(max_claims=claims, browsing=browsing), max(0, claims - hits)
    most = compute_most(prices, options)
    memo = basis == "memo"
    forecast = Forecast(claims - new, new, "memo" if memo else "rolling_hit_rate")
    costs = expect(options, prices, "CREDIT", most, forecast).costs
    assert costs.stage1_extraction == (0 if memo else prices.extract_micro_usd)
    assert costs.stage2_new_claims == (new * prices.analyse_micro_usd if browsing else 0)
    assert costs.stage2_cached_claims == 0
    assert costs.stage3_holistic == prices.assess_micro_usd
    assert costs.total == costs.stage1_extraction + costs.stage2_new_claims + costs.stage3_holistic <= most


def test_without_credit_nothing_is_expected() -> None:
    cache = CacheInfo(claims_to_extract=5, estimated_cache_hits=2, estimated_new_claims=3, basis="memo")
    nothing = CostBreakdown(stage1_extraction=0, stage2_new_claims=0, stage2_cached_claims=0, stage3_holistic=0)
    expected = expect(AuditOptions(), PRICES, "CACHE_ONLY", 0, Forecast(2, 3, "memo"))
    assert expected == Expectation(nothing, 0, cache)
