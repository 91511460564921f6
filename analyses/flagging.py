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
    """What was found in an earlier version of the article, and how the text has changed since."""

    claims: tuple[PublishedClaim, ...]
    diff: str


@dataclass(frozen=True, slots=True)
class Material:
    """One article as the model sees it.

    Shapes: `text` is the normalised text, in which quotes must be verbatim; `markdown` is the same article with its
    structure, None if there was no HTML; `image_marker` is that of its placeholders; `earlier` makes this an update
    run, even if nothing had been found; `objection` is what a reader says against an earlier result.
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
    """A reviewer's answer; `approved` alone decides, `reason` is for the audit."""

    approved: bool
    reason: str | None


class Look(Step[Material, None], Protocol):
    """The step that finds claims; its result is what `decide` read."""

    def decide(self, name: str, arguments: str, material: Material) -> ClaimPayload | UUID:
        """Read a submitting call: a new claim, or the id of a retained one. Raises: InvalidSubmission."""


class FlaggingKind(Kind, Protocol):
    """A kind of analysis that finds errors. Every member is pure."""

    @property
    def look(self) -> Look:
        """Investigates an article for the first time."""

    @property
    def update(self) -> Look:
        """Investigates a new version of an article."""

    @property
    def review(self) -> Step[Candidate, Review]:
        """Reviews one claim."""

    def retain(self, claim: ClaimPayload, text: str) -> ClaimPayload | Rejection:
        """Anchor an old claim in another text, or say why that fails."""

    def anchor(self, claim: ClaimPayload, text: str) -> ClaimPayload:
        """Remove Markdown and typography from quote and context where the result is verbatim in `text`."""

    def locate(self, claim: ClaimPayload, text: str) -> str:
        """A key for the place of an anchored claim's quote in `text`."""

    def check(self, claim: ClaimPayload, text: str) -> Rejection | None:
        """The mechanical gate before the review; None: passed."""


def look_step(kind: FlaggingKind, *, is_update: bool) -> Look:
    """The first step of a run."""
    return kind.update if is_update else kind.look
