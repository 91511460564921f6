"""Merkle trees against the public vectors, and against their definition for every small tree."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypedDict, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.tlogs import ExampleLog, leaf_hashes, root_of
from tlog.errors import ProofError
from tlog.merkle import (
    EMPTY_ROOT,
    Hash,
    Node,
    Tree,
    complete_nodes,
    consistency_nodes,
    inclusion_nodes,
    prove_consistency,
    prove_inclusion,
    verify_consistency,
    verify_inclusion,
)

LARGEST = 40
LOG = ExampleLog(leaf_hashes(LARGEST))
ROOTS = [root_of(LOG.leaves[:size]) for size in range(LARGEST + 1)]


class Inclusion(TypedDict):
    """A vector of inclusion. Numbers are strings, since some are above what JavaScript's numbers can say."""

    index: str
    size: str
    root: str
    leaf: str
    proof: list[str]
    case: str
    refused: bool


class Consistency(TypedDict):
    """A vector of consistency."""

    old: str
    new: str
    old_root: str
    new_root: str
    proof: list[str]
    case: str
    refused: bool


class Vectors(TypedDict):
    """All vectors."""

    inclusion: list[Inclusion]
    consistency: list[Consistency]


VECTORS = cast(Vectors, json.loads((Path(__file__).parents[2] / "cases" / "merkle.json").read_text()))

trees = st.integers(1, LARGEST).flatmap(lambda size: st.tuples(st.integers(0, size - 1), st.just(size)))


def check_inclusion(vector: Inclusion) -> None:
    """Check what a vector claims. Raises: ProofError."""
    proof = [b64decode(each) for each in vector["proof"]]
    leaf, root = b64decode(vector["leaf"]), b64decode(vector["root"])
    verify_inclusion(int(vector["index"]), int(vector["size"]), leaf, root, proof)


def check_consistency(vector: Consistency) -> None:
    """Check what a vector claims. Raises: ProofError."""
    proof = [b64decode(each) for each in vector["proof"]]
    old_root, new_root = b64decode(vector["old_root"]), b64decode(vector["new_root"])
    verify_consistency(int(vector["old"]), int(vector["new"]), old_root, new_root, proof)


CHECKS: list[tuple[str, bool, Callable[[], None]]] = [
    *((each["case"], each["refused"], partial(check_inclusion, each)) for each in VECTORS["inclusion"]),
    *((each["case"], each["refused"], partial(check_consistency, each)) for each in VECTORS["consistency"]),
]


@dataclass
class Reader:
    """Reads nodes of the log and remembers which."""

    nodes: list[Node] = field(default_factory=list)

    def __call__(self, level: int, position: int) -> Hash:
        self.nodes.append(Node(level, position))
        return LOG.read(level, position)


@pytest.mark.requirement("TR-8")
def test_agrees_with_the_public_vectors() -> None:
    """Merkle proofs agree with the 196 public vectors, in Python and in the extension."""
    assert len(CHECKS) == 196
    for case, refused, check in CHECKS:
        try:
            check()
        except ProofError:
            assert refused, case
        else:
            assert not refused, case


def test_roots_are_those_of_the_definition() -> None:
    """Appending one by one or all at once makes no difference."""
    tree = Tree()
    assert tree.root() == EMPTY_ROOT
    for size, leaf in enumerate(LOG.leaves, start=1):
        tree = tree.append([leaf])
        assert tree.root() == ROOTS[size]
        assert tree == Tree().append(LOG.leaves[:size])


def test_a_tree_refuses_an_edge_of_another_size() -> None:
    """A state that was restored wrongly is no tree."""
    with pytest.raises(ValueError):
        Tree(3, (EMPTY_ROOT,))


def test_proves_every_leaf_of_every_small_tree() -> None:
    """A proof proves its leaf and no other, and reads exactly the nodes that it says."""
    for size in range(1, LARGEST + 1):
        for index in range(size):
            read = Reader()
            proof = prove_inclusion(index, size, read)
            assert read.nodes == [*inclusion_nodes(index, size)]
            verify_inclusion(index, size, LOG.leaves[index], ROOTS[size], proof)
            with pytest.raises(ProofError):
                verify_inclusion(index ^ 1, size, LOG.leaves[index], ROOTS[size], proof)


def test_proves_every_pair_of_small_trees() -> None:
    """A proof proves that one tree is the beginning of the other, and of no fork of it."""
    fork = ExampleLog([*leaf_hashes(1, "other"), *LOG.leaves[1:]])
    for new in range(1, LARGEST + 1):
        for old in range(1, new + 1):
            read = Reader()
            proof = prove_consistency(old, new, read)
            assert read.nodes == [*consistency_nodes(old, new)]
            verify_consistency(old, new, ROOTS[old], ROOTS[new], proof)
            with pytest.raises(ProofError):
                verify_consistency(old, new, root_of(fork.leaves[:old]), ROOTS[new], proof)
            with pytest.raises(ProofError):
                verify_consistency(old, new, ROOTS[old], root_of(fork.leaves[:new]), fork.consistency(old, new))


@given(trees, st.data())
def test_refuses_a_proof_of_which_anything_was_altered(tree: tuple[int, int], data: st.DataObject) -> None:
    """Another bit, a hash more or less, or another place: nothing of it is proved."""
    index, size = tree
    proof: list[Hash] = list(LOG.inclusion(index, size))
    change = data.draw(st.integers(0, 2)) if proof else 2
    if change == 0:
        at, bit = data.draw(st.integers(0, len(proof) - 1)), data.draw(st.integers(0, 255))
        proof[at] = (int.from_bytes(proof[at], "big") ^ (1 << bit)).to_bytes(32, "big")
    elif change == 1:
        del proof[data.draw(st.integers(0, len(proof) - 1))]
    else:
        proof.insert(data.draw(st.integers(0, len(proof))), data.draw(st.sampled_from(ROOTS)))
    with pytest.raises(ProofError):
        verify_inclusion(index, size, LOG.leaves[index], ROOTS[size], proof)


@given(st.integers(0, 10**12), st.integers(0, 40))
def test_ranges_are_covered_by_complete_nodes_without_a_gap(block: int, level: int) -> None:
    """The nodes of an aligned range follow one another from its start to its end."""
    start, length = block << level, (1 << level) - block % (1 << level) if level else 1
    at = start
    for node in complete_nodes(start, start + length):
        assert node.position << node.level == at
        at += 1 << node.level
    assert at == start + length


@pytest.mark.parametrize(("old", "new"), [(0, 1), (0, 0), (2, 1), (-1, 1)])
def test_nothing_is_proved_of_an_empty_tree(old: int, new: int) -> None:
    """Size 0 is decided by who calls, not by a proof."""
    with pytest.raises(ProofError):
        prove_consistency(old, new, LOG.read)
    with pytest.raises(ProofError):
        verify_consistency(old, new, EMPTY_ROOT, EMPTY_ROOT, [])
