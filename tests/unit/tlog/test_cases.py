"""The cases of tests/cases/tlog.json, which the extension's code must judge alike."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final, TypedDict, cast

import pytest

from tlog.checkpoint import Checkpoint
from tlog.errors import MalformedError, ProofError, QuorumError, SignatureError, TlogError
from tlog.keys import VerifierKey
from tlog.note import Note
from tlog.policy import Policy
from tlog.proof import Proof


class Key(TypedDict):
    """A vkey, and whether it is none."""

    vkey: str
    refused: bool


class Text(TypedDict):
    """The text of a checkpoint, and whether it is none."""

    text: str
    refused: bool


class Data(TypedDict):
    """A file in base64, and whether it is refused."""

    data: str
    refused: bool


class ProofCase(TypedDict):
    """A proof of a leaf, and what becomes of it under the policy of the cases."""

    case: str
    proof: str
    leaf: str
    outcome: str


class Cases(TypedDict):
    """All cases."""

    keys: list[Key]
    checkpoints: list[Text]
    notes: list[Data]
    policies: list[Data]
    policy: str
    proofs: list[ProofCase]


CASES: Final = cast(Cases, json.loads((Path(__file__).parents[2] / "cases" / "tlog.json").read_text()))
OUTCOMES: Final[dict[type[TlogError], str]] = {
    MalformedError: "malformed",
    ProofError: "proof",
    QuorumError: "quorum",
    SignatureError: "signature",
}


def is_malformed(read: Callable[[], object]) -> bool:
    """Whether what is read is not of its form."""
    try:
        read()
    except MalformedError:
        return True
    return False


@pytest.mark.requirement("TR-9")
def test_other_spellings_are_refused() -> None:
    """Notes, checkpoints, proofs and policies are read strictly: an altered byte or line is refused."""
    for key in CASES["keys"]:
        assert is_malformed(partial(VerifierKey.parse, key["vkey"])) == key["refused"], key
    for text in CASES["checkpoints"]:
        assert is_malformed(partial(Checkpoint.parse, text["text"])) == text["refused"], text
    for note in CASES["notes"]:
        assert is_malformed(partial(Note.parse, b64decode(note["data"]))) == note["refused"], note
    for policy in CASES["policies"]:
        assert is_malformed(partial(Policy.parse, b64decode(policy["data"]))) == policy["refused"], policy


@pytest.mark.requirement("TR-9")
@pytest.mark.parametrize("case", CASES["proofs"], ids=lambda case: case["case"])
def test_proofs_have_their_outcome(case: ProofCase) -> None:
    """Notes, checkpoints, proofs and policies are read strictly: an altered byte or line is refused."""
    policy = Policy.parse(b64decode(CASES["policy"]))
    try:
        Proof.parse(b64decode(case["proof"])).verify(b64decode(case["leaf"]), policy)
        outcome = "valid"
    except TlogError as error:
        outcome = OUTCOMES[type(error)]
    assert outcome == case["outcome"]
