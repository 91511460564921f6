"""Samples of published findings, and outside reviews of them."""

from __future__ import annotations

from datetime import date, datetime
from typing import Final
from uuid import UUID

from services.projector.rows.table import Table, columns_but, row


@row
class ReviewSample:
    """Findings that were drawn for review: `drawn` of `drawn_from`."""

    id: UUID
    seed: str
    first_day: date
    last_day: date
    size: int
    drawn_from: int
    drawn: int
    drawn_at: datetime


@row
class SampledClaim:
    """A finding of a sample. Shapes: `place` is its rank by hash, from 0."""

    sample_id: UUID
    claim_id: UUID
    place: int


@row
class OutsideReview:
    """A reviewer's newest verdict on a finding."""

    claim_id: UUID
    reviewer: str
    sample_id: UUID
    verdict: str
    decided_on: date
    sequence: int


@row
class ClaimName:
    """A stored finding, without its words."""

    id: UUID


REVIEW_SAMPLES: Final = Table("review_sample", ReviewSample, ("id",))
SAMPLED_CLAIMS: Final = Table("review_sample_claim", SampledClaim, ("sample_id", "claim_id"))
OUTSIDE_REVIEWS: Final = Table(
    "review", OutsideReview, ("claim_id", "reviewer"), columns_but(OutsideReview, "claim_id", "reviewer")
)
CLAIM_NAMES: Final = Table("claim", ClaimName, ("id",))
"""Looked up and never written: claims are long."""
