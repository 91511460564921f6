"""What an analysis is: instructions, a way in for articles, a way out for claims, a gate that no model can talk past.

Everything here is values in, values out. An analysis that read a clock or a file would give a repeated run another
prompt than the one recorded with it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Protocol
from uuid import UUID

from pydantic import JsonValue

from analyses.evidence import Evidence
from analyses.placing import Part
from contracts.v1.parts import ClaimPayload, Picture, Prompt, PublishedClaim


class InvalidSubmission(ValueError):
    """What the model handed in cannot be read as a claim; the text is written for the model, which may try again."""


@dataclass(frozen=True, slots=True)
class Rejection:
    """Why a claim did not pass the mechanical gate."""

    reason: str


@dataclass(frozen=True, slots=True)
class Tool:
    """A function the model may call. Shapes: `parameters` is a strict JSON Schema object."""

    name: str
    description: str
    parameters: Mapping[str, JsonValue]


def told(tool: Tool) -> str:
    """What a model is told of a tool."""
    return json.dumps([tool.name, tool.description, tool.parameters])


def bundled(*texts: str) -> str:
    """One hash over texts that belong together."""
    return sha256(json.dumps(texts).encode()).hexdigest()


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


class Analysis(Protocol):
    """One kind of error we look for. Every member is pure."""

    @property
    def kind(self) -> str:
        """The open name that travels in events, e.g. `FACT_CHECK`."""

    @property
    def prompt(self) -> Prompt:
        """Stage-1 instructions; the text never changes under the same version."""

    @property
    def update_prompt(self) -> Prompt:
        """Stage-1 instructions where an earlier version was investigated."""

    @property
    def review_prompt(self) -> Prompt:
        """Stage-2 instructions; the text never changes under the same version."""

    @property
    def rules(self) -> str:
        """The version of what decides here without a model; under the same one it never decides otherwise."""

    @property
    def bundles(self) -> Mapping[str, str]:
        """By prompt version, the SHA-256 of every fixed word that a model gets with it."""

    @property
    def tools(self) -> tuple[Tool, ...]:
        """Functions offered in stage 1, those that research and those that decide."""

    def update_tools(self, old_claims: Sequence[PublishedClaim]) -> tuple[Tool, ...]:
        """Functions offered where an earlier version had these findings; with none, the same as `tools`."""

    @property
    def review_schema(self) -> Mapping[str, JsonValue]:
        """Strict JSON Schema of the stage-2 answer: `approved` decides, `reason` is for our audit."""

    def brief(self, material: Material) -> tuple[Part, ...]:
        """The stage-1 user message: words, and pictures where they are shown."""

    def parse_submission(self, arguments: str) -> ClaimPayload:
        """Read the arguments of the call that hands in a claim. Raises: InvalidSubmission."""

    def decide(
        self, name: str, arguments: str, text: str, old_claims: Sequence[PublishedClaim] = ()
    ) -> ClaimPayload | UUID:
        """Read a call that decides: a new claim, or the id of an old one that is kept. Raises: InvalidSubmission."""

    def kept(self, claim: ClaimPayload, text: str) -> ClaimPayload | Rejection:
        """An old claim at its place in another text, or why it has none."""

    def anchor(self, claim: ClaimPayload, text: str) -> ClaimPayload:
        """Drop Markdown and typography from quote and context where the result is verbatim in `text`."""

    def place(self, claim: ClaimPayload, text: str) -> str:
        """What tells an anchored claim's words from the same words elsewhere in `text`, and nothing else."""

    def check(self, claim: ClaimPayload, text: str) -> Rejection | None:
        """The mechanical gate before any model is asked; None means the claim may go on to review."""

    def review_brief(
        self, claim: ClaimPayload, text: str, pictures: Sequence[Picture] = (), evidence: Sequence[Evidence] = ()
    ) -> str:
        """The stage-2 user message: one claim, the normalised text, a list of its pictures, what its sources say."""
