"""What each paid step used, one row a step, counted once however often its fact is told.

A step is counted when the fact that ends it is told; what a killed process had spent before that is in no fact, and so
in no budget.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID, uuid5

from contracts.v1.claim import ClaimEvent, ClaimValidationRetryScheduled
from contracts.v1.ids import ID_NAMESPACE
from contracts.v1.parts import Usage


@dataclass(slots=True)
class Expense:
    """A row of `expense`. An attempt's round is replaced by the one it started in."""

    id: UUID
    investigation_id: UUID
    round: int
    stage: str
    total_tokens: int
    cost_micro_usd: int | None
    spent_at: datetime


def cost_something(usage: Usage) -> bool:
    """Whether a step was paid for at all: a rule that refuses a claim asks nobody."""
    return usage.total_tokens > 0 or bool(usage.cost_micro_usd)


def review_id(event: ClaimEvent) -> UUID:
    """A review: its claim and the round, and which try it was if it failed for now."""
    tried = f"\x1f{event.attempt}" if isinstance(event, ClaimValidationRetryScheduled) else ""
    return uuid5(ID_NAMESPACE, f"review\x1f{event.claim_id}\x1f{event.round}{tried}")


def of_review(event: ClaimEvent, usage: Usage, at: datetime) -> Expense:
    """The expense of one verdict, or of a review that failed for now."""
    return Expense(
        review_id(event),
        event.investigation_id,
        event.round,
        "VALIDATION",
        usage.total_tokens,
        usage.cost_micro_usd,
        at,
    )
