"""Why a proof is refused: a code for each check, so that an operator sees which one failed."""

from __future__ import annotations

from typing import Literal

Check = Literal[
    "car",
    "commit",
    "signature",
    "did_document",
    "path",
    "record",
    "content",
    "revision",
    "profile",
]
"""What each checks, in order: container, commit, signature, key, tree, leaf, record's fields, age, author's
profile."""


class InvalidProof(ValueError):
    """A check failed; the message is one sentence for an operator."""

    def __init__(self, check: Check, detail: str) -> None:
        super().__init__(f"{check}: {detail}")
        self.check: Check = check
