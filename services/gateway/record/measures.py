"""The measured correctness of the catalogue's verdicts, where an operator had them judged."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from sqlalchemy import text as sql

from accuracy.bounds import lower_bound
from lifecycle.audits.quality import CORRECTNESS, name_maker
from services.gateway.record.connection import Queries

_MADE_BY: Final = sql("SELECT model, prompt_hash, rules FROM run_attempt WHERE run_id = :id AND outcome = 'SUCCEEDED'")
_MEASURE: Final = sql("""
    SELECT value, n, hour FROM quality_metric WHERE type = :type AND category = :category ORDER BY hour DESC LIMIT 1
""")


@dataclass(frozen=True, slots=True, kw_only=True)
class _MadeBy:
    model: str
    prompt_hash: str
    rules: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureRow:
    """How often verdicts of one model, instructions and rules were right: a share of `n`, as of an hour."""

    value: float
    n: int
    hour: datetime

    @property
    def at_least(self) -> float:
        """The exact one-sided lower bound of the share, at 95 per cent confidence."""
        return lower_bound(round(self.value * self.n), self.n)


class MeasureQueries(Queries):
    """Queries of measures."""

    async def measure(self, analysis: UUID | None) -> MeasureRow | None:
        """The newest measure of the model, prompt and rules that made an analysis; None if they were not measured."""
        made = await self._one(_MadeBy, _MADE_BY, id=analysis)
        if made is None:
            return None
        category = name_maker(made.model, made.prompt_hash, made.rules)
        return await self._one(MeasureRow, _MEASURE, type=CORRECTNESS, category=category)
