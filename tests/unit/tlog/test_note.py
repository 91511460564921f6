"""Notes and checkpoints: one spelling each, and every altered byte is another note or none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.tlogs import LOG_KEY, ExampleLog, leaf_hashes, signing_key
from tlog.checkpoint import Checkpoint
from tlog.errors import MalformedError, TlogError
from tlog.keys import Algorithm, verify_note
from tlog.merkle import EMPTY_ROOT
from tlog.note import MAX_BYTES, MAX_SIGNATURES, Note, Signature, parse_signatures

LOG = ExampleLog(leaf_hashes(9))
WITNESS = signing_key("witness.example/w1", Algorithm.COSIGNATURE)
NOTE = LOG.note(9, WITNESS)
KEYS = (LOG_KEY.verifier, WITNESS.verifier)
QUASIMODO = (
    "Ognuno sta solo sul cuor della terra\ntrafitto da un raggio di sole:\n\ned \u00e8 subito sera.\n\n"
    "\u2014 quasimodo.example/salvatore NnugSzTjtVAewIS+Z/iJhUPeFDkO/5QQ2i5ddnGITLlC+EhfLW9oJKONrMouFSQU0xMcXxj99ihA"
    "QwaqP3ZekRwNtIc=\n"
)

names = st.text(st.characters(exclude_categories=("Z", "C"), exclude_characters="+"), min_size=1, max_size=20)
lines = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=30)
signatures = st.builds(Signature, names, st.binary(min_size=4, max_size=4), st.binary(min_size=1, max_size=80))
notes = st.builds(
    lambda text, signed: Note("\n".join([*text, ""]), tuple(signed)),
    st.lists(lines, min_size=1, max_size=5).filter(lambda text: any(text)),
    st.lists(signatures, min_size=1, max_size=4),
)
checkpoints = st.builds(
    Checkpoint,
    lines.filter(bool),
    st.integers(1, 2**63 - 1),
    st.binary(min_size=32, max_size=32),
    st.lists(lines.filter(bool), max_size=3).map(tuple),
)


@given(notes)
def test_notes_are_read_as_they_are_written(note: Note) -> None:
    """There is one spelling of each note."""
    assert Note.parse(bytes(note)) == note


@given(checkpoints)
def test_checkpoints_are_read_as_they_are_written(checkpoint: Checkpoint) -> None:
    """There is one spelling of each checkpoint."""
    assert Checkpoint.parse(str(checkpoint)) == checkpoint


def test_reads_the_example_of_the_specification() -> None:
    """The text keeps its empty line."""
    note = Note.parse(QUASIMODO.encode())
    assert note.text.endswith("sole:\n\ned \u00e8 subito sera.\n")
    assert [each.name for each in note.signatures] == ["quasimodo.example/salvatore"]
    assert bytes(note).decode() == QUASIMODO


@pytest.mark.requirement("TR-9")
def test_no_altered_byte_of_a_signed_checkpoint_is_accepted() -> None:
    """Notes, checkpoints, proofs and policies are read strictly: an altered byte or line is refused."""
    data = bytes(NOTE)
    assert len(verify_note(Note.parse(data), KEYS)) == 2
    for at in range(len(data)):
        for altered in (data[at] ^ 1, data[at] ^ 0x20, data[at] ^ 0x80, 0, 10, 32):
            changed = data[:at] + bytes([altered]) + data[at + 1 :]
            if changed != data:
                with pytest.raises(TlogError):
                    check_both_signed(changed)
        for changed in (data[:at] + data[at + 1 :], data[:at] + b"\n" + data[at:], data[:at] + b"=" + data[at:]):
            if changed != data:
                with pytest.raises(TlogError):
                    check_both_signed(changed)


def check_both_signed(data: bytes) -> None:
    """What somebody asks who demands both signatures. Raises: TlogError."""
    note = Note.parse(data)
    Checkpoint.parse(note.text)
    if len(verify_note(note, KEYS)) != 2:
        raise MalformedError("a signature is missing")


def test_an_empty_log_has_the_empty_root() -> None:
    """Size 0 is a checkpoint like others."""
    empty = ExampleLog([]).checkpoint(0)
    assert empty.root == EMPTY_ROOT
    assert Checkpoint.parse(str(empty)) == empty


def test_notes_have_their_limits() -> None:
    """Sixteen signatures and more are read; a flood is not."""
    line = "\u2014 name AAAAAAA=\n"
    assert len(Note.parse(f"text\n\n{line * MAX_SIGNATURES}".encode()).signatures) == MAX_SIGNATURES
    for flood in (f"text\n\n{line * (MAX_SIGNATURES + 1)}", f"{'x' * MAX_BYTES}\n\n{line}"):
        with pytest.raises(MalformedError):
            Note.parse(flood.encode())


def test_a_later_signature_replaces_that_of_the_same_key() -> None:
    """A cosignature that is newer takes the place of the older, and others stay."""
    later = WITNESS.sign(NOTE.text, 1_764_000_060)
    other = signing_key("witness.example/w2", Algorithm.COSIGNATURE).sign(NOTE.text, 5)
    assert NOTE.with_signatures(later, other).signatures == (NOTE.signatures[0], later, other)
    assert parse_signatures(f"{later}\n{other}\n") == (later, other)
    for lines_ in ("", f"{later}", f"{later}\n\n", f"\n{later}\n"):
        with pytest.raises(MalformedError):
            parse_signatures(lines_)
