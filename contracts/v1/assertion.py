"""An assertion is a claim as such, shared by all articles that make it; its newest facts are the claim cache.

Its id derives from the normalised words, their language and the guard, so it is never edited.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal, Self
from uuid import UUID

from pydantic import Field, model_validator

from contracts.v1.codes import Code, Domain, Language, Name, PublishedKey, Share
from contracts.v1.event import Event, OnceEvent
from contracts.v1.job import Depth, Volatility
from contracts.v1.parts import EphemeralRef, Sha256, Value
from contracts.v1.run import RunEnd, StageModel

InvalidationReason = Literal["RIGHTS", "MODERATION", "EDIT"]


class Shape(Value):
    """How thorough an analysis is. `evidence` is the most pieces of evidence for one scenario."""

    scenarios: int = Field(ge=1, le=5)
    evidence: int = Field(ge=3, le=10)
    depth: Depth = "STANDARD"

    def covers(self, other: Shape) -> bool:
        """Whether this shape is at least as thorough as `other` in everything."""
        return self.join(other) == self

    def join(self, other: Shape) -> Shape:
        """The smallest shape that covers both."""
        return Shape(
            scenarios=max(self.scenarios, other.scenarios),
            evidence=max(self.evidence, other.evidence),
            depth="DEEP" if "DEEP" in (self.depth, other.depth) else "STANDARD",
        )


class AnalysedScenario(Value):
    """The estimate for one scenario.

    Shapes: `probability` is None if there is no evidence. `supporting` and `opposing` count pieces of evidence,
    `families` the independent sources on the verdict's side.
    """

    ordinal: int = Field(ge=1, le=5)
    probability: Share | None = None
    confidence: Share
    supporting: int = Field(default=0, ge=0)
    opposing: int = Field(default=0, ge=0)
    families: int = Field(default=0, ge=0)
    label: Code


class Citation(Value):
    """A source of a scenario: its public domain, and the hash of its address, by which quotes are withdrawn.

    `outcome` is that of the look-up of its quotes; `score` is the publisher's when the analysis was made.
    """

    publisher_id: UUID
    domain: Domain
    url_sha256: Sha256
    scenario: int = Field(ge=1, le=5)
    supports: bool
    relevance: Share
    outcome: Code
    score: Share | None = None
    family: int = Field(ge=1)


class DroppedEvidence(Value):
    """Counts of dropped evidence: its quote is not on the page, or the page was unavailable or not looked up."""

    missing: int = Field(default=0, ge=0)
    unavailable: int = Field(default=0, ge=0)
    not_looked_up: int = Field(default=0, ge=0)


class AssertionAnalysisRequested(
    OnceEvent, subject="assertion.analysis_requested", key="assertion_id", identity=("run_id", "requested_by")
):
    """An analysis is bought for the job or stale entry `requested_by`; other jobs that need it meanwhile join its run.

    `run_id` derives from the assertion and `follows`, so the requests of two jobs name the same run and have different
    ids: the stream refuses the later one instead of confirming it as a repetition. Shapes: `words` has the claim and
    its canonical text; `score_epoch` is the job's, whose publishers' scores are used.
    """

    assertion_id: UUID
    run_id: UUID
    published_key: PublishedKey
    norm_version: Name
    language: Language
    canonical_sha256: Sha256
    guard_sha256: Sha256
    volatility: Volatility
    words: EphemeralRef
    shape: Shape
    model: StageModel
    score_epoch: int = Field(default=0, ge=0)
    requested_by: UUID


class AssertionAnalysed(OnceEvent, subject="assertion.analysed", key="assertion_id", identity=("analysis_id",)):
    """The assertion was analysed; the newest analysis is valid until `expires_at` unless it is invalidated.

    `analysis_id` is the run's id. Shapes: `body` has explanations and quotes; `recommended` is the ordinal of the
    scenario that the roll-up is based on.
    """

    assertion_id: UUID
    analysis_id: UUID
    shape: Shape
    volatility: Volatility
    expires_at: datetime
    body: EphemeralRef
    scenarios: tuple[AnalysedScenario, ...] = Field(min_length=1)
    recommended: int = Field(ge=1, le=5)
    rollup: Code
    citations: tuple[Citation, ...] = ()
    dropped: DroppedEvidence = DroppedEvidence()
    score_epoch: int = Field(ge=0)
    end: RunEnd

    @model_validator(mode="after")
    def _belongs_to_its_run(self) -> Self:
        if self.analysis_id != self.end.run_id:
            raise ValueError("analysis_id is the id of its run")
        if self.recommended not in {each.ordinal for each in self.scenarios}:
            raise ValueError("recommended is the ordinal of one of the scenarios")
        return self


class AssertionInvalidated(Event, subject="assertion.invalidated", key="assertion_id"):
    """The earlier analysis `analysis_id` is no longer used; None: no earlier analysis of the assertion is.

    The analysis keeps its verdict and is shown as stale; under RIGHTS its quotes are deleted.
    """

    assertion_id: UUID
    analysis_id: UUID | None = None
    why: InvalidationReason

    def identity(self) -> str:
        return f"{self.analysis_id or ''}|{self.why}"
