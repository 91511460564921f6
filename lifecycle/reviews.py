"""Derive the state of a claim's reviews."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from contracts.v1 import ClaimProposed, ClaimValidationStarted
from lifecycle.attempts import REVIEWS
from lifecycle.investigation import Investigation
from lifecycle.rounds import Candidate


@dataclass(frozen=True, slots=True)
class StartedReview:
    """The start of the newest review of a claim, and its sequence."""

    sequence: int
    event: ClaimValidationStarted


@dataclass(frozen=True, slots=True)
class ReviewState:
    """The state of a claim's reviews.

    Shapes: `settled`: no further verdict is needed; `review_attempts`: failed reviews that are retried; `begun_on`:
    the delivery on which this round's newest review was begun, 0 if none was; `follows`: the sequence of the newest
    start; `due`: when the next review may begin, None if no retry is scheduled.
    Units: `spent_micro_usd` is the round's cost so far, attempts and reviews together.
    """

    settled: bool
    review_attempts: int = 0
    begun_on: int = 0
    follows: int = 0
    spent_micro_usd: int = 0
    due: datetime | None = None

    def left_s(self, now: datetime) -> float:
        """Seconds until the next review may begin."""
        return REVIEWS.left_s(self.due, now)


def fold_review_state(
    proposed: ClaimProposed, investigation: Investigation | None, begun: StartedReview | None
) -> ReviewState:
    """Derive the state from the investigation and the newest start of a review.

    A claim is settled by a verdict in its round and by the end of that round; the next round proposes it anew.
    """
    of_round = begun is not None and begun.event.round == proposed.round
    state = ReviewState(
        settled=investigation is not None and investigation.is_over(proposed.round),
        begun_on=begun.event.delivery_count if begun is not None and of_round else 0,
        follows=begun.sequence if begun is not None else 0,
    )
    round_ = investigation.find_round(proposed.round) if investigation is not None else None
    if round_ is None:
        return state
    claim = round_.candidates.get(proposed.claim_id, Candidate(proposed.claim_id))
    return ReviewState(
        settled=state.settled or claim.judged is not None,
        review_attempts=max(claim.retries, default=0),
        begun_on=state.begun_on,
        follows=state.follows,
        spent_micro_usd=round_.micro_usd,
        due=max((retry.retry_at for retry, _ in claim.retries.values()), default=None),
    )
