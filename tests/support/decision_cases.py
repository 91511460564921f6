"""The cases of tests/cases/decisions.json: `python -m tests.support.decision_cases` writes them.

What the extension makes of a proof depends on the bytes that this code writes, so both read the same file.
"""

from __future__ import annotations

import json
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Final, TypedDict

from pydantic import JsonValue

from tests.support.tlogs import LOG_KEY, NOW, ExampleLog, leaf_hashes, signing_key
from tlog.decision import write_extra
from tlog.keys import Algorithm, SigningKey
from tlog.leaf import Kind, Leaf, Opening, canonical, open_documents
from tlog.merkle import hash_leaf
from tlog.note import Note
from tlog.policy import Log, Policy, Witness
from tlog.proof import Proof

FILE: Final = Path(__file__).parents[1] / "cases" / "decisions.json"
INVESTIGATION: Final = "0191c1a2-0000-7000-8000-000000000001"
INDEX: Final = 6
TEXT: Final = "A walk in the park. The Moon is made of cheese."
"""What was investigated, normalised."""
W1: Final = signing_key("witness.example/w1", Algorithm.COSIGNATURE)
W2: Final = signing_key("witness.example/w2", Algorithm.COSIGNATURE)
NEW_KEY: Final = SigningKey(LOG_KEY.name, Algorithm.ED25519, bytes(32))
"""The key that replaces the log's key."""
POLICY: Final = Policy((Log(LOG_KEY.verifier),), (Witness("w1", W1.verifier), Witness("w2", W2.verifier)), quorum="w1")

FINDINGS: Final[list[dict[str, JsonValue]]] = [
    {
        "id": "c1",
        "text": "The Moon is made of cheese.",
        "context": "park. The Moon is made of cheese.",
        "summary": "It is made of rock – “basalt”.",
        "reasoning": "Samples were brought back.",
        "sources": [{"url": "https://moon.example/rock", "title": "Rock", "snippet": "Basalt."}],
    },
    {
        "id": "c2",
        "text": "Ten is odd.",
        "context": "Ten is odd.",
        "summary": "It is even.",
        "reasoning": "Two times five is ten.",
        "sources": [{"url": "https://even.example/10", "title": "Ten", "snippet": "Even."}],
    },
]


class Case(TypedDict):
    """A proof in base64; `outcome` is `valid` or the kind of the error, `kind` that of a valid leaf.

    `cosignatures`: how many witnesses cosigned it; 0 if it is not valid.
    """

    case: str
    proof: str
    outcome: str
    kind: str | None
    cosignatures: int


class Cases(TypedDict):
    """All cases; `findings` are what a server shows of the investigation."""

    policy: str
    policy_of_both: str
    investigation: str
    findings: list[dict[str, JsonValue]]
    cases: list[Case]


def _document(finding: dict[str, JsonValue]) -> bytes:
    shown = {name: value for name, value in finding.items() if name not in ("id", "reasoning")}
    reasoning = sha256(str(finding["reasoning"]).encode()).hexdigest()
    return canonical(shown | {"claim": finding["id"], "reasoning": reasoning})


def _decide(kind: Kind, *documents: bytes) -> tuple[Leaf, tuple[Opening, ...]]:
    about = canonical(
        {
            "investigation": INVESTIGATION,
            "contentHash": sha256(TEXT.encode()).hexdigest(),
            "provenance": "SERVER_VERIFIED",
        }
    )
    openings = open_documents("A" * 43, (about, *documents))
    return Leaf(k=kind, t=1_764_000_000_000, c=tuple(each.commitment for each in openings)), openings


def _log(leaf: bytes, others: str = "") -> ExampleLog:
    leaves = list(leaf_hashes(13))
    leaves[INDEX] = hash_leaf(leaf)
    if others:
        leaves[0] = hash_leaf(others.encode())
    return ExampleLog(tuple(leaves))


def make_cases() -> Cases:
    """The same on every machine."""
    leaf, openings = _decide("found", *map(_document, FINDINGS))
    data = leaf.encode()
    log, fork = _log(data), _log(data, "another history")
    extra = write_extra(data, openings)
    altered = [*openings[:1], Opening(1, openings[1].salt, openings[1].document.replace(b"rock", b"iron")), openings[2]]

    def prove(history: ExampleLog, size: int, carried: bytes | None = extra, note: Note | None = None) -> bytes:
        signed = note or history.note(size, W1, W2)
        return bytes(Proof(INDEX, history.inclusion(INDEX, size), signed, carried))

    def decided(kind: Kind) -> bytes:
        other, about = _decide(kind)
        return prove(_log(other.encode()), 11, write_extra(other.encode(), about))

    witnessed = log.note(13, W1, W2)
    both = Note(witnessed.text, (witnessed.signatures[0], NEW_KEY.sign(witnessed.text), *witnessed.signatures[1:]))
    again = Note(witnessed.text, (*log.note(13, W1).signatures, W1.sign(witnessed.text, NOW + 1)))
    unsigned = Note(str(log.checkpoint(11)), log.note(10, W1, W2).signatures)
    made: list[tuple[str, bytes, str, str | None]] = [
        ("found", prove(log, 11), "valid", "found"),
        ("smaller", prove(log, 8), "valid", "found"),
        ("larger", prove(log, 13), "valid", "found"),
        ("fork", prove(fork, 11), "valid", "found"),
        ("one witness", prove(log, 11, note=log.note(11, W1)), "valid", "found"),
        ("one witness twice", prove(log, 13, note=again), "valid", "found"),
        ("signed by both keys", prove(log, 13, note=both), "valid", "found"),
        ("signed by the new key", prove(log, 13, note=Note(both.text, both.signatures[1:])), "signature", None),
        ("erased", prove(log, 11, write_extra(data, ())), "valid", "found"),
        ("nothing found", decided("nothing_found"), "valid", "nothing_found"),
        ("failed", decided("failed"), "valid", "failed"),
        ("without quorum", prove(log, 11, note=log.note(11, W2)), "quorum", None),
        ("signed for another tree", prove(log, 11, note=unsigned), "signature", None),
        ("another leaf", prove(log, 11, write_extra(data.replace(b'"n":2', b'"n":3') + b" ", openings)), "proof", None),
        ("other words", prove(log, 11, write_extra(data, altered)), "proof", None),
        ("no such document", prove(log, 11, write_extra(data, [Opening(3, b"", b"{}")])), "proof", None),
        ("nothing carried", prove(log, 11, None), "malformed", None),
        ("something else carried", prove(log, 11, b"[]"), "malformed", None),
    ]
    return Cases(
        policy=b64encode(bytes(POLICY)).decode(),
        policy_of_both=b64encode(bytes(replace(POLICY, logs=(Log(NEW_KEY.verifier), *POLICY.logs)))).decode(),
        investigation=INVESTIGATION,
        findings=FINDINGS,
        cases=[
            Case(
                case=case,
                proof=b64encode(proof).decode(),
                outcome=outcome,
                kind=kind,
                cosignatures=0 if kind is None else 1 if case.startswith("one witness") else 2,
            )
            for case, proof, outcome, kind in made
        ],
    )


if __name__ == "__main__":
    FILE.write_text(json.dumps(make_cases(), indent=2, ensure_ascii=False) + "\n")
