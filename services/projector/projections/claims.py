"""Candidates and their verdicts: the first verdict of the newest round counts; a failed review is not a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from contracts.v1 import (
    ClaimApproved,
    ClaimHeld,
    ClaimProposed,
    ClaimRejected,
    ClaimRetained,
    ClaimValidationFailed,
    ClaimValidationRetryScheduled,
)
from services.projector.facts.fact import Fact
from services.projector.projections import expenses, prompts
from services.projector.projections.investigations import INVESTIGATION
from services.projector.projections.material import Material
from services.projector.projections.rules import rows_by
from services.projector.rows.claims import CANDIDATES, REVIEWS, SOURCE_CHECKS, Candidate, Review, SourceCheck
from services.projector.rows.investigations import INVESTIGATIONS
from services.projector.rows.table import RowKey, Tables

CANDIDATE: Final = CANDIDATES.by()
_REVIEW: Final = REVIEWS.by()

Reviewed = ClaimApproved | ClaimRejected | ClaimValidationFailed | ClaimValidationRetryScheduled

proposal_keys: Final = rows_by((INVESTIGATION, "investigation_id"), (CANDIDATE, "claim_id"))


def review_keys(event: Reviewed) -> Sequence[RowKey]:
    """The rows that a review is about."""
    review = expenses.review_id(event)
    keys: Sequence[RowKey] = (
        (INVESTIGATION, event.investigation_id),
        (CANDIDATE, event.claim_id),
        (_REVIEW, review),
        (expenses.EXPENSE, review),
    )
    return keys if event.prompt is None else (*keys, *prompts.keys(event.prompt))


def propose(tables: Tables, fact: Fact, event: ClaimProposed, material: Material) -> None:
    """The model submitted a claim."""
    payload = event.payload.model_dump()
    tables[CANDIDATES].add(
        Candidate(event.claim_id, event.investigation_id, event.attempt, event.ordinal, payload, fact.at)
    )


def retain(tables: Tables, fact: Fact, event: ClaimRetained, material: Material) -> None:
    """A claim of an earlier version was retained, which approves it."""
    payload = event.payload.model_dump()
    tables[CANDIDATES].add(
        Candidate(
            event.claim_id,
            event.investigation_id,
            None,
            event.ordinal,
            payload,
            fact.at,
            retained_from=event.retained_from,
        )
    )
    _decide(tables, event.claim_id, "APPROVED", "RETAINED", None, fact.at)


def hold_keys(event: ClaimHeld) -> Sequence[RowKey]:
    """The rows that a held claim is about."""
    return (CANDIDATE, event.claim_id), (expenses.EXPENSE, expenses.review_id(event))


def hold(tables: Tables, fact: Fact, event: ClaimHeld, material: Material) -> None:
    """A claim is held: its review is paid for, and it still has no verdict."""
    expenses.add_review(tables, expenses.review_id(event), event.approval, fact.at)


def approve(tables: Tables, fact: Fact, event: ClaimApproved, material: Material) -> None:
    """A review approved a claim."""
    is_newest = _is_newest(tables, event)
    _add_review(tables, fact, event, material, "APPROVED")
    _decide(tables, event.claim_id, "APPROVED", None, None, fact.at, is_newest=is_newest)


def reject(tables: Tables, fact: Fact, event: ClaimRejected, material: Material) -> None:
    """A rule or a review rejected a claim."""
    is_newest = _is_newest(tables, event)
    _add_review(tables, fact, event, material, "REJECTED", event.gate, event.reason)
    _decide(tables, event.claim_id, "REJECTED", event.gate, event.reason, fact.at, is_newest=is_newest)


def fail(tables: Tables, fact: Fact, event: ClaimValidationFailed, material: Material) -> None:
    is_newest = _is_newest(tables, event)
    _add_review(tables, fact, event, material, "FAILED", None, event.reason, event.status_code)
    _decide(tables, event.claim_id, "FAILED", None, event.reason, fact.at, is_newest=is_newest)


def retry(tables: Tables, fact: Fact, event: ClaimValidationRetryScheduled, material: Material) -> None:
    """A review failed and will be repeated."""
    _add_review(tables, fact, event, material, "RETRIED", None, event.reason, event.status_code)


def _is_newest(tables: Tables, event: ClaimApproved | ClaimRejected | ClaimValidationFailed) -> bool:
    """Whether the event is the first verdict of the newest round."""
    investigation = tables[INVESTIGATIONS].get(event.investigation_id)
    is_first = tables[REVIEWS].get(expenses.review_id(event)) is None
    return is_first and investigation is not None and event.round >= investigation.round


def _decide(
    tables: Tables,
    claim: UUID,
    state: str,
    gate: str | None,
    reason: str | None,
    at: datetime,
    *,
    is_newest: bool = False,
) -> None:
    """Set a candidate's state. Shapes: `is_newest`: the verdict replaces that of an earlier round."""
    candidate = tables[CANDIDATES].edit(claim)
    if candidate is None:
        return
    is_decided = candidate.state not in ("PENDING", "FAILED") or candidate.state == state
    if not is_decided or (is_newest and candidate.retained_from is None):
        candidate.state, candidate.gate, candidate.reason, candidate.decided_at = state, gate, reason, at


def _add_review(
    tables: Tables,
    fact: Fact,
    event: Reviewed,
    material: Material,
    outcome: str,
    gate: str | None = None,
    reason: str | None = None,
    status_code: int | None = None,
) -> None:
    review = Review(
        id=expenses.review_id(event),
        claim_id=event.claim_id,
        round=event.round,
        outcome=outcome,
        gate=gate,
        reason=reason,
        status_code=status_code,
        **vars(event.usage),
        decided_at=fact.at,
        attempt=event.review_attempt if isinstance(event, ClaimValidationRetryScheduled) else 0,
        prompt_hash=event.prompt.sha256 if event.prompt else None,
        gates=[each.model_dump() for each in event.gates],
    )
    if event.transcript is not None:
        hash_ = event.transcript.sha256
        exchange = material.exchanges[hash_]
        review.set_transcript(hash_, exchange)
        vars(review).update(exchange.review)
    tables[REVIEWS].add(review)
    if event.prompt is not None:
        prompts.add(tables, event.prompt, fact.at)
    expenses.add_review(tables, review.id, event, fact.at)
    if not isinstance(event, ClaimValidationRetryScheduled):
        _add_source_checks(tables, event)


def _add_source_checks(tables: Tables, event: ClaimApproved | ClaimRejected | ClaimValidationFailed) -> None:
    for ordinal, source in enumerate(event.sources):
        row = SourceCheck(event.claim_id, event.round, ordinal, source.url, source.status, source.reason)
        page = source.page
        if page is not None and source.final_url is not None and source.fetched_at is not None:
            row.final_url, row.fetched_at = source.final_url, source.fetched_at
            row.page_hash, row.size_bytes, row.media_type = page.sha256, page.size_bytes, page.media_type
        tables[SOURCE_CHECKS].add(row)
