"""Samples of published findings, and outside reviews of them.

A finding that was erased has no row, so neither its place in a sample nor a verdict on it gets one: a rebuild after an
erasure ends as the erasure did.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from contracts.v1 import ReviewDecided, ReviewSampled
from services.projector.facts.fact import Fact
from services.projector.projections.material import Material
from services.projector.rows.investigations import CLAIMS
from services.projector.rows.reviews import (
    CLAIM_NAMES,
    OUTSIDE_REVIEWS,
    REVIEW_SAMPLES,
    SAMPLED_CLAIMS,
    OutsideReview,
    ReviewSample,
    SampledClaim,
)
from services.projector.rows.table import RowKey, Tables

_CLAIM: Final = CLAIM_NAMES.by()
_SAMPLED: Final = SAMPLED_CLAIMS.by()
_REVIEW: Final = OUTSIDE_REVIEWS.by()


def sample_keys(event: ReviewSampled) -> Sequence[RowKey]:
    """The findings that were drawn."""
    return [(_CLAIM, claim) for claim in event.claim_ids]


def decision_keys(event: ReviewDecided) -> Sequence[RowKey]:
    """The finding's place in its sample, and the reviewer's earlier verdict on it."""
    return (_SAMPLED, (event.sample_id, event.claim_id)), (_REVIEW, (event.claim_id, event.reviewer))


def sample(tables: Tables, fact: Fact, event: ReviewSampled, material: Material) -> None:
    """Findings were drawn."""
    id_ = event.sample_id
    days = event.first_day, event.last_day
    tables[REVIEW_SAMPLES].add(
        ReviewSample(id_, event.seed, *days, event.size, event.drawn_from, len(event.claim_ids), fact.at)
    )
    for place, claim in enumerate(event.claim_ids):
        if (tables[CLAIM_NAMES].get(claim) or tables[CLAIMS].get(claim)) is not None:
            tables[SAMPLED_CLAIMS].add(SampledClaim(id_, claim, place))


def decide(tables: Tables, fact: Fact, event: ReviewDecided, material: Material) -> None:
    """A reviewer decided, for the first time or anew."""
    if tables[SAMPLED_CLAIMS].get((event.sample_id, event.claim_id)) is None:
        return
    known = tables[OUTSIDE_REVIEWS].get((event.claim_id, event.reviewer))
    if known is None or known.sequence < fact.sequence:
        tables[OUTSIDE_REVIEWS].put(
            OutsideReview(
                event.claim_id, event.reviewer, event.sample_id, event.verdict, event.decided_on, fact.sequence
            )
        )
