"""Fold one run of an audit's step from its events; the rules that all runs share decide what comes next."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from contracts.steps import StepName
from contracts.v1 import (
    AssertionAnalysed,
    Event,
    JobEnded,
    JobExtracted,
    RunAdvanced,
    RunFailed,
    RunRetryScheduled,
    RunStarted,
)
from contracts.v1.parts import EphemeralRef
from lifecycle.attempts import Link
from lifecycle.audits.charges import StepState
from lifecycle.run import RunHistory

EXTRACT: Final[StepName] = "CLAIM_AUDIT/extract"
ANALYSE: Final[StepName] = "CLAIM_AUDIT/analyse"
ASSESS: Final[StepName] = "CLAIM_AUDIT/assess"

RunResult = AssertionAnalysed | JobEnded | JobExtracted
"""The facts that a successful run ends with; their keys are not the run's id."""


@dataclass(slots=True)
class Run:
    """One run. Shapes: `history` plans its next attempt; `result` and `failure` are how it ended."""

    run_id: UUID
    history: RunHistory[EphemeralRef] = field(default_factory=RunHistory)
    state: StepState = StepState.FREE
    result: RunResult | None = None
    failure: RunFailed | None = None

    def apply(self, sequence: int, event: Event) -> None:
        """Apply the next event of the log; events of other runs and repetitions change nothing."""
        match event:
            case RunStarted(run_id=self.run_id):
                self.history.start(sequence, event.attempt, event.delivery_count)
                if self.state is StepState.FREE:
                    self.state = StepState.STARTED
            case RunAdvanced(run_id=self.run_id):
                self.history.add_segment(event.attempt, Link(event.segment, event.before), event.usage)
            case RunRetryScheduled(run_id=self.run_id):
                self.history.schedule_retry(event.attempt, event.retry_at, event.usage, event.transcript)
            case RunFailed(run_id=self.run_id) if not self.history.is_over:
                self.history.end()
                self.failure, self.state = event, StepState.FAILED
            case AssertionAnalysed() | JobEnded() | JobExtracted() if not self.history.is_over:
                if event.end is not None and event.end.run_id == self.run_id:
                    self.history.end()
                    self.result, self.state = event, StepState.DONE
            case _:
                pass


def fold_run(run_id: UUID, facts: Iterable[tuple[int, Event]]) -> Run:
    """Fold a run from its own events and the facts that it may have ended with, each with its sequence."""
    run = Run(run_id)
    for sequence, event in facts:
        run.apply(sequence, event)
    return run
