"""Kinds that may be asked of a version of a post, and whose findings readers see as corrections.

A model looks at the article and hands in claims; a gate that no model can talk past and a review decide on each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from analyses.evidence import Evidence
from analyses.kinds import Kind, Step
from contracts.v1.parts import ClaimPayload, Picture, PublishedClaim


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

    Shapes: `text` is the normalised text, the only thing quotes are held against; `markdown` is the same article with
    its structure, None if there was no HTML; `image_marker` is that of its placeholders; `earlier` makes this an update
    run, also where nothing had been found.
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

    @property
    def old_claims(self) -> tuple[PublishedClaim, ...]:
        """The findings of the earlier version."""
        return self.earlier.claims if self.earlier is not None else ()


@dataclass(frozen=True, slots=True)
class Candidate:
    """One claim as its reviewer sees it: with the normalised text, a list of its pictures, what its sources say."""

    claim: ClaimPayload
    text: str
    pictures: Sequence[Picture] = ()
    evidence: Sequence[Evidence] = ()


@dataclass(frozen=True, slots=True)
class Review:
    """The answer of a reviewer; `reason` is for our audit, `approved` alone decides."""

    approved: bool
    reason: str | None


class Look(Step[Material, None], Protocol):
    """The step that looks for claims; its result is what it decided on the way."""

    def decide(self, name: str, arguments: str, material: Material) -> ClaimPayload | UUID:
        """Read a call that decides: a new claim, or the id of an old one that is kept. Raises: InvalidSubmission."""


class FlaggingKind(Kind, Protocol):
    """One kind of error we look for. Every member is pure."""

    @property
    def look(self) -> Look:
        """Looks at an article for the first time."""

    @property
    def update(self) -> Look:
        """Looks at an article of which an earlier version was looked at."""

    @property
    def review(self) -> Step[Candidate, Review]:
        """Doubts one claim."""

    def keep(self, claim: ClaimPayload, text: str) -> ClaimPayload | Rejection:
        """An old claim at its place in another text, or why it has none."""

    def anchor(self, claim: ClaimPayload, text: str) -> ClaimPayload:
        """Drop Markdown and typography from quote and context where the result is verbatim in `text`."""

    def place(self, claim: ClaimPayload, text: str) -> str:
        """What tells an anchored claim's words from the same words elsewhere in `text`, and nothing else."""

    def check(self, claim: ClaimPayload, text: str) -> Rejection | None:
        """The mechanical gate before any model is asked; None means the claim may go on to review."""


def look_step(kind: FlaggingKind, *, is_update: bool) -> Look:
    """The step that a run begins with."""
    return kind.update if is_update else kind.look
