"""Decide the outcome of a claim's look-up in the cache, from the newest facts about its assertion."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from contracts.v1 import AssertionAnalysed, AssertionAnalysisRequested, AssertionInvalidated, Event
from contracts.v1.assertion import Shape
from contracts.v1.ids import analysis_run_id
from contracts.v1.job import AuditOptions, CachePreference, Volatility

DECISIVE: Final = (AssertionAnalysisRequested, AssertionAnalysed, AssertionInvalidated)
"""The events whose newest ones about an assertion decide a look-up, with whether the newest run failed."""
LIFETIME: Final = timedelta(days=90)
"""An older analysis is never used. Source: FH-56."""
HORIZONS: Final[dict[Volatility, timedelta]] = {
    "FAST": timedelta(hours=1),
    "SLOW": timedelta(days=7),
    "DATED": LIFETIME,
    "TIMELESS": LIFETIME,
}
"""How long an analysis is fresh. Source: FH-146."""
LONGEST_RUN: Final = timedelta(minutes=15)
"""After this time a run without an end counts as lost, and is no longer joined."""


@dataclass(frozen=True, slots=True)
class Requested:
    """The newest request. `failed`: its run ended without a result."""

    sequence: int
    at: datetime
    event: AssertionAnalysisRequested
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Analysed:
    """The newest analysis. `gone`: its words are not stored, although they have not expired."""

    sequence: int
    at: datetime
    event: AssertionAnalysed
    gone: bool = False


@dataclass(frozen=True, slots=True)
class Invalidated:
    """The newest invalidation."""

    sequence: int
    event: AssertionInvalidated


@dataclass(frozen=True, slots=True)
class Cached:
    """The newest facts about an assertion.

    An invalidation that withdrew the newest analysis is not replaced by a later one of a single analysis.
    """

    requested: Requested | None = None
    analysed: Analysed | None = None
    invalidated: Invalidated | None = None

    def apply(self, sequence: int, at: datetime, event: Event) -> Cached:
        """This state after a newer fact."""
        match event:
            case AssertionAnalysisRequested():
                return replace(self, requested=Requested(sequence, at, event))
            case AssertionAnalysed():
                return replace(self, analysed=Analysed(sequence, at, event))
            case AssertionInvalidated():
                found = Invalidated(sequence, event)
                stays = self.analysed is not None and is_withdrawn(self.analysed, self.invalidated)
                return self if stays and found.event.analysis_id is not None else replace(self, invalidated=found)
            case _:
                return self

    @property
    def open_run(self) -> UUID | None:
        """The newest run that was requested, None if it succeeded: it is in progress or has failed."""
        requested, analysed = self.requested, self.analysed
        is_done = analysed is not None and requested is not None and analysed.sequence > requested.sequence
        return None if requested is None or is_done else requested.event.run_id

    @property
    def may_be_withdrawn_before(self) -> bool:
        """Whether an earlier invalidation than the known one may have withdrawn the newest analysis."""
        if self.analysed is None or self.invalidated is None or self.invalidated.sequence < self.analysed.sequence:
            return False
        return not is_withdrawn(self.analysed, self.invalidated)

    def with_run_failed(self) -> Cached:
        """This state with the newest requested run marked as failed."""
        return self if self.requested is None else replace(self, requested=replace(self.requested, failed=True))

    def with_words_gone(self) -> Cached:
        """This state with the newest analysis marked as gone."""
        return self if self.analysed is None else replace(self, analysed=replace(self.analysed, gone=True))


@dataclass(frozen=True, slots=True)
class Asked:
    """A claim that a job looks up. The job was requested at `job_sequence`; `assertion_id` is None if the claim's
    canonical form is empty.

    `may_buy`: the job may pay for an analysis of this claim.
    """

    assertion_id: UUID | None
    job_id: UUID
    job_sequence: int
    shape: Shape
    volatility: Volatility
    preference: CachePreference
    may_buy: bool


@dataclass(frozen=True, slots=True)
class Hit:
    """An analysis is used. `stale`: it is past its horizon."""

    analysis_id: UUID
    stale: bool = False


@dataclass(frozen=True, slots=True)
class Join:
    """The job waits for a run. `own`: this job requested it, on an earlier delivery."""

    run_id: UUID
    own: bool = False


@dataclass(frozen=True, slots=True)
class Request:
    """The job requests an analysis, as a once-event after `follows`; if the stream refuses it, look again."""

    run_id: UUID
    follows: int
    shape: Shape


@dataclass(frozen=True, slots=True)
class Miss:
    """There is no usable analysis, and none may be bought."""


@dataclass(frozen=True, slots=True)
class Unusable:
    """The claim's canonical form is empty, so nothing can be analysed."""


Outcome = Hit | Join | Request | Miss | Unusable


def shape_of(options: AuditOptions) -> Shape:
    """The shape of the analyses that a job's options ask for."""
    return Shape(scenarios=options.scenarios_per_claim, evidence=options.max_evidence_per_scenario, depth=options.depth)


def look(now: datetime, asked: Asked, cached: Cached) -> Outcome:
    """Decide how a claim gets its analysis: a cached one, another job's run, a request of its own, or none.

    A run is joined only if its shape covers what is asked; otherwise a larger one is requested after it. The worker
    that gets such a request waits for the run before it, so that the analyses of an assertion never become smaller.
    """
    if asked.assertion_id is None:
        return Unusable()
    requested, analysed = cached.requested, cached.analysed
    if requested is not None and requested.event.requested_by == asked.job_id:
        return Join(requested.event.run_id, own=True)  # done, failed or in progress: it is not bought again
    usable = analysed is not None and _is_usable(now, asked, analysed, cached.invalidated)
    fresh = usable and analysed is not None and now - analysed.at < _find_horizon(asked, analysed)
    if analysed is not None and usable and _takes_hit(asked, cached, fresh=fresh):
        return Hit(analysed.event.analysis_id, stale=not fresh)
    under_way = requested if requested is not None and _is_under_way(now, cached, requested) else None
    if under_way is not None and _may_join(asked, under_way):
        return Join(under_way.event.run_id)
    if asked.may_buy and asked.preference != "CACHE_ONLY":
        shape = asked.shape if analysed is None else asked.shape.join(analysed.event.shape)
        if under_way is not None:
            shape = shape.join(under_way.event.shape)
        follows = requested.sequence if requested is not None else 0
        return Request(analysis_run_id(asked.assertion_id, follows), follows, shape)
    if analysed is not None and usable:
        return Hit(analysed.event.analysis_id, stale=not fresh)
    return Miss()


def fall_back(now: datetime, asked: Asked, cached: Cached) -> UUID | None:
    """The analysis to use, marked as stale, if the awaited run fails; None: the claim fails then."""
    analysed = cached.analysed
    if analysed is None or not _is_usable(now, asked, analysed, cached.invalidated):
        return None
    return analysed.event.analysis_id


def is_withdrawn(analysed: Analysed, invalidated: Invalidated | None) -> bool:
    """Whether the newest invalidation of the assertion withdrew this analysis."""
    if invalidated is None or invalidated.sequence < analysed.sequence:
        return False
    return invalidated.event.analysis_id in (None, analysed.event.analysis_id)


def _is_usable(now: datetime, asked: Asked, analysed: Analysed, invalidated: Invalidated | None) -> bool:
    if analysed.gone or now - analysed.at >= LIFETIME or now >= analysed.event.expires_at:
        return False
    return not is_withdrawn(analysed, invalidated) and analysed.event.shape.covers(asked.shape)


def _find_horizon(asked: Asked, analysed: Analysed) -> timedelta:
    return min(HORIZONS[asked.volatility], HORIZONS[analysed.event.volatility])


def _takes_hit(asked: Asked, cached: Cached, *, fresh: bool) -> bool:
    """Whether the account's preference accepts a usable analysis."""
    match asked.preference:
        case "SKIP_CACHE":  # unless it was requested later than the job
            requested, analysed = cached.requested, cached.analysed
            return (
                requested is not None
                and analysed is not None
                and requested.sequence > asked.job_sequence
                and requested.event.run_id == analysed.event.analysis_id
            )
        case "PREFER_CACHE":
            return fresh
        case "ALLOW_PARTIAL" | "CACHE_ONLY":
            return True


def _is_under_way(now: datetime, cached: Cached, requested: Requested) -> bool:
    is_done = cached.analysed is not None and cached.analysed.sequence > requested.sequence
    return not is_done and not requested.failed and now - requested.at < LONGEST_RUN


def _may_join(asked: Asked, requested: Requested) -> bool:
    is_late_enough = asked.preference != "SKIP_CACHE" or requested.sequence > asked.job_sequence
    return is_late_enough and requested.event.shape.covers(asked.shape)
