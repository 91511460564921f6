"""The requirements of the gates and their results, as facts record them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from contracts.v1.parts import Value

GateName = Literal[
    "satire", "assertion", "independence", "families", "time", "freshness", "contradiction", "second_opinion"
]
"""The gates before the reviewer, in the order in which they judge. The last one asks a model, the others are code."""


class Threshold(Value):
    """The probability from which a second opinion is accepted about a text in one group of languages."""

    group: str
    probability: float = Field(ge=0, le=1)


class OpinionPolicy(Value):
    """Which second opinions are accepted.

    Shapes: `family` is the declared family of the model; without a threshold for a text's language none is accepted.
    """

    family: str
    thresholds: tuple[Threshold, ...] = ()


class GatePolicy(Value):
    """The requirements of the gates when they judged. The same rules and policy decide alike about the same pages.

    Shapes: `off` are gates that did not judge; without `opinion` there was no second opinion; `own_hosts` are the
    instance's, `ugc_hosts` the operator's additions to the list of hosts with user-generated content. `families` is the
    least number of independent sources. Units: `page_age_s` is the longest time from the fetch of a page to the
    judgement, in seconds.
    """

    rules: str
    off: tuple[GateName, ...] = ()
    families: int = Field(default=2, ge=1)
    page_age_s: int = Field(default=86_400, ge=1)
    own_hosts: tuple[str, ...] = ()
    ugc_hosts: tuple[str, ...] = ()
    opinion: OpinionPolicy | None = None


class GateResult(Value):
    """The result of one gate: PASS, or, with the code of the reason, FAIL or ABSTAIN; both refuse the candidate."""

    gate: GateName
    outcome: Literal["PASS", "FAIL", "ABSTAIN"]
    code: str | None = None
