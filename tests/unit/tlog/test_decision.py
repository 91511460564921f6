"""The cases of tests/cases/decisions.json, which the extension's code must judge alike."""

from __future__ import annotations

import json
from base64 import b64decode
from typing import Final, cast

import pytest

from tests.support.decision_cases import FILE, POLICY, Case, Cases, make_cases
from tests.unit.tlog.test_cases import OUTCOMES
from tlog.decision import prove_decision
from tlog.errors import TlogError
from tlog.policy import Policy

CASES: Final = cast(Cases, json.loads(FILE.read_text()))


def test_the_file_is_what_this_code_writes() -> None:
    """So the extension is tested with what the gateway sends."""
    assert make_cases() == CASES


@pytest.mark.requirement("TR-18")
@pytest.mark.parametrize("case", CASES["cases"], ids=lambda case: case["case"])
def test_proofs_have_their_outcome(case: Case) -> None:
    """The extension underlines only what a proof of the log confirms, where there is a log."""
    try:
        decision = prove_decision(b64decode(case["proof"]), POLICY)
        outcome, kind, cosignatures = "valid", str(decision.leaf.k), decision.cosignatures
    except TlogError as error:
        outcome, kind, cosignatures = OUTCOMES[type(error)], None, 0
    assert (outcome, kind, cosignatures) == (case["outcome"], case["kind"], case["cosignatures"])


def test_the_second_key_of_a_log_is_no_witness() -> None:
    (case,) = (each for each in CASES["cases"] if each["case"] == "signed by both keys")
    policy = Policy.parse(b64decode(CASES["policy_of_both"]))
    assert prove_decision(b64decode(case["proof"]), policy).cosignatures == 2
