"""What each paid step used, one row a step, counted once however often its fact is told.

A step is counted when a fact tells of it: its end, or for an attempt each answer it went on from. What a killed process
was spending when it died is in no fact, and so in no budget.
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

    def or_more(self, earlier: Expense | None) -> Expense:
        """The same step is told of again as it goes on; whoever tells of more knows better."""
        return earlier if earlier is not None and earlier.total_tokens >= self.total_tokens else self


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
