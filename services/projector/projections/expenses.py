"""The usage of each paid step, counted once however often its fact is applied.

A step is counted by its facts: its end, and for an attempt each checkpoint. What a killed process used after its last
checkpoint is in no fact, and so in no budget.
"""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache
from typing import Final
from uuid import UUID

from contracts.v1.claim import ClaimApproved, ClaimEvent, ClaimRejected, ClaimValidationFailed
from contracts.v1.claim import ClaimValidationRetryScheduled as Retried
from contracts.v1.ids import ID_NAMESPACE, derive_uuid
from contracts.v1.parts import Usage
from services.projector.rows.attempts import Attempt
from services.projector.rows.claims import EXPENSES, Expense
from services.projector.rows.table import Tables

EXPENSE: Final = EXPENSES.by()


def review_id(event: ClaimEvent) -> UUID:
    """The id of a review, which derives from its claim and round, and from its attempt if it will be repeated."""
    return _review_id(event.claim_id, event.round, event.review_attempt if isinstance(event, Retried) else None)


@lru_cache(4096)
def _review_id(claim: UUID, round_: int, failed_attempt: int | None) -> UUID:
    attempt = "" if failed_attempt is None else f"\x1f{failed_attempt}"
    return derive_uuid(ID_NAMESPACE, f"review\x1f{claim}\x1f{round_}{attempt}")


def add_review(
    tables: Tables, review: UUID, event: ClaimApproved | ClaimRejected | ClaimValidationFailed | Retried, at: datetime
) -> None:
    """Count the usage of a verdict, or of a review that will be repeated."""
    used = event.usage
    if _cost_something(used):
        row = (review, event.investigation_id, event.round, "VALIDATION")
        tables[EXPENSES].add(Expense(*row, used.total_tokens, used.cost_micro_usd, at))


def put_attempt(tables: Tables, attempt: Attempt, used: Usage, at: datetime) -> None:
    """Count an attempt's usage so far, for the round it started in; the largest total stands."""
    earlier = tables[EXPENSES].get(attempt.id)
    if _cost_something(used) and (earlier is None or earlier.total_tokens < used.total_tokens):
        row = (attempt.id, attempt.investigation_id, attempt.round, "INVESTIGATION")
        tables[EXPENSES].put(Expense(*row, used.total_tokens, used.cost_micro_usd, at))


def _cost_something(usage: Usage) -> bool:
    """Whether a step used a model; a claim that a rule rejects does not."""
    return usage.total_tokens > 0 or bool(usage.cost_micro_usd)
