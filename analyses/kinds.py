"""What a kind of analysis is: the steps it asks models in, and how long their words are kept.

Everything here is values in, values out. A step that read a clock or a file would give a repeated run another prompt
than the one recorded with it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from hashlib import sha256
from typing import Any, Protocol, TypeVar

from pydantic import JsonValue

from analyses.placing import Part
from contracts.steps import StepName, Turns
from contracts.transcript import Research
from contracts.v1.parts import Prompt

MaterialT = TypeVar("MaterialT", contravariant=True)
AnswerT = TypeVar("AnswerT", covariant=True)


class InvalidSubmission(ValueError):
    """Arguments of a tool cannot be read; the text is written for the model, which may try again."""


class InvalidAnswer(ValueError):
    """The answer that ends a step cannot be read; the text says why, for our audit."""


class Retention(Enum):
    """How long the words of a kind are kept: what it was given, what it answered, what it asked and found."""

    FOREVER = "FOREVER"
    DAYS_90 = "DAYS_90"
    HOURS_24 = "HOURS_24"
    NOTHING = "NOTHING"


@dataclass(frozen=True, slots=True)
class Tool:
    """A function the model may call. Shapes: `parameters` is a strict JSON Schema object."""

    name: str
    description: str
    parameters: Mapping[str, JsonValue]


class Step(Protocol[MaterialT, AnswerT]):
    """One conversation with a model about one piece of material. Every member is pure."""

    @property
    def name(self) -> StepName:
        """What travels in facts."""

    @property
    def prompt(self) -> Prompt:
        """Instructions; the text never changes under the same version."""

    @property
    def schema(self) -> Mapping[str, JsonValue] | None:
        """Strict JSON Schema of the answer; None where it is free text."""

    @property
    def turns(self) -> Turns:
        """How often the model is asked."""

    def tools(self, material: MaterialT) -> tuple[Tool, ...]:
        """Functions offered: those that look something up and those that decide something."""

    def brief(self, material: MaterialT) -> tuple[Part, ...]:
        """The user's message: words, and pictures where they are shown."""

    def read(self, answer: str, lookups: Sequence[Research]) -> AnswerT:
        """The last answer, checked against what the model looked up. Raises: InvalidAnswer."""


class Kind(Protocol):
    """One kind of analysis."""

    @property
    def name(self) -> str:
        """The open name that travels in events, e.g. `FACT_CHECK`."""

    @property
    def rules(self) -> str:
        """The version of what decides here without a model; under the same one it never decides otherwise."""

    @property
    def retention(self) -> Retention:
        """How long its words are kept."""

    @property
    def steps(self) -> tuple[Step[Any, Any], ...]:
        """Its steps, in the order in which they are first asked."""

    @property
    def bundles(self) -> Mapping[str, str]:
        """By prompt version, the SHA-256 of every fixed word that a model gets with it."""


def describe(tool: Tool) -> str:
    """A tool as a model reads it, for a bundle."""
    return json.dumps([tool.name, tool.description, tool.parameters])


def hash_bundle(*texts: str) -> str:
    """One hash over texts that belong together."""
    return sha256(json.dumps(texts).encode()).hexdigest()


def make_prompt(version: str, text: str) -> Prompt:
    """A prompt with the hash of its text."""
    return Prompt(version=version, sha256=sha256(text.encode()).hexdigest(), text=text)
