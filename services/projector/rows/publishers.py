"""Publishers of cited sources, their scores and ratings."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from services.projector.rows.table import AnyTable, Table, columns_but, row


@dataclass(kw_only=True)
class Publisher:
    """A publisher as its newest score and its newest rating leave it."""

    id: UUID
    domain: str
    name: str | None = None
    type: str = "unknown"
    correction_policy: int | None = None
    editorial_standards: int | None = None
    bias_transparency: int | None = None
    longevity: int | None = None
    corrections_count: int | None = None
    correction_frequency: float | None = None
    set_score: int | None = None
    rated_sequence: int = 0
    epoch: int = 0
    track_record_score: float | None = None
    accuracy: float | None = None
    correct: int = 0
    total: int = 0
    correct_weight: int = 0
    total_weight: int = 0
    total_citations: int = 0
    claim_count: int = 0
    why: str | None = None
    last_updated: datetime
    sequence: int = 0


@row
class PublisherScore:
    """A publisher's score in an epoch."""

    publisher_id: UUID
    epoch: int
    score: float
    accuracy: float
    correct: int
    total: int
    why: str
    scored_at: datetime


@row
class PublisherRating:
    """A rating of a publisher by a moderator or the operator."""

    publisher_id: UUID
    sequence: int
    type: str
    correction_policy: int | None
    editorial_standards: int | None
    bias_transparency: int | None
    longevity: int | None
    score: int | None
    reason: str
    rated_by: UUID
    rated_at: datetime


@row
class ScoreEpoch:
    """A week whose scores are all stored."""

    epoch: int
    publishers: int
    closed_at: datetime
    sequence: int


PUBLISHERS: Final = Table("publisher", Publisher, ("id",), columns_but(Publisher, "id", "domain"))
PUBLISHER_SCORES: Final = Table("publisher_score", PublisherScore, ("publisher_id", "epoch"))
PUBLISHER_RATINGS: Final = Table("publisher_rating", PublisherRating, ("publisher_id", "sequence"))
SCORE_EPOCHS: Final = Table("score_epoch", ScoreEpoch, ("epoch",))

PUBLISHER_TABLES: Final[tuple[AnyTable, ...]] = (PUBLISHERS, PUBLISHER_SCORES, PUBLISHER_RATINGS, SCORE_EPOCHS)
