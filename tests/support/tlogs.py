"""Logs, witnesses and their keys for tests, and trees computed by the definition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from tlog.checkpoint import Checkpoint
from tlog.keys import Algorithm, SigningKey
from tlog.merkle import EMPTY_ROOT, Hash, Tree, hash_children, hash_leaf, prove_consistency, prove_inclusion
from tlog.note import Note

ORIGIN = "log.example/log/v1"
NOW = 1_764_000_000


def signing_key(name: str, algorithm: Algorithm = Algorithm.ED25519, salt: str = "") -> SigningKey:
    """The same key for the same words."""
    return SigningKey(name, algorithm, sha256(f"{name}{salt}".encode()).digest())


LOG_KEY = signing_key(ORIGIN)


def leaf_hashes(count: int, branch: str = "") -> list[Hash]:
    """The hashes of `count` leaves; another branch has other leaves."""
    return [hash_leaf(f"{branch}{each}".encode()) for each in range(count)]


def root_of(leaves: Sequence[Hash]) -> Hash:
    """The root by the definition of RFC 6962."""
    if len(leaves) < 2:
        return leaves[0] if leaves else EMPTY_ROOT
    middle = 1 << ((len(leaves) - 1).bit_length() - 1)
    return hash_children(root_of(leaves[:middle]), root_of(leaves[middle:]))


@dataclass(frozen=True)
class ExampleLog:
    """A log with all its leaves at hand."""

    leaves: Sequence[Hash]
    key: SigningKey = LOG_KEY

    def read(self, level: int, position: int) -> Hash:
        """A node, computed from the leaves."""
        nodes = self.leaves[position << level : (position + 1) << level]
        assert len(nodes) == 1 << level
        return root_of(nodes)

    def inclusion(self, index: int, size: int) -> tuple[Hash, ...]:
        """A proof of inclusion."""
        return prove_inclusion(index, size, self.read)

    def consistency(self, old: int, new: int) -> tuple[Hash, ...]:
        """A proof of consistency, empty from nothing."""
        return prove_consistency(old, new, self.read) if old else ()

    def checkpoint(self, size: int) -> Checkpoint:
        """What the log says at this size."""
        return Checkpoint(self.key.name, size, Tree().append(self.leaves[:size]).root())

    def note(self, size: int, *witnesses: SigningKey, time: int = NOW) -> Note:
        """The signed checkpoint of this size, cosigned by witnesses."""
        text = str(self.checkpoint(size))
        return Note(text, (self.key.sign(text), *(each.sign(text, time) for each in witnesses)))
