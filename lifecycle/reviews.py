"""Where a claim stands with its reviews, and what of it was found out so far."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from contracts.v1 import ClaimProposed, ClaimValidationStarted
from lifecycle.investigation import Candidate, Investigation
from lifecycle.retries import REVIEWS


@dataclass(frozen=True, slots=True)
class Begun:
    """The newest review of a claim that was begun, and its place in the log."""

    sequence: int
    event: ClaimValidationStarted


@dataclass(frozen=True, slots=True)
class ReviewState:
    """Shapes: `settled`: nobody needs a verdict on the claim any more; `review_attempts`: those that failed for now;
    `begun_on`: the delivery on which this round's newest review was begun, 0 if none was; `follows`: the place of the
    newest start; `due`: when the next review may begin, None if no moment is scheduled.
    Units: `spent_micro_usd` is what the round has cost so far, attempts and reviews together.
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


def review_state(proposed: ClaimProposed, investigation: Investigation | None, begun: Begun | None) -> ReviewState:
    """Read a claim's standing from its investigation, and from the newest start of a review of it.

    It is settled by a verdict of its round, and by the end of that round, however it ended: what is said of it later
    reaches nobody, and the next round proposes it anew.
    """
    of_round = begun is not None and begun.event.round == proposed.round
    state = ReviewState(
        settled=investigation is not None and investigation.is_over(proposed.round),
        begun_on=begun.event.delivery if begun is not None and of_round else 0,
        follows=begun.sequence if begun is not None else 0,
    )
    round_ = investigation.find_round(proposed.round) if investigation is not None else None
    if round_ is None:
        return state
    claim = round_.candidates.get(proposed.claim_id, Candidate(proposed.claim_id))
    return ReviewState(
        settled=state.settled or claim.verdict is not None,
        review_attempts=max(claim.retries, default=0),
        begun_on=state.begun_on,
        follows=state.follows,
        spent_micro_usd=round_.micro_usd,
        due=max((retry.retry_at for retry, _ in claim.retries.values()), default=None),
    )
