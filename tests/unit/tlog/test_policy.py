"""Policies: their spelling, and which checkpoints they accept."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pytest

from tests.support.tlogs import LOG_KEY, ORIGIN, ExampleLog, leaf_hashes, signing_key
from tlog.errors import MalformedError, QuorumError, SignatureError
from tlog.keys import Algorithm
from tlog.note import Note
from tlog.policy import Group, Log, Policy, Witness

W = [signing_key(f"w{each}.example/w", Algorithm.COSIGNATURE) for each in range(5)]
X1, X2, X3, Y1, Y2 = W
LOG = ExampleLog(leaf_hashes(5))
POLICY = Policy(
    logs=(Log(LOG_KEY.verifier, "https://log.example/log/v1"),),
    witnesses=tuple(Witness(name, key.verifier) for name, key in zip(("X1", "X2", "X3", "Y1", "Y2"), W, strict=True)),
    groups=(Group("X", 2, ("X1", "X2", "X3")), Group("Y", 1, ("Y1", "Y2")), Group("both", 2, ("X", "Y"))),
    quorum="both",
)
FILE = f"""\
# Two parties.
log {LOG_KEY.verifier} https://log.example/log/v1

witness X1 {X1.verifier}
witness\tX2 {X2.verifier}
  witness X3 {X3.verifier}\t
group X 2 X1 X2 X3
witness Y1 {Y1.verifier}
witness Y2 {Y2.verifier}
group Y any Y1 Y2
\t# And:
group both all X Y
quorum both
""".encode()


def test_reads_a_policy_of_two_levels() -> None:
    """White space, comments and the order of lines make no difference."""
    assert Policy.parse(FILE) == POLICY
    assert Policy.parse(bytes(POLICY)) == POLICY


def test_a_quorum_is_what_its_groups_say() -> None:
    """Two of X and one of Y, for every subset of the witnesses."""
    names = [witness.name for witness in POLICY.witnesses]
    for count in range(len(names) + 1):
        for cosigned in map(set, combinations(names, count)):
            expected = len(cosigned & {"X1", "X2", "X3"}) >= 2 and bool(cosigned & {"Y1", "Y2"})
            assert POLICY.is_satisfied_by(cosigned) == expected
    assert not POLICY.is_satisfied_by({"X", "Y", "both"})
    assert Policy().is_satisfied_by(set())
    assert replace(POLICY, quorum="Y1").is_satisfied_by({"Y1"})
    assert not replace(POLICY, quorum="Y1").is_satisfied_by({"Y2"})


def test_accepts_a_checkpoint_with_log_and_quorum() -> None:
    """The log's signature and enough cosignatures, whoever else signed."""
    stranger = signing_key("stranger.example", Algorithm.COSIGNATURE)
    valid = POLICY.verify(LOG.note(5, X1, stranger, X3, Y2))
    assert valid.checkpoint == LOG.checkpoint(5)
    assert [each.key for each in valid.cosigned] == [each.verifier for each in (X1, X3, Y2)]


def test_a_log_is_not_its_own_witness() -> None:
    """A log's signature with ML-DSA states a time, as cosignatures do."""
    key = signing_key(ORIGIN, Algorithm.ML_DSA_44)
    text = str(LOG.checkpoint(5))
    valid = Policy((Log(key.verifier),)).verify(Note(text, (key.sign(text, 1),)))
    assert valid.cosignatures == 0


def test_refuses_a_checkpoint_without_quorum() -> None:
    """One of X is not two, repeated or not."""
    for witnesses in ([], [X1, Y1], [X1, X1, Y1], [X1, X2, X3]):
        with pytest.raises(QuorumError):
            POLICY.verify(LOG.note(5, *witnesses))


def test_refuses_a_checkpoint_of_another_log() -> None:
    """Neither another origin, nor this origin signed by another key, nor by a witness alone."""
    other = ExampleLog(LOG.leaves, signing_key("other.example"))
    forged = ExampleLog(LOG.leaves, signing_key(ORIGIN, salt="forged"))
    unsigned = Note(str(LOG.checkpoint(5)), LOG.note(5, X1, X2, Y1).signatures[1:])
    renamed = Note(str(replace(LOG.checkpoint(5), origin="other.example")), LOG.note(5, X1, X2, Y1).signatures)
    two = replace(POLICY, logs=(*POLICY.logs, Log(other.key.verifier)))
    by_other = LOG.note(5, X1, X2, Y1).with_signatures(other.key.sign(str(LOG.checkpoint(5)))).signatures[1:]
    with pytest.raises(SignatureError):
        two.verify(Note(str(LOG.checkpoint(5)), by_other))
    assert two.verify(other.note(5, X1, X2, Y1)).checkpoint == other.checkpoint(5)
    for note in (other.note(5, X1, X2, Y1), forged.note(5, X1, X2, Y1), unsigned, renamed):
        with pytest.raises(SignatureError):
            POLICY.verify(note)


def test_a_cosignature_that_does_not_verify_makes_the_note_void() -> None:
    """Somebody altered a line of a known witness."""
    note = LOG.note(5, X1, X2, Y1)
    altered = replace(note.signatures[1], value=bytes(72))
    with pytest.raises(SignatureError):
        POLICY.verify(Note(note.text, (note.signatures[0], altered, *note.signatures[2:])))


@pytest.mark.requirement("TR-9")
def test_every_line_of_a_policy_counts() -> None:
    """Notes, checkpoints, proofs and policies are read strictly: an altered byte or line is refused."""
    lines = FILE.splitlines(keepends=True)
    for at, line in enumerate(lines):
        if line.strip() and not line.strip().startswith(b"#"):
            without = b"".join(lines[:at] + lines[at + 1 :])
            if line.startswith(b"log"):
                assert not Policy.parse(without).logs
            else:
                with pytest.raises(MalformedError):
                    Policy.parse(without)


def test_names_are_octets() -> None:
    """A name that is not UTF-8 is a name, and a line that is none is named by its number."""
    file = b"witness \xff\xa0 %s\nquorum \xff\xa0\n" % str(X1.verifier).encode()
    assert bytes(Policy.parse(file)) == file
    with pytest.raises(MalformedError, match="line 3"):
        Policy.parse(file + b"log \xff\n")
