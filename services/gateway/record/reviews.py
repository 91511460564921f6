"""External reviewers' verdicts on findings, the samples drawn for them, and the refusals of our own gates."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from typing import Final
from uuid import UUID

from sqlalchemy import text as sql

from accuracy.facts import Verdict
from services.gateway.record.connection import Queries

_SAMPLES: Final = sql("""
    SELECT s.seed, s.first_day, s.last_day, s.size, s.drawn_from, s.drawn, s.drawn_at,
        count(c.claim_id) AS present,
        count(c.claim_id) FILTER (WHERE EXISTS (SELECT FROM review r WHERE r.claim_id = c.claim_id)) AS reviewed
    FROM review_sample s LEFT JOIN review_sample_claim c ON c.sample_id = s.id
    GROUP BY s.id ORDER BY s.drawn_at DESC, s.id
""")
_REVIEWS: Final = sql("""
    SELECT r.claim_id, r.verdict, i.provider, i.model, q.version AS prompt_version
    FROM review r JOIN claim c ON c.id = r.claim_id JOIN investigation i ON i.id = c.investigation_id
        JOIN prompt q ON q.hash = i.prompt_hash
    ORDER BY r.claim_id, r.reviewer
""")
_DRAWN: Final = sql("SELECT count(DISTINCT claim_id) AS count FROM review_sample_claim")
_REFUSALS: Final = sql("""
    SELECT coalesce(gate, 'model') AS gate, count(*) AS count FROM claim_review
    WHERE outcome = 'REJECTED' AND decided_at >= :since GROUP BY 1 ORDER BY 2 DESC, 1
""")


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnSample:
    """A sample. Shapes: of the `drawn` findings, `present` were not erased since, and `reviewed` have a review."""

    seed: str
    first_day: date
    last_day: date
    size: int
    drawn_from: int
    drawn: int
    drawn_at: datetime
    present: int
    reviewed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """One reviewer's verdict on a finding, with the model and the prompt that proposed it."""

    claim_id: UUID
    verdict: Verdict
    provider: str
    model: str
    prompt_version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusals:
    """The number of candidates that a gate refused."""

    gate: str
    count: int


@dataclass(frozen=True, slots=True)
class ReviewRecord:
    """All samples, newest first, all verdicts, and the number of distinct findings drawn."""

    samples: tuple[DrawnSample, ...]
    decisions: tuple[Decision, ...]
    drawn: int


class Reviews(Queries):
    """Queries of reviews."""

    async def read(self) -> ReviewRecord:
        """Everything that the public rate is computed from."""
        return ReviewRecord(
            tuple(await self._all(DrawnSample, _SAMPLES)),
            tuple(await self._all(Decision, _REVIEWS)),
            (await self._scalars(_DRAWN)).one(),
        )

    async def refusals(self, since: datetime) -> tuple[Refusals, ...]:
        """The number of refused candidates for each gate, largest first."""
        return tuple(await self._all(Refusals, _REFUSALS, since=since))
