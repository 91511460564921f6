"""`GET /v1/user/credit`: an account's remaining credit this month, and its use so far."""

from __future__ import annotations

from typing import Self
from uuid import UUID

from pydantic import model_validator

from contracts.accounts import Tier
from contracts.jobs.values import Count, Document, Instant, Money, Rate


def cache_hit_rate(cached: int, new: int) -> float:
    """The share of claims that were answered from the cache, rounded to three decimals; 0 without claims."""
    return round(cached / (cached + new), 3) if cached + new else 0.0


class UsageStats(Document):
    """Use in the current month."""

    articles_analyzed: Count
    claims_from_cache: Count
    claims_newly_analyzed: Count
    cache_hit_rate: Rate

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        if self.cache_hit_rate != cache_hit_rate(self.claims_from_cache, self.claims_newly_analyzed):
            raise ValueError("the rate must follow from the claims")
        return self


class Credit(Document):
    """An account's credit. `credit_limit` and `credit_remaining` are None without a limit."""

    user_id: UUID
    tier: Tier
    credit_limit: Money | None
    credit_used: Money
    credit_remaining: Money | None
    reset_date: Instant
    cache_only_mode: bool
    usage_stats: UsageStats
    credit_reserved: Money
    open_jobs: Count
    extractions_left_today: Count
