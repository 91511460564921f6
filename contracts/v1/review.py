"""Outside reviewers' verdicts on published findings, and the samples that they are asked about."""

from __future__ import annotations

from datetime import date
from typing import Literal
from uuid import UUID

from pydantic import Field

from contracts.v1.codes import ReviewerName, Seed
from contracts.v1.event import OnceEvent
from contracts.v1.ids import review_sample_id

ReviewVerdict = Literal["RIGHT", "PARTLY", "WRONG"]
MOST_SAMPLED = 10_000


class ReviewSampled(OnceEvent, subject="review.sampled", key="sample_id"):
    """Findings were drawn for review by people outside; the same seed, days and size are the same sample.

    Shapes: `claim_ids` are those of `drawn_from` findings, published from `first_day` to `last_day` in UTC, whose
    SHA-256 over seed, line feed and id are smallest, smallest first.
    """

    seed: Seed
    first_day: date
    last_day: date
    size: int = Field(ge=1, le=MOST_SAMPLED)
    drawn_from: int = Field(ge=0)
    claim_ids: tuple[UUID, ...] = Field(max_length=MOST_SAMPLED)

    @property
    def sample_id(self) -> UUID:
        return review_sample_id(self.seed, self.first_day, self.last_day, self.size)


class ReviewDecided(OnceEvent, subject="review.decided", key="claim_id", identity=("follows",)):
    """A reviewer's verdict on a finding of a sample; a reviewer's newest verdict on a finding counts."""

    claim_id: UUID
    sample_id: UUID
    verdict: ReviewVerdict
    reviewer: ReviewerName
    decided_on: date
