"""A kind of one file: weigh a thing in three steps. It asks twice with a tool, is made to answer, and flags nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from analyses.kinds import InvalidAnswer, Tool, describe, hash_bundle, make_prompt
from analyses.placing import Part
from contracts.steps import StepName, Turns
from contracts.transcript import Research
from contracts.v1.parts import Prompt

LOOK_UP: Final = Tool(
    "look_up",
    "Look up what a thing weighs.",
    {
        "type": "object",
        "properties": {"thing": {"type": "string"}},
        "required": ["thing"],
        "additionalProperties": False,
    },
)
SCHEMA: Final[Mapping[str, JsonValue]] = {
    "type": "object",
    "properties": {"grams": {"type": "integer"}},
    "required": ["grams"],
    "additionalProperties": False,
}
CLOSING: Final = "Answer now, as JSON."


class Weight(BaseModel):
    """What a step found. Units: grams."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    grams: int


@dataclass(frozen=True, slots=True)
class WeighStep:
    """One of the three: with tools and made to answer, or by the schema at once."""

    name: StepName
    turns: Turns
    offered: tuple[Tool, ...] = ()
    schema: ClassVar = SCHEMA

    @property
    def prompt(self) -> Prompt:
        return make_prompt(f"{self.name.lower().replace('/', '-')}-1", f"Weigh it: {self.name}.")

    def tools(self, material: str) -> tuple[Tool, ...]:
        return self.offered

    def brief(self, material: str) -> tuple[Part, ...]:
        return (f"The thing: {material}",)

    def read(self, answer: str, lookups: Sequence[Research]) -> Weight:
        """The weight, if it was looked up wherever something was. Raises: InvalidAnswer."""
        try:
            found = Weight.model_validate_json(answer)
        except ValidationError:
            raise InvalidAnswer("This is no weight.") from None
        if lookups and not any(str(found.grams) in each.output for each in lookups):
            raise InvalidAnswer("No look-up shows this weight.")
        return found


class Toy:
    """The kind."""

    name = "TOY"
    rules = "toy-rules-1"
    guess: ClassVar = WeighStep("TOY/guess", Turns(1))
    weigh: ClassVar = WeighStep("TOY/weigh", Turns(2, CLOSING), (LOOK_UP,))
    confirm: ClassVar = WeighStep("TOY/confirm", Turns(1))
    steps = (guess, weigh, confirm)

    @property
    def bundles(self) -> Mapping[str, str]:
        return {
            step.prompt.version: hash_bundle(
                step.prompt.text, *map(describe, step.offered), json.dumps(SCHEMA), step.turns.closing or ""
            )
            for step in self.steps
        }


TOY: Final = Toy()
