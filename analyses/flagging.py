"""Kinds of analysis whose findings readers see as corrections.

A model submits claims about an article; a mechanical gate and a review decide on each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from analyses.evidence import Evidence
from analyses.kinds import Kind, Step
from contracts.v1.parts import ClaimPayload, Objection, Picture, PublishedClaim


@dataclass(frozen=True, slots=True)
class Rejection:
    """Why a claim did not pass the mechanical gate."""

    reason: str


@dataclass(frozen=True, slots=True)
class Earlier:
    """The findings in an earlier version of the article, and the diff of the text since then."""

    claims: tuple[PublishedClaim, ...]
    diff: str


@dataclass(frozen=True, slots=True)
class Material:
    """One article as the model sees it.

    Shapes: `text` is the normalised text, in which quotes must be verbatim; `markdown` is the same article with its
    structure, None if there was no HTML; `image_marker` is that of its placeholders; `earlier` makes this an update
    run, even if it has no findings; `objection` is a reader's objection to an earlier result.
    """

    platform: str
    url: str
    text: str
    markdown: str | None = None
    author_name: str | None = None
    published_at: datetime | None = None
    has_video: bool = False
    image_marker: str | None = None
    pictures: Sequence[Picture] = ()
    earlier: Earlier | None = None
    objection: Objection | None = None

    @property
    def old_claims(self) -> tuple[PublishedClaim, ...]:
        """The findings of the earlier version."""
        return self.earlier.claims if self.earlier is not None else ()


@dataclass(frozen=True, slots=True)
class Candidate:
    """One claim as its reviewer sees it: with the normalised text, its pictures and its checked sources."""

    claim: ClaimPayload
    text: str
    pictures: Sequence[Picture] = ()
    evidence: Sequence[Evidence] = ()


@dataclass(frozen=True, slots=True)
class Review:
    """A reviewer's answer; only `approved` decides, `reason` is for the audit."""

    approved: bool
    reason: str | None


class Look(Step[Material, None], Protocol):
    """The step that finds claims; its results are those of `decide`."""

    def decide(self, name: str, arguments: str, material: Material) -> ClaimPayload | UUID:
        """Parse a submitting call into a new claim, or the id of a retained one. Raises: InvalidSubmission."""


class FlaggingKind(Kind, Protocol):
    """A kind of analysis that finds errors. Every member is pure."""

    @property
    def look(self) -> Look:
        """The step that investigates an article for the first time."""

    @property
    def update(self) -> Look:
        """The step that investigates a new version of an article."""

    @property
    def review(self) -> Step[Candidate, Review]:
        """The step that reviews one claim."""

    def retain(self, claim: ClaimPayload, text: str) -> ClaimPayload | Rejection:
        """Anchor an old claim in another text, or return why that fails."""

    def anchor(self, claim: ClaimPayload, text: str) -> ClaimPayload:
        """Remove Markdown and typography from quote and context if the result is verbatim in `text`."""

    def locate(self, claim: ClaimPayload, text: str) -> str:
        """A key for the place of an anchored claim's quote in `text`."""

    def check(self, claim: ClaimPayload, text: str) -> Rejection | None:
        """The mechanical gate before the review; None if the claim passes."""


def look_step(kind: FlaggingKind, *, is_update: bool) -> Look:
    """The first step of a run."""
    return kind.update if is_update else kind.look
