"""Publishers of cited sources, with their log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Final
from uuid import UUID

from sqlalchemy import text as sql

from services.gateway.record.connection import Queries

_PUBLISHER: Final = """
    SELECT id, domain, name, type, correction_policy, editorial_standards, bias_transparency, longevity,
        corrections_count, correction_frequency, set_score, epoch, track_record_score AS score, accuracy, correct,
        total, correct_weight, total_weight, total_citations, claim_count, why, last_updated
    FROM publisher WHERE {key}
"""
_BY_ID: Final = sql(_PUBLISHER.format(key="id = :key"))
_BY_DOMAIN: Final = sql(_PUBLISHER.format(key="domain = :key"))
_SCORES: Final = sql("""
    SELECT epoch, score, accuracy, correct, total, why, scored_at FROM publisher_score
    WHERE publisher_id = :id ORDER BY epoch DESC LIMIT :limit
""")
_RATINGS: Final = sql("""
    SELECT type, correction_policy, editorial_standards, bias_transparency, longevity, score, reason, rated_at
    FROM publisher_rating WHERE publisher_id = :id ORDER BY sequence DESC LIMIT :limit
""")


@dataclass(frozen=True, slots=True, kw_only=True)
class PublisherRow:
    """A publisher. Shapes: `score` is None until the publisher is scored in a closed week."""

    id: UUID
    domain: str
    name: str | None
    type: str
    correction_policy: int | None
    editorial_standards: int | None
    bias_transparency: int | None
    longevity: int | None
    corrections_count: int | None
    correction_frequency: float | None
    set_score: int | None
    epoch: int
    score: float | None
    accuracy: float | None
    correct: int
    total: int
    correct_weight: int
    total_weight: int
    total_citations: int
    claim_count: int
    why: str | None
    last_updated: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreRow:
    """A publisher's score for a week."""

    epoch: int
    score: float
    accuracy: float
    correct: int
    total: int
    why: str
    scored_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingRow:
    """A rating by a person, whose name is not published."""

    type: str
    correction_policy: int | None
    editorial_standards: int | None
    bias_transparency: int | None
    longevity: int | None
    score: int | None
    reason: str
    rated_at: datetime


def read_score(score: float) -> Decimal:
    """A stored score as it was computed, with its one decimal."""
    return Decimal(str(score))


class Publishers(Queries):
    """Queries of publishers."""

    async def by_domain(self, domain: str) -> PublisherRow | None:
        """The publisher with this domain, or None."""
        return await self._one(PublisherRow, _BY_DOMAIN, key=domain)

    async def one(self, id_: UUID) -> PublisherRow | None:
        """The publisher with this id, or None."""
        return await self._one(PublisherRow, _BY_ID, key=id_)

    async def scores(self, id_: UUID, limit: int) -> Sequence[ScoreRow]:
        """A publisher's newest scores, newest first."""
        return await self._all(ScoreRow, _SCORES, id=id_, limit=limit)

    async def ratings(self, id_: UUID, limit: int) -> Sequence[RatingRow]:
        """A publisher's newest ratings, newest first."""
        return await self._all(RatingRow, _RATINGS, id=id_, limit=limit)
