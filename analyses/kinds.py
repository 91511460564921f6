"""The interface of a kind of analysis and its steps.

Everything is pure: if a step read a clock or a file, a replayed run would get another prompt than the recorded one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Never, Protocol, TypeVar

from pydantic import JsonValue

from analyses.placing import Part
from contracts.steps import StepName, Turns
from contracts.transcript import Research
from contracts.v1.parts import Prompt

MaterialT = TypeVar("MaterialT", contravariant=True)
AnswerT = TypeVar("AnswerT", covariant=True)


class InvalidSubmission(ValueError):
    """Invalid arguments of a tool; the message is for the model, which may try again."""


class InvalidAnswer(ValueError):
    """Invalid final answer of a step; the message is for the audit."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that the model may call. Shapes: `parameters` is a strict JSON Schema object."""

    name: str
    description: str
    parameters: Mapping[str, JsonValue]


class Step(Protocol[MaterialT, AnswerT]):
    """One conversation with a model about one input. Every member is pure."""

    @property
    def name(self) -> StepName:
        """The step's name in events."""

    @property
    def prompt(self) -> Prompt:
        """The instructions; the text of a version never changes."""

    @property
    def schema(self) -> Mapping[str, JsonValue] | None:
        """The strict JSON Schema of the answer, None for free text."""

    @property
    def turns(self) -> Turns:
        """The number of requests that the step may send."""

    def tools(self, material: MaterialT) -> tuple[Tool, ...]:
        """The functions that are offered, for research and for submissions."""

    def brief(self, material: MaterialT) -> tuple[Part, ...]:
        """The user's message: texts, and pictures at their places."""

    def read(self, answer: str, lookups: Sequence[Research]) -> AnswerT:
        """Parse the last answer, and check it against the model's research. Raises: InvalidAnswer."""


class Kind(Protocol):
    """One kind of analysis."""

    @property
    def name(self) -> str:
        """The kind's name in events, e.g. `FACT_CHECK`."""

    @property
    def rules(self) -> str:
        """The version of the rules that decide without a model; a version's decisions never change."""

    @property
    def steps(self) -> tuple[Step[Never, object], ...]:
        """The steps, in the order of their first requests."""

    @property
    def bundles(self) -> Mapping[str, str]:
        """The SHA-256 of all fixed texts that a model gets with a prompt, by the prompt's version."""


def describe(tool: Tool) -> str:
    """The text of a tool in a bundle."""
    return json.dumps([tool.name, tool.description, tool.parameters])


def hash_bundle(*texts: str) -> str:
    """One hash over all texts of a bundle."""
    return sha256(json.dumps(texts).encode()).hexdigest()


def make_prompt(version: str, text: str) -> Prompt:
    """A prompt with the hash of its text."""
    return Prompt(version=version, sha256=sha256(text.encode()).hexdigest(), text=text)
