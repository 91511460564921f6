"""Decide when a requested analysis may begin: after the one before it, so the analyses of an assertion only grow."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Final
from uuid import UUID

from contracts.v1 import AssertionAnalysed, AssertionAnalysisRequested, Event
from contracts.v1.assertion import Shape
from lifecycle.audits.cache import LONGEST_RUN, Analysed, Requested

SHORTEST_WAIT_S: Final = 3.0


@dataclass(slots=True)
class AnalysisTurn:
    """One requested analysis among the others of its assertion. Events are applied in the order of the log.

    Shapes: `requested` is None until its request was read from the log; `before` is the request that it follows, if
    any; `latest` is the newest analysis; `is_done`: it has its result.
    """

    run_id: UUID
    follows: int
    requested: Requested | None = None
    before: Requested | None = None
    latest: Analysed | None = None
    is_done: bool = False
    _ended: set[UUID] = field(default_factory=set)

    def apply(self, sequence: int, at: datetime, event: Event) -> None:
        """Apply the next event of the assertion."""
        match event:
            case AssertionAnalysisRequested(run_id=self.run_id):
                self.requested = Requested(sequence, at, event)
            case AssertionAnalysisRequested() if sequence == self.follows:
                self.before = Requested(sequence, at, event)
            case AssertionAnalysed():
                self.latest = Analysed(sequence, at, event)
                self._ended.add(event.analysis_id)
                self.is_done |= event.analysis_id == self.run_id
            case _:
                pass

    @property
    def awaited(self) -> UUID | None:
        """The run before this one if it has no result yet."""
        if self.before is None or self.before.event.run_id in self._ended:
            return None
        return self.before.event.run_id

    def wait_s(self, now: datetime, *, failed: bool) -> float:
        """Seconds until the next check; 0 if the analysis may begin. `failed`: the awaited run has failed.

        A lost run is awaited as long as others would join it. The wait grows with its age, so there are few checks.
        """
        if self.awaited is None or self.before is None or failed:
            return 0.0
        age_s = (now - self.before.at).total_seconds()
        left_s = LONGEST_RUN.total_seconds() - age_s
        return max(SHORTEST_WAIT_S, min(age_s / 2, left_s)) if left_s > 0 else 0.0

    def grow(self, shape: Shape) -> Shape:
        """The shape to analyse with: at least `shape` and that of the newest analysis."""
        return shape if self.latest is None else shape.join(self.latest.event.shape)
