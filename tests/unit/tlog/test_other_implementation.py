"""Another implementation reads our log, and we read its: Go's own of signed notes and tiled trees.

It has no cosignatures, so those of the program are written anew from C2SP's text; that witnesses of others sign as we
do is shown by a checkpoint that four of them have cosigned.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Final, TypedDict, cast

import pytest

from tests.support.reference_log import Consistency, Document, Inclusion, Order, ReferenceLog
from tests.support.tlogs import LOG_KEY, NOW, signing_key
from tlog.checkpoint import Checkpoint
from tlog.encoding import decode_base64, decode_hash
from tlog.errors import MalformedError, ProofError, TlogError
from tlog.keys import Algorithm, VerifierKey, verify_note
from tlog.merkle import (
    Tree,
    complete_nodes,
    fold,
    hash_leaf,
    prove_consistency,
    prove_inclusion,
    verify_consistency,
    verify_inclusion,
)
from tlog.note import Note
from tlog.tiles import Frontier, bundle_growth, decode_bundle, encode_bundle, growth, node_reader

pytestmark = pytest.mark.xdist_group("reference-log")

WITNESS: Final = signing_key("witness.example/w1", Algorithm.COSIGNATURE)
SIZES: Final = [1, 2, 255, 256, 257, 700, 66_000]
"""With one tile and several, whole and partial ones, and tiles of three levels."""
TAMPERED_SIZE: Final = 300


class Published(TypedDict):
    """A note that others have published, and the keys that signed it."""

    source: str
    keys: list[str]
    note: str


PUBLISHED: Final = cast(
    list[Published], json.loads((Path(__file__).parents[2] / "cases" / "published_notes.json").read_text("utf-8"))
)


@pytest.fixture(scope="session")
def reference(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> ReferenceLog:
    """The program, one for all workers."""
    own = tmp_path_factory.getbasetemp()
    return ReferenceLog(own.parent if hasattr(request.config, "workerinput") else own)


def order(size: int) -> Order:
    """What a log of this size shall have."""
    sizes = [each for each in [*SIZES, size // 2, size - 1] if 0 < each < size]
    entries = [encode(f"entry {number}".encode()) for number in range(size)]
    indexes = sorted({0, size // 3, size // 2, size - 1})
    return Order(
        log=LOG_KEY.secret(), witness=WITNESS.secret(), time=NOW, entries=entries, indexes=indexes, sizes=sizes
    )


def ours(wanted: Order) -> Document:
    """The log as our code makes it: its tiles from its entries, and its proofs from its tiles."""
    entries = [b64decode(each) for each in wanted["entries"]]
    size = len(entries)
    leaves = [hash_leaf(each) for each in entries]
    _, written = Frontier().grow(leaves)
    read = node_reader(size, dict(written))
    files = {tile.path: encode(data) for tile, data in written}
    for bundle in bundle_growth(0, size):
        files[bundle.path] = encode(encode_bundle(entries[bundle.number * 256 :][: bundle.width]))
    text = str(Checkpoint(LOG_KEY.name, size, Tree().append(leaves).root()))
    return Document(
        keys=[str(LOG_KEY.verifier), str(WITNESS.verifier)],
        note=bytes(Note(text, (LOG_KEY.sign(text), WITNESS.sign(text, wanted["time"])))).decode(),
        files=files,
        inclusions=[
            Inclusion(
                index=each, entry=encode(entries[each]), proof=list(map(encode, prove_inclusion(each, size, read)))
            )
            for each in wanted["indexes"]
        ],
        consistencies=[
            Consistency(
                size=each,
                root=encode(Tree().append(leaves[:each]).root()),
                proof=list(map(encode, prove_consistency(each, size, read))),
            )
            for each in wanted["sizes"]
        ],
    )


def verify(log: Document) -> None:
    """Check a log with our code. Raises: TlogError."""
    note = Note.parse(log["note"].encode())
    keys = [VerifierKey.parse(each) for each in log["keys"]]
    if len(verify_note(note, keys)) != len(keys):
        raise MalformedError("a key has not signed")
    if log["files"] is None:
        return
    checkpoint = Checkpoint.parse(note.text)
    size, root = checkpoint.size, checkpoint.root
    files = {path: decode_base64(data) for path, data in log["files"].items()}
    tiles, bundles = growth(0, size), bundle_growth(0, size)
    if set(files) != {tile.path for tile in tiles} | {bundle.path for bundle in bundles}:
        raise MalformedError("other files than a log of this size has")
    leaves = [hash_leaf(entry) for each in bundles for entry in decode_bundle(each, files[each.path])]
    _, expected = Frontier().grow(leaves)
    if any(files[tile.path] != data for tile, data in expected):
        raise ProofError("a tile is not that of the entries")
    read = node_reader(size, {tile: files[tile.path] for tile in tiles})
    if fold([read(*node) for node in complete_nodes(0, size)]) != root:
        raise ProofError("the tiles have another root")
    for included in log["inclusions"]:
        leaf = hash_leaf(decode_base64(included["entry"]))
        verify_inclusion(included["index"], size, leaf, root, [decode_hash(each) for each in included["proof"]])
    for old in log["consistencies"]:
        proof = [decode_hash(each) for each in old["proof"]]
        verify_consistency(old["size"], size, decode_hash(old["root"]), root, proof)


@pytest.mark.requirement("TR-11")
@pytest.mark.parametrize("size", SIZES)
def test_another_implementation_verifies_our_log_and_we_verify_its(reference: ReferenceLog, size: int) -> None:
    """TR-11: Another implementation verifies our log, and we verify its."""
    own, theirs = ours(order(size)), reference.make(order(size))
    assert reference.find_faults(own) == [""]
    verify(theirs)
    assert theirs == own


@pytest.mark.requirement("TR-11")
def test_both_refuse_what_was_altered(reference: ReferenceLog) -> None:
    """TR-11: Another implementation verifies our log, and we verify its."""
    theirs = reference.make(order(TAMPERED_SIZE))
    altered = dict(alter(theirs))
    assert len(altered) > 40
    faults = dict(zip(altered, reference.find_faults(*altered.values()), strict=True))
    assert [name for name, fault in faults.items() if not fault] == []
    for name, each in altered.items():
        with pytest.raises(TlogError):
            verify(each)
            pytest.fail(f"accepted: {name}")


@pytest.mark.requirement("TR-11")
@pytest.mark.parametrize("published", PUBLISHED, ids=lambda published: published["keys"][0].partition("+")[0])
def test_we_verify_notes_that_others_signed_and_cosigned(published: Published) -> None:
    """TR-11: Another implementation verifies our log, and we verify its."""
    log = of_others(published)
    verify(log)
    for name, each in alter(log):
        with pytest.raises(TlogError):
            verify(each)
            pytest.fail(f"accepted: {name}")


@pytest.mark.requirement("TR-11")
@pytest.mark.parametrize("published", PUBLISHED, ids=lambda published: published["keys"][0].partition("+")[0])
def test_the_other_implementation_agrees_about_notes_of_others(reference: ReferenceLog, published: Published) -> None:
    """TR-11: Another implementation verifies our log, and we verify its."""
    log = of_others(published)
    assert reference.find_faults(log) == [""]
    assert "" not in reference.find_faults(*(each for _, each in alter(log)))


def of_others(published: Published) -> Document:
    """A note without its log."""
    return Document(keys=published["keys"], note=published["note"], files=None, inclusions=[], consistencies=[])


def alter(log: Document) -> Iterator[tuple[str, Document]]:
    """The log with something altered, and what."""
    text, _, signatures = log["note"].rpartition("\n\n")
    for at, line in enumerate(text.split("\n")):
        yield f"line {at} of the text", log | {"note": log["note"].replace(line, flip(line), 1)}
    for key in log["keys"]:
        name, key_id, _ = key.split("+", 2)
        prefix = f"\u2014 {name} "
        lines = [each for each in signatures.split("\n") if each.startswith(prefix)]
        (line,) = (each for each in lines if b64decode(each.removeprefix(prefix))[:4].hex() == key_id)
        value = b64decode(line.removeprefix(prefix))
        for at in (0, 4, len(value) - 1):
            other = encode(value[:at] + bytes([value[at] ^ 1]) + value[at + 1 :])
            yield f"byte {at} of {name}", log | {"note": log["note"].replace(line, prefix + other)}
        yield f"no signature of {name}", log | {"note": log["note"].replace(f"{line}\n", "")}
    for path, data in (log["files"] or {}).items():
        for at in (0, len(b64decode(data)) - 1):
            yield f"byte {at} of {path}", with_file(log, path, flip_byte(data, at))
        yield f"{path} ends early", with_file(log, path, encode(b64decode(data)[:-1]))
        yield f"no {path}", with_file(log, path, None)
    for at, proof in enumerate([*log["inclusions"], *log["consistencies"]]):
        for number, hashes in enumerate(alter_hashes(proof["proof"])):
            other_log = deepcopy(log)
            [*other_log["inclusions"], *other_log["consistencies"]][at]["proof"] = hashes
            yield f"proof {at}, {number}", other_log
    for included in log["inclusions"]:
        place, entry = included | {"index": included["index"] ^ 1}, included | {"entry": encode(b"another")}
        yield f"the place of entry {included['index']}", log | {"inclusions": [place]}
        yield f"entry {included['index']} itself", log | {"inclusions": [entry]}
    for old in log["consistencies"]:
        size, root = old | {"size": old["size"] ^ 1}, old | {"root": flip_byte(old["root"], 0)}
        yield f"the earlier size {old['size']}", log | {"consistencies": [size]}
        yield f"the root of the earlier size {old['size']}", log | {"consistencies": [root]}


def alter_hashes(hashes: list[str]) -> Iterator[list[str]]:
    """Other proofs: one hash is another, missing or too many."""
    yield [*hashes, encode(bytes(32))]
    for at, each in enumerate(hashes):
        yield [*hashes[:at], flip_byte(each, 0), *hashes[at + 1 :]]
        yield [*hashes[:at], *hashes[at + 1 :]]


def with_file(log: Document, path: str, data: str | None) -> Document:
    """The log with other bytes at a path, or none."""
    others = {each: kept for each, kept in (log["files"] or {}).items() if each != path}
    return log | {"files": others if data is None else others | {path: data}}


def flip(line: str) -> str:
    """Another line of the same length, in the middle of which a character is another."""
    at = len(line) // 2
    return line[:at] + ("1" if line[at] == "2" else "2") + line[at + 1 :]


def flip_byte(data: str, at: int) -> str:
    """The same bytes, but for one bit."""
    value = b64decode(data)
    return encode(value[:at] + bytes([value[at] ^ 1]) + value[at + 1 :])


def encode(data: bytes) -> str:
    """Base64."""
    return b64encode(data).decode()
