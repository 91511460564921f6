"""How many findings of a variant are displayed. A variant is a prompt, a model, rules and gates together."""

from __future__ import annotations

import json
from datetime import datetime
from hashlib import sha256
from typing import Literal

from pydantic import Field

from contracts.v1.event import OnceEvent
from contracts.v1.gates import GatePolicy
from contracts.v1.parts import Sha256, Value

VolumeState = Literal["SHADOW", "LIMITED", "FULL"]
TierState = Literal["PENDING", "CLEAN", "FAILED"]


class VariantParts(Value):
    """The parts of a variant.

    Shapes: `prompt` is the SHA-256 of the prompt's text; `gates` is the policy of the gates without the instance's own
    hosts, None if there are no gates, and in older runs. `rules` is None in older runs.
    """

    prompt: Sha256
    prompt_version: str
    provider: str
    model: str
    rules: str | None = None
    gates: GatePolicy | None = None

    @property
    def sha256(self) -> str:
        """The variant's name: the hash of all parts but the prompt's version, which only names the prompt's text."""
        return variant_sha256(self.prompt, self.provider, self.model, self.rules, self.gates)


def variant_sha256(prompt: str, provider: str, model: str, rules: str | None, gates: GatePolicy | None) -> str:
    """SHA-256 of the parts as JSON with sorted names and no spaces.

    The gates' own hosts are left out: a new address of an instance's pages does not make a new variant.
    """
    policy = None if gates is None else gates.model_dump(mode="json", exclude={"own_hosts"})
    parts = {"prompt": prompt, "provider": provider, "model": model, "rules": rules, "gates": policy}
    return sha256(json.dumps(parts, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


class VariantChanged(OnceEvent, subject="variant.changed", key="variant", identity=("follows",)):
    """A variant's volume changed: SHADOW displays no findings, LIMITED `quota` a day, FULL any number.

    It applies to findings that were published at `since` or later. `step`, `clean` and `after_wrong` are the progress
    of a LIMITED variant; `gate_tier` is the result of the bench's gate tier. Shapes: reviews up to the log's sequence
    `through` are counted.
    """

    variant: Sha256
    parts: VariantParts
    state: VolumeState
    quota: int | None = Field(default=None, ge=0)
    step: int = Field(default=0, ge=0, le=9)
    clean: int = Field(default=0, ge=0, le=298)
    after_wrong: bool = False
    gate_tier: TierState = "PENDING"
    since: datetime
    through: int = Field(default=0, ge=0)
    why: str = Field(min_length=1, max_length=500)
    by: str = Field(min_length=1, max_length=40)
