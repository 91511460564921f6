"""Proofs: their spelling, and what they prove."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.tlogs import LOG_KEY, ExampleLog, leaf_hashes, signing_key
from tlog.errors import ProofError, QuorumError, SignatureError, TlogError
from tlog.keys import Algorithm
from tlog.policy import Log, Policy, Witness
from tlog.proof import Proof

LOG = ExampleLog(leaf_hashes(11))
WITNESS = signing_key("witness.example/w1", Algorithm.COSIGNATURE)
POLICY = Policy((Log(LOG_KEY.verifier),), (Witness("w", WITNESS.verifier),), quorum="w")
INDEX = 6
PROOF = Proof(INDEX, LOG.inclusion(INDEX, 11), LOG.note(11, WITNESS), b"extra data")


def test_proves_its_leaf() -> None:
    """The checkpoint is the policy's, and the leaf is in it."""
    assert Proof.parse(bytes(PROOF)) == PROOF
    assert PROOF.verify(LOG.leaves[INDEX], POLICY).checkpoint == LOG.checkpoint(11)
    bare = replace(PROOF, extra=None)
    assert Proof.parse(bytes(bare)) == bare
    alone = ExampleLog(leaf_hashes(1))
    first = Proof(0, (), alone.note(1, WITNESS))
    assert Proof.parse(bytes(first)).verify(alone.leaves[0], POLICY).checkpoint.size == 1


def test_proves_nothing_else() -> None:
    """Neither another leaf or place, nor without the log or the quorum."""
    with pytest.raises(ProofError):
        PROOF.verify(LOG.leaves[INDEX + 1], POLICY)
    with pytest.raises(ProofError):
        replace(PROOF, index=INDEX + 1).verify(LOG.leaves[INDEX], POLICY)
    with pytest.raises(QuorumError):
        replace(PROOF, note=LOG.note(11)).verify(LOG.leaves[INDEX], POLICY)
    with pytest.raises(SignatureError):
        PROOF.verify(LOG.leaves[INDEX], Policy((Log(WITNESS_AS_LOG.verifier),)))


WITNESS_AS_LOG = signing_key("other.example/log")


@pytest.mark.requirement("TR-9")
def test_no_altered_byte_of_a_proof_is_accepted() -> None:
    """Notes, checkpoints, proofs and policies are read strictly: an altered byte or line is refused."""
    data = bytes(PROOF)
    for at in range(len(data)):
        for altered in {data[at] ^ 1, data[at] ^ 0x20, data[at] ^ 0x80, 0, 10, 32} - {data[at]}:
            changed = data[:at] + bytes([altered]) + data[at + 1 :]
            assert_void(changed)
        for changed in (data[:at] + data[at + 1 :], data[:at] + b"\n" + data[at:]):
            if changed != data:
                assert_void(changed)


def assert_void(data: bytes) -> None:
    """Whether it proves nothing, or the same with other extra data, which nothing authenticates."""
    try:
        proof = Proof.parse(data)
        proof.verify(LOG.leaves[INDEX], POLICY)
    except TlogError:
        return
    assert replace(proof, extra=PROOF.extra) == PROOF
    assert proof.extra != PROOF.extra
    assert bytes(proof) == data
