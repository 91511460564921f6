"""A candidate that passed everything but the models, with what is known for its verdict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict
from uuid import UUID

from analyses.flagging import Candidate, Review
from analyses.gates import CitedPage
from analyses.kinds import Step
from contracts.v1.gates import GatePolicy, GateResult
from contracts.v1.opinion import Opinion
from contracts.v1.parts import CheckedSource, Prompt, TextRef, Usage


class ClaimIds(TypedDict):
    """Which claim of which round an event is about."""

    investigation_id: UUID
    claim_id: UUID
    round: int


class ReviewRecord(ClaimIds):
    """The fields that all outcomes of a review share."""

    rules: str
    sources: tuple[CheckedSource, ...]
    policy: GatePolicy | None
    gates: tuple[GateResult, ...]
    unchecked_allowed: bool
    opinion: Opinion | None
    prompt: Prompt | None
    usage: Usage
    transcript: TextRef | None


@dataclass(frozen=True, slots=True)
class Examined:
    """A candidate that only a model can still refuse; `counted` are the pages that speak for it."""

    review: Step[Candidate, Review]
    candidate: Candidate
    counted: tuple[CitedPage, ...]
    record: ReviewRecord
