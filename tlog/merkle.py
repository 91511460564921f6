"""Merkle trees as RFC 6962 and RFC 9162 define them: roots, and proofs of inclusion and consistency.

A node is the root of a complete subtree: `Node(level, position)` has `2**level` leaves, from `position * 2**level` on.
Only nodes need to be stored; every proof is computed from them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from hashlib import sha256
from typing import Final, NamedTuple, TypeAlias

from tlog.errors import ProofError

Hash: TypeAlias = bytes
"""The 32 bytes of a SHA-256 hash."""

HASH_SIZE: Final = 32
EMPTY_ROOT: Final[Hash] = sha256().digest()
"""The root of a tree without leaves."""


class Node(NamedTuple):
    """The root of a complete subtree with `2**level` leaves, the `position`-th of its level."""

    level: int
    position: int


ReadNode: TypeAlias = Callable[[int, int], Hash]
"""Returns the hash of the node with this level and position."""


def hash_leaf(data: bytes) -> Hash:
    """The hash of a leaf with these bytes."""
    return sha256(b"\x00" + data).digest()


def hash_children(left: Hash, right: Hash) -> Hash:
    """The hash of a node with these two children."""
    return sha256(b"\x01" + left + right).digest()


@dataclass(frozen=True, slots=True)
class Tree:
    """The part of a tree that is needed to append to it and to compute its root: O(log n) hashes.

    `edge` has the roots of the complete subtrees that the tree consists of, from left to right: one for each bit of
    `size` that is set, the largest first.
    """

    size: int = 0
    edge: tuple[Hash, ...] = ()

    def __post_init__(self) -> None:
        """Raises: ValueError: the number of hashes does not fit the size."""
        if self.size < 0 or len(self.edge) != self.size.bit_count():
            raise ValueError(f"a tree of {self.size} leaves does not have {len(self.edge)} hashes at its edge")

    def append(self, hashes: Iterable[Hash]) -> Tree:
        """The tree with the hashes of further leaves."""
        size, edge = self.size, list(self.edge)
        for node in hashes:
            below = size
            size += 1
            while below & 1:
                node = sha256(b"\x01" + edge.pop() + node).digest()
                below >>= 1
            edge.append(node)
        return Tree(size, tuple(edge))

    def root(self) -> Hash:
        """The hash that stands for all leaves and their order."""
        return fold(self.edge) if self.edge else EMPTY_ROOT


def fold(nodes: Sequence[Hash]) -> Hash:
    """The root over neighbouring complete subtrees, the largest first; at least one."""
    return reduce(lambda right, left: hash_children(left, right), reversed(nodes))


def complete_nodes(start: int, end: int) -> tuple[Node, ...]:
    """The complete subtrees that the leaves from `start` to before `end` consist of, from left to right.

    `start` is a multiple of a power of two that is not smaller than the number of leaves, as in RFC 6962.
    """
    nodes = []
    for level in range((end - start).bit_length() - 1, -1, -1):
        if (end - start) & (1 << level):
            nodes.append(Node(level, start >> level))
            start += 1 << level
    return tuple(nodes)


def inclusion_nodes(index: int, size: int) -> tuple[Node, ...]:
    """Every node that `prove_inclusion` reads, so that they can be fetched at once. Raises: ProofError."""
    return tuple(node for start, end in _inclusion_ranges(index, size) for node in complete_nodes(start, end))


def consistency_nodes(old: int, new: int) -> tuple[Node, ...]:
    """Every node that `prove_consistency` reads, so that they can be fetched at once. Raises: ProofError."""
    return tuple(node for start, end in _consistency_ranges(old, new) for node in complete_nodes(start, end))


def prove_inclusion(index: int, size: int, read: ReadNode) -> tuple[Hash, ...]:
    """The proof that the leaf at `index` is in the tree of `size`: PATH of RFC 6962, the leaf's sibling first.

    Raises: ProofError: there is no such leaf.
    """
    return tuple(_root_of(start, end, read) for start, end in _inclusion_ranges(index, size))


def prove_consistency(old: int, new: int, read: ReadNode) -> tuple[Hash, ...]:
    """The proof that the tree of `old` leaves begins that of `new`: PROOF of RFC 6962. Empty if they are equal.

    Raises: ProofError: `old` is 0 or larger than `new`.
    """
    return tuple(_root_of(start, end, read) for start, end in _consistency_ranges(old, new))


def verify_inclusion(index: int, size: int, leaf: Hash, root: Hash, proof: Sequence[Hash]) -> None:
    """Check that the leaf with this hash is at `index` in the tree of `size` with this root (RFC 9162, 2.1.3.2).

    Raises: ProofError.
    """
    if not 0 <= index < size:
        raise ProofError(f"there is no leaf {index} in a tree of {size}")
    _check_lengths(leaf, root, *proof)
    place, last, node = index, size - 1, leaf
    for sibling in proof:
        if last == 0:
            raise ProofError("the proof is too long")
        if place & 1 or place == last:
            node = hash_children(sibling, node)
            while not place & 1 and place:
                place, last = place >> 1, last >> 1
        else:
            node = hash_children(node, sibling)
        place, last = place >> 1, last >> 1
    if last:
        raise ProofError("the proof is too short")
    if node != root:
        raise ProofError(f"leaf {index} is not in the tree of {size}: the proof leads to another root")


def verify_consistency(old: int, new: int, old_root: Hash, new_root: Hash, proof: Sequence[Hash]) -> None:
    """Check that a tree of `old` leaves with one root is the beginning of that of `new` (RFC 9162, 2.1.4.2).

    Nothing can be proved of an empty tree: a caller that allows `old` to be 0 must not call this for it.
    Raises: ProofError.
    """
    if not 0 < old <= new:
        raise ProofError(f"a tree of {old} leaves cannot be proved to be the beginning of one of {new}")
    if old == new:
        if proof or old_root != new_root:
            raise ProofError(f"two trees of {old} leaves differ" if old_root != new_root else "the proof is too long")
        return
    _check_lengths(old_root, new_root, *proof)
    # A complete old tree is a node of the new one, so its root is not part of the proof.
    path = list(proof) if old & (old - 1) else [old_root, *proof]
    if not path:
        raise ProofError("the proof is too short")
    place, last = old - 1, new - 1
    while place & 1:
        place, last = place >> 1, last >> 1
    old_node = new_node = path[0]
    for sibling in path[1:]:
        if last == 0:
            raise ProofError("the proof is too long")
        if place & 1 or place == last:
            old_node, new_node = hash_children(sibling, old_node), hash_children(sibling, new_node)
            while not place & 1 and place:
                place, last = place >> 1, last >> 1
        else:
            new_node = hash_children(new_node, sibling)
        place, last = place >> 1, last >> 1
    if last:
        raise ProofError("the proof is too short")
    if old_node != old_root or new_node != new_root:
        raise ProofError(f"the tree of {old} leaves is not the beginning of that of {new}")


def _root_of(start: int, end: int, read: ReadNode) -> Hash:
    return fold([read(*node) for node in complete_nodes(start, end)])


def _inclusion_ranges(index: int, size: int) -> list[tuple[int, int]]:
    if not 0 <= index < size:
        raise ProofError(f"there is no leaf {index} in a tree of {size}")
    start, end, ranges = 0, size, []
    while end - start > 1:
        middle = _middle(start, end)
        if index < middle:
            ranges.append((middle, end))
            end = middle
        else:
            ranges.append((start, middle))
            start = middle
    return ranges[::-1]


def _consistency_ranges(old: int, new: int) -> list[tuple[int, int]]:
    if not 0 < old <= new:
        raise ProofError(f"a tree of {old} leaves cannot be proved to be the beginning of one of {new}")
    start, end, ranges = 0, new, []
    while old != end:
        middle = _middle(start, end)
        if old <= middle:
            ranges.append((middle, end))
            end = middle
        else:
            ranges.append((start, middle))
            start = middle
    if start:
        ranges.append((start, end))
    return ranges[::-1]


def _middle(start: int, end: int) -> int:
    """Where RFC 6962 splits a tree: after the largest power of two that is smaller than the number of its leaves."""
    return start + (1 << ((end - start - 1).bit_length() - 1))


def _check_lengths(*hashes: Hash) -> None:
    for each in hashes:
        if len(each) != HASH_SIZE:
            raise ProofError(f"a hash has {HASH_SIZE} bytes, not {len(each)}")
