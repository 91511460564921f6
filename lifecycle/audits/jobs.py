"""Fold one job from its events: what its worker does next, and what the job is charged."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from uuid import UUID

from contracts.jobs.costs import CostBreakdown
from contracts.v1 import (
    AssertionAnalysed,
    AssertionAnalysisRequested,
    Event,
    JobEnded,
    JobExtracted,
    JobFetched,
    JobPlanned,
    JobRequested,
    JobResolved,
    RunFailed,
    RunStarted,
)
from contracts.v1.ids import step_run_id
from contracts.v1.job import JobOutcome, Mode
from lifecycle.audits.charges import Steps, StepState, compute_charge, split_charge
from lifecycle.audits.runs import ASSESS, EXTRACT


class JobStep(Enum):
    """The next thing that a worker does for a job."""

    FETCH = "FETCH"
    EXTRACT = "EXTRACT"
    PLAN = "PLAN"
    WAIT = "WAIT"
    ASSESS = "ASSESS"
    NOTHING = "NOTHING"


@dataclass(slots=True)
class Job:
    """One job. Events may arrive twice, and those of its runs in any order; the first of each kind counts.

    Shapes: `started` are runs that began an attempt; `bought` are the runs of analyses that the job requested, even
    before its plan names them; `ended` are results and failures by run.
    """

    job_id: UUID
    requested: JobRequested | None = None
    fetched: JobFetched | None = None
    extracted: JobExtracted | None = None
    planned: JobPlanned | None = None
    resolved: JobResolved | None = None
    over: JobEnded | None = None
    started: set[UUID] = field(default_factory=set)
    bought: set[UUID] = field(default_factory=set)
    ended: dict[UUID, AssertionAnalysed | RunFailed] = field(default_factory=dict)

    def apply(self, event: Event) -> None:
        """Apply the next event; events of other jobs change nothing, and those of other runs do no harm."""
        match event:
            case JobRequested(job_id=self.job_id):
                self.requested = self.requested or event
            case JobFetched(job_id=self.job_id):
                self.fetched = self.fetched or event
            case JobExtracted(job_id=self.job_id):
                self.extracted = self.extracted or event
            case JobPlanned(job_id=self.job_id):
                self.planned = self.planned or event
            case JobResolved(job_id=self.job_id):
                self.resolved = self.resolved or event
            case JobEnded(job_id=self.job_id):
                self.over = self.over or event
            case RunStarted():
                self.started.add(event.run_id)
            case AssertionAnalysisRequested(requested_by=self.job_id):
                self.bought.add(event.run_id)
            case RunFailed():
                self.ended.setdefault(event.run_id, event)
            case AssertionAnalysed():
                self.ended.setdefault(event.analysis_id, event)
            case _:
                pass

    @property
    def next_step(self) -> JobStep:
        """The next step of its worker, after the last result that was stored."""
        if self.over is not None:
            return JobStep.NOTHING
        if self.resolved is not None:
            return JobStep.ASSESS
        if self.planned is not None:
            return JobStep.WAIT
        if self.extracted is not None:
            return JobStep.PLAN
        return JobStep.FETCH if self.fetched is None else JobStep.EXTRACT

    @property
    def awaited(self) -> frozenset[UUID]:
        """The runs that its claims wait for."""
        claims = self.planned.claims if self.planned is not None else ()
        return frozenset(each.run_id for each in claims if each.run_id is not None)

    def purchase_subjects(self) -> tuple[str, ...]:
        """The subjects of the analyses that its worker may request, one by one, before it stores its plan."""
        claims = self.extracted.claims if self.extracted is not None and self.planned is None else ()
        return tuple(dict.fromkeys(f"{AssertionAnalysisRequested.SUBJECT}.{each.assertion_id}" for each in claims))

    def charge(self, outcome: JobOutcome, *, assessed: bool = False) -> int:
        """The charge of the job if it ends with this outcome; `assessed`: its last step has just been done.

        Units: millionths of a US dollar.
        """
        return 0 if self.requested is None else compute_charge(self.requested, outcome, self._list_steps(assessed))

    def split_charge(self, outcome: JobOutcome, *, assessed: bool = False) -> CostBreakdown:
        """The charge by stage."""
        assert self.requested is not None, "only a job that was requested costs anything"
        return split_charge(self.requested, outcome, self._list_steps(assessed))

    def cancel(self) -> JobEnded | None:
        """The event that ends a job which its account cancels; None if it is over or was never requested."""
        if self.over is not None or self.requested is None:
            return None
        return JobEnded(job_id=self.job_id, outcome="CANCELED", charged_micro_usd=self.charge("CANCELED"))

    def _list_steps(self, assessed: bool) -> Steps:
        extract = self._find_state(step_run_id(self.job_id, EXTRACT))
        if self.extracted is not None:
            extract = StepState.DONE if self.extracted.memo_of is None else StepState.FREE
        claims = self.planned.claims if self.planned is not None else ()
        own = {each.run_id for each in claims if each.outcome == "OWN" and each.run_id is not None}
        return Steps(
            extract,
            tuple(self._find_state(run, begun=True) for run in own | self.bought),
            StepState.DONE if assessed else self._find_state(step_run_id(self.job_id, ASSESS)),
        )

    def _find_state(self, run: UUID, *, begun: bool = False) -> StepState:
        end = self.ended.get(run)
        if end is not None:
            return StepState.FAILED if isinstance(end, RunFailed) else StepState.DONE
        return StepState.STARTED if begun or run in self.started else StepState.FREE


def needs_assessment(mode: Mode, *, analysed: int, missing: int, failed: int) -> bool:
    """Whether to assess the article, given the numbers of its claims by state.

    Not if claims exist but none has an analysis, nor if nothing may be bought and an analysis is missing.
    """
    if mode == "CACHE_ONLY" and missing:
        return False
    return analysed > 0 or missing + failed == 0
