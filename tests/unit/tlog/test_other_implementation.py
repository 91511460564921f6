"""Another implementation reads our log, and we read its: `aics-tlog`, which shares no code with ours.

It needs Python 3.12 and is no requirement of ours: `pip install aics-tlog==0.2.1`, and this is not skipped.
"""

from __future__ import annotations

from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tests.support.tlogs import ExampleLog, leaf_hashes, signing_key
from tlog.checkpoint import Checkpoint
from tlog.errors import TlogError
from tlog.keys import Algorithm, VerifierKey
from tlog.merkle import Tree, hash_leaf, verify_consistency, verify_inclusion
from tlog.note import Note
from tlog.policy import Log, Policy, Witness
from tlog.tiles import Frontier, bundle_growth, encode_bundle

aics: Any = pytest.importorskip("aics_tlog", reason="needs Python 3.12 and `pip install aics-tlog`")

SIZES = [1, 2, 255, 256, 257, 700]
LEAVES = [f"{number}".encode() for number in range(max(SIZES))]
OURS = ExampleLog(leaf_hashes(max(SIZES)))
WITNESS = signing_key("witness.example/w1", Algorithm.COSIGNATURE)
THEIR_KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
THEIR_WITNESS = Ed25519PrivateKey.from_private_bytes(bytes(range(1, 33)))
NAME = "their.example/log"


def our_tiles(size: int) -> dict[str, bytes]:
    """What our log serves at a size, by path."""
    _, tiles = Frontier().grow([hash_leaf(each) for each in LEAVES[:size]])
    bundles = bundle_growth(0, size)
    entries = {each.path: encode_bundle(LEAVES[each.number * 256 :][: each.width]) for each in bundles}
    return {tile.path: data for tile, data in tiles} | entries


@pytest.mark.requirement("TR-11")
@pytest.mark.parametrize("size", SIZES)
def test_another_implementation_verifies_our_log(size: int) -> None:
    """TR-11: Another implementation verifies our log, and we verify its."""
    log_key = aics.parse_vkey(str(OURS.key.verifier))
    witness = aics.parse_vkey(str(WITNESS.verifier))
    note = aics.parse_note(bytes(OURS.note(size, WITNESS)))
    checked = aics.verify_checkpoint(note, log_key, [witness], quorum=1, now=None)
    assert checked.ok, checked
    reader = aics.MemoryTileReader(our_tiles(size))
    root = OURS.checkpoint(size).root
    assert aics.tree_root_from_tiles(reader, size) == root
    for index in {0, size // 2, size - 1}:
        assert aics.read_entry(reader, index, size) == LEAVES[index]
        assert aics.verify_inclusion(hash_leaf(LEAVES[index]), index, size, list(OURS.inclusion(index, size)), root)
        assert aics.inclusion_proof_from_tiles(reader, index, size) == list(OURS.inclusion(index, size))
    for old in (each for each in SIZES if each < size):
        proof = list(OURS.consistency(old, size))
        assert aics.verify_consistency(old, size, OURS.checkpoint(old).root, root, proof)
        assert not aics.verify_consistency(old, size, OURS.checkpoint(old).root, bytes(32), proof)


@pytest.mark.requirement("TR-11")
@pytest.mark.parametrize("size", SIZES)
def test_we_verify_the_log_of_another_implementation(size: int) -> None:
    """TR-11: Another implementation verifies our log, and we verify its."""
    tree = aics.MerkleTree(LEAVES[:size])
    checkpoint = aics.Checkpoint(NAME, size, tree.root())
    theirs = aics.sign_checkpoint(checkpoint, THEIR_KEY, NAME)
    _, line = aics.sign_cosignature(THEIR_WITNESS, WITNESS.name, 1_767_000_000, NAME, size, tree.root())
    note = Note.parse(aics.Note(text=theirs.text, signatures=(*theirs.signatures, line)).to_bytes())
    log = VerifierKey.parse(aics.format_vkey(aics.vkey_from_ed25519(NAME, THEIR_KEY.public_key())))
    witness = VerifierKey.parse(aics.format_vkey(aics.cosignature_vkey(WITNESS.name, THEIR_WITNESS.public_key())))
    policy = Policy((Log(log),), (Witness("w1", witness),), quorum="w1")
    assert policy.verify(note).checkpoint == Checkpoint(NAME, size, tree.root())
    with pytest.raises(TlogError):
        policy.verify(Note(note.text.replace(f"\n{size}\n", f"\n{size + 1}\n"), note.signatures))
    assert Tree().append(map(hash_leaf, LEAVES[:size])).root() == tree.root()
    store = aics.MemoryTileStore()
    aics.IncrementalTileWriter(store).append(LEAVES[:size])
    assert store.tiles == our_tiles(size)
    for index in {0, size // 2, size - 1}:
        verify_inclusion(index, size, hash_leaf(LEAVES[index]), tree.root(), tree.inclusion_proof(index))
    for old in (each for each in SIZES if each < size):
        verify_consistency(old, size, tree.root(old), tree.root(), tree.consistency_proof(old, size))
