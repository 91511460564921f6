"""What gates ask for and say of a candidate, as facts hold it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from contracts.v1.parts import Value

GateName = Literal[
    "satire", "assertion", "independence", "families", "time", "freshness", "contradiction", "second_opinion"
]
"""A gate before the reviewer, in the order in which they judge. The last one asks a model, the others are code."""


class Threshold(Value):
    """From which probability on a second opinion is believed about a text in one group of languages."""

    group: str
    probability: float = Field(ge=0, le=1)


class OpinionPolicy(Value):
    """Which second opinion is believed.

    Shapes: `family` is the declared family of its model; a group of languages that has no threshold is never believed.
    """

    family: str
    thresholds: tuple[Threshold, ...] = ()


class GatePolicy(Value):
    """What the gates asked for when they judged. The same rules and policy decide alike about the same pages.

    Shapes: `off` are gates that did not judge; without `opinion` no second one was asked for; `own_hosts` are the
    instance's, `ugc_hosts` the operator's additions to the list of hosts where anybody writes. `families` is the least
    number of independent sources. Units: `page_age_s` in seconds between the fetch of a page and the judgement.
    """

    rules: str
    off: tuple[GateName, ...] = ()
    families: int = Field(default=2, ge=1)
    page_age_s: int = Field(default=86_400, ge=1)
    own_hosts: tuple[str, ...] = ()
    ugc_hosts: tuple[str, ...] = ()
    opinion: OpinionPolicy | None = None


class GateResult(Value):
    """What one gate said: PASS, or with the code of its reason FAIL, or ABSTAIN, which refuses too."""

    gate: GateName
    outcome: Literal["PASS", "FAIL", "ABSTAIN"]
    code: str | None = None
