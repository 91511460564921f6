"""How many posts may be taken now."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from contracts.v1 import InvestigationRequested
from contracts.v1.ids import investigation_id


@dataclass(frozen=True)
class Candidate:
    """The newest version of a post that nobody has investigated, with its capped view score."""

    post_id: UUID
    version_id: UUID
    score: int
    correlation: UUID


def allowance(budget_per_day: int, taken_today: int, batch: int) -> int:
    """Posts that may be taken in this round."""
    return max(0, min(batch, budget_per_day - taken_today))


def request(candidate: Candidate, analysis: str) -> InvestigationRequested:
    """The fact that asks for a candidate's investigation."""
    return InvestigationRequested(
        investigation_id=investigation_id(candidate.version_id, analysis),
        version_id=candidate.version_id,
        post_id=candidate.post_id,
        analysis=analysis,
        requested_by="SELECTOR",
    )
