"""Candidates, and the reviews that decide on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from services.projector.rows.attempts import ModelExchange
from services.projector.rows.table import Table, row


@dataclass
class Candidate:
    """A submitted claim and its state."""

    claim_id: UUID
    investigation_id: UUID
    attempt: int | None
    ordinal: int
    payload: Mapping[str, object]
    proposed_at: datetime
    retained_from: UUID | None = None
    state: str = "PENDING"
    gate: str | None = None
    reason: str | None = None
    decided_at: datetime | None = None


@dataclass
class SourceCheck:
    """The check of one source of a candidate in one round."""

    claim_id: UUID
    round: int
    ordinal: int
    url: str
    status: str
    reason: str | None = None
    final_url: str | None = None
    page_hash: str | None = None
    size_bytes: int | None = None
    media_type: str | None = None
    fetched_at: datetime | None = None


@dataclass(kw_only=True)
class Review(ModelExchange):
    """One verdict on a candidate or one failed review, with the exchange with the model.

    Shapes: `attempt` is 0, or the number of a review that failed and will be repeated.
    """

    id: UUID
    claim_id: UUID
    round: int
    outcome: str
    gate: str | None = None
    reason: str | None = None
    status_code: int | None = None
    input_tokens: int
    output_tokens: int
    total_tokens: int
    cached_input_tokens: int | None
    reasoning_output_tokens: int | None
    cost_micro_usd: int | None
    requested_tools: Sequence[object] | None = None
    output_items: Sequence[object] | None = None
    started_at: datetime | None = None
    completed_at: datetime | None = None
    decided_at: datetime
    attempt: int = 0
    prompt_hash: str | None = None
    gates: Sequence[object] = ()


@row
class Prompt:
    """Instructions to a model, stored once by hash."""

    hash: str
    version: str
    text: str
    created_at: datetime


@row
class PromptName:
    """Stored instructions, without their text."""

    hash: str
    version: str


@row
class Expense:
    """What one paid step used."""

    id: UUID
    investigation_id: UUID
    round: int
    stage: str
    total_tokens: int
    cost_micro_usd: int | None
    spent_at: datetime


CANDIDATES: Final = Table("claim_candidate", Candidate, ("claim_id",), ("state", "gate", "reason", "decided_at"))
SOURCE_CHECKS: Final = Table("source_check", SourceCheck, ("claim_id", "round", "ordinal"))
REVIEWS: Final = Table("claim_review", Review, ("id",))
PROMPTS: Final = Table("prompt", Prompt, ("hash",))
PROMPT_NAMES: Final = Table("prompt", PromptName, ("hash",))
"""Looked up and never written: the texts are long."""
EXPENSES: Final = Table("expense", Expense, ("id",), ("total_tokens", "cost_micro_usd", "spent_at"))
