"""The order of the gates, and the judgement by all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from analyses.gates.assertion import check_assertion
from analyses.gates.case import Case, Gate, Judgement
from analyses.gates.contradiction import check_contradiction
from analyses.gates.freshness import check_freshness
from analyses.gates.independence import check_families, check_independence
from analyses.gates.moment import check_moment
from analyses.gates.satire import check_satire
from contracts.v1.gates import GateName, GateResult

GATES: Final[Mapping[GateName, Gate]] = MappingProxyType(
    {
        "satire": check_satire,
        "assertion": check_assertion,
        "independence": check_independence,
        "families": check_families,
        "time": check_moment,
        "freshness": check_freshness,
        "contradiction": check_contradiction,
    }
)
"""The gates in the order in which they judge."""

RULES: Final = "gates-4"
"""A version's decisions never change. The second version adds the second opinion, which is asked after these; what the
first one recorded has none, so its replay asks for none. In the third, a number of another kind than any that the
sentence has does not show what is right, more spellings of numbers are known, quotations may have single marks, and
"last year" is a year. The fourth refuses posts in languages whose cues are not known, and knows more of five others."""


def judge(case: Case) -> Judgement:
    """Judge a case by every gate that is not off, until one refuses."""
    results: list[GateResult] = []
    for name, gate in GATES.items():
        if name in case.policy.off:
            continue
        ruling = gate(case)
        if ruling.counted is not None:
            case = replace(case, pages=ruling.counted)
        results.append(GateResult(gate=name, outcome="PASS" if ruling.code is None else "FAIL", code=ruling.code))
        if ruling.code is not None:
            break
    return Judgement(tuple(results), case.pages)
