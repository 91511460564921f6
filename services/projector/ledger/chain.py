"""The hash chain of the ledger: each hash covers the fact's bytes, its place and the hash before.

Any change of the encoding invalidates every existing ledger.
"""

from __future__ import annotations

import hashlib
from typing import Final

GENESIS: Final = bytes(32)


class LedgerBroken(Exception):
    """Log and ledger contradict each other; nothing is applied until an operator has decided."""


class Hole(LedgerBroken):
    """The next fact of a stream is missing."""

    def __init__(self, stream: str, expected: int, found: int) -> None:
        super().__init__(f"{stream}: expected sequence {expected}, found {found}; {found - expected} missing")


class Altered(LedgerBroken):
    """A fact differs from the one that the ledger holds."""

    def __init__(self, stream: str, sequence: int) -> None:
        super().__init__(f"{stream}: the fact {sequence} is not the one the ledger holds")


def hash_fact(previous: bytes, stream: str, sequence: int, subject: str, envelope: bytes) -> bytes:
    """The hash of one fact, given the hash of the one before it in its stream."""
    place = f"{stream}\x1f{sequence}\x1f{subject}\x1f".encode()
    return hashlib.sha256(previous + place + envelope).digest()
