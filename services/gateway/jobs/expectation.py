"""What a job is expected to cost before it runs. Units: millionths of a US dollar."""

from __future__ import annotations

from typing import Final, NamedTuple

from contracts.jobs.answers import CacheInfo
from contracts.jobs.costs import CostBreakdown
from contracts.v1.job import AuditOptions, AuditPrices, Mode
from lifecycle.audits.charges import compute_least


class HitRate(NamedTuple):
    """How many claims the cache answered lately, and how many were newly analysed."""

    cached: int = 0
    new: int = 0

    def expect_hits(self, claims: int) -> int:
        """How many of so many claims will be hits at this rate, rounded half up; none where nothing is known."""
        total = self.cached + self.new
        return (2 * claims * self.cached + total) // (2 * total) if total else 0


class Expectation(NamedTuple):
    """What a job is expected to cost, and the most it can cost."""

    costs: CostBreakdown
    maximum: int
    cache: CacheInfo


NO_COSTS: Final = CostBreakdown(stage1_extraction=0, stage2_new_claims=0, stage2_cached_claims=0, stage3_holistic=0)


def expect(options: AuditOptions, prices: AuditPrices, mode: Mode, reserved: int, rate: HitRate) -> Expectation:
    """What a job of so many claims costs at the rolling hit rate; no more claims are bought than are reserved for."""
    hits = 0 if options.cache_preference == "SKIP_CACHE" else rate.expect_hits(options.max_claims)
    new = options.max_claims - hits
    cache = CacheInfo(
        claims_to_extract=options.max_claims,
        estimated_cache_hits=hits,
        estimated_new_claims=new,
        basis="rolling_hit_rate",
    )
    if mode == "CACHE_ONLY":
        return Expectation(NO_COSTS, 0, cache)
    most = max(0, reserved - compute_least(prices))
    costs = CostBreakdown(
        stage1_extraction=prices.extract_micro_usd,
        stage2_new_claims=min(new * prices.analyse_micro_usd, _whole_claims(most, prices)) if options.browsing else 0,
        stage2_cached_claims=0,
        stage3_holistic=prices.assess_micro_usd,
    )
    return Expectation(costs, reserved, cache)


def _whole_claims(micro_usd: int, prices: AuditPrices) -> int:
    price = prices.analyse_micro_usd
    return micro_usd // price * price if price else 0
