"""What a job is expected to cost before it runs. Units: millionths of a US dollar."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from contracts.jobs.answers import CacheInfo
from contracts.jobs.costs import CostBreakdown
from contracts.v1.job import AuditOptions, AuditPrices, Mode
from lifecycle.audits.charges import compute_least


class Forecast(NamedTuple):
    """How many of a job's claims the cache will answer, and how many are new. Basis `memo`: the claims are known."""

    hits: int
    new: int
    basis: Literal["memo", "rolling_hit_rate"]


class HitRate(NamedTuple):
    """How many claims of recent jobs the cache answered, and how many were newly analysed."""

    cached: int = 0
    new: int = 0

    def forecast(self, options: AuditOptions) -> Forecast:
        """Forecast `max_claims` claims, with hits at this rate, rounded half up; no hits without data or cache."""
        claims, total = options.max_claims, self.cached + self.new
        knows = total and options.cache_preference != "SKIP_CACHE"
        hits = (2 * claims * self.cached + total) // (2 * total) if knows else 0
        return Forecast(hits, claims - hits, "rolling_hit_rate")


class Expectation(NamedTuple):
    """What a job is expected to cost, and the most it can cost."""

    costs: CostBreakdown
    maximum: int
    cache: CacheInfo


NO_COSTS: Final = CostBreakdown(stage1_extraction=0, stage2_new_claims=0, stage2_cached_claims=0, stage3_holistic=0)


def expect(options: AuditOptions, prices: AuditPrices, mode: Mode, reserved: int, forecast: Forecast) -> Expectation:
    """What a job with the forecast claims costs; `reserved` limits how many new claims are bought."""
    cache = CacheInfo(
        claims_to_extract=forecast.hits + forecast.new,
        estimated_cache_hits=forecast.hits,
        estimated_new_claims=forecast.new,
        basis=forecast.basis,
    )
    if mode == "CACHE_ONLY":
        return Expectation(NO_COSTS, 0, cache)
    most, new = max(0, reserved - compute_least(prices)), forecast.new * prices.analyse_micro_usd
    costs = CostBreakdown(
        stage1_extraction=0 if forecast.basis == "memo" else prices.extract_micro_usd,
        stage2_new_claims=min(new, _whole_claims(most, prices)) if options.browsing else 0,
        stage2_cached_claims=0,
        stage3_holistic=prices.assess_micro_usd,
    )
    return Expectation(costs, reserved, cache)


def _whole_claims(micro_usd: int, prices: AuditPrices) -> int:
    price = prices.analyse_micro_usd
    return micro_usd // price * price if price else 0
