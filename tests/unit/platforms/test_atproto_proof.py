"""Proofs of records: published vectors, random repositories, and a proof broken at each of the nine checks."""

from __future__ import annotations

import base64
import itertools
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from platforms.atproto import tree
from platforms.atproto.cbor import Cid, Value, decode, encode
from platforms.atproto.did import Curve, Identity, is_did, is_handle, parse_document, parse_key
from platforms.atproto.proof import MAX_COMMIT_VALUES, Proven, is_tid, prove, tid_moment
from platforms.atproto.reasons import Check, InvalidProof
from platforms.atproto.records import HIDDEN, MAX_TEXT_BYTES, is_record_key, prove_post, prove_profile
from tests.support.repositories import (
    DID,
    HANDLE,
    NOW,
    OTHER_DID,
    POST_PATH,
    PROFILE_PATH,
    RKEY,
    Blocks,
    Repository,
    Signer,
    car,
    height,
    post,
    profile,
    proof_of,
    put,
    tid,
)
from tests.support.repositories import tree as built_tree

SERVER = "https://pds.example.com"
WORDS = "Tea is the most consumed drink after water."
KEYS = st.from_regex("app.bsky.feed.(post|like)/[a-z2-7]{1,13}", fullmatch=True)
SOME = {f"app.bsky.feed.post/{tid(NOW - timedelta(hours=hours))}": post(f"Tea, {hours}") for hours in range(150)}


def repository(**more: Value) -> Repository:
    """One with enough posts for a tree of several layers."""
    return Repository({**SOME, POST_PATH: post(WORDS), PROFILE_PATH: profile(), **more})


def crowded(beside: int) -> bytes:
    """A repository whose tree has so many keys in the node of the post."""
    names = (f"app.bsky.feed.post/{number:06}" for number in itertools.count())
    near = (name for name in names if height(name.encode()) == height(POST_PATH.encode()))
    others: dict[str, Value] = {name: post("Tea.") for name in itertools.islice(near, beside)}
    return repository(**others).car(POST_PATH)


def identity(of: Repository) -> Identity:
    return parse_document(of.document(SERVER, HANDLE), DID)


def blocks_of(of: Repository, path: str = POST_PATH) -> tuple[Cid, list[bytes]]:
    """The proof in pieces: commit, nodes, record."""
    root, blocks = of.blocks()
    return root, [blocks[cid] for cid in proof_of(path, root, blocks)]


# --- what is published -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "layer"),
    [
        ("", 0), ("asdf", 0), ("blue", 1), ("2653ae71", 0), ("88bfafc7", 2), ("2a92d355", 4), ("884976f5", 6),
        ("app.bsky.feed.post/454397e440ec", 4), ("app.bsky.feed.post/9adeb165882c", 8),
    ],
)  # fmt: skip
def test_published_keys_lie_in_their_layers(key: str, layer: int) -> None:
    assert (tree.layer(key.encode()), height(key.encode())) == (layer, layer)


@pytest.mark.parametrize(
    ("keys", "root"),
    [
        ("", "bafyreie5737gdxlw5i64vzichcalba3z2v5n6icifvx5xytvske7mr3hpm"),
        ("3fo", "bafyreibj4lsc3aqnrvphp5xmrnfoorvru4wynt6lwidqbm2623a6tatzdu"),
        ("3fx", "bafyreih7wfei65pxzhauoibu3ls7jgmkju4bspy4t2ha2qdjnzqvoy33ai"),
        ("3fp 3fr 3fs 3ft 4fc", "bafyreicmahysq4n6wfuxo522m6dpiy7z7qzym3dzs756t5n7nfdgccwq7m"),
        (
            "3fo 3fp 3fr 3fs 3ft 3fx 3fz 4fc 4fd 4ff 4fg 4fh",
            "bafyreid2x5eqs4w4qxvc5jiwda4cien3gw2q6cshofxwnvv7iucrmfohpm",
        ),
    ],
)
def test_published_trees_have_their_roots_and_hold_their_keys(keys: str, root: str) -> None:
    value = Cid.parse(base64.b32decode("AFYREIE5CVV4H45FEADGEUWHBCUTMH6T2CESEOCCKAHDOE6UAT64ZMZ454======"))
    assert str(value) == "bafyreie5cvv4h45feadgeuwhbcutmh6t2ceseocckahdoe6uat64zmz454"
    leaves = {f"com.example.record/3jqfcqzm{key}2j".encode(): value for key in keys.split()}
    blocks: Blocks = {}
    top = built_tree(blocks, leaves)
    assert str(top) == root
    for key in leaves:
        assert tree.find(blocks, top, key) == value
        assert tree.find(blocks, top, key + b"x") is None


@pytest.mark.parametrize(
    ("key", "signature", "is_valid"),
    [
        (
            "did:key:zDnaembgSGUhZULN2Caob4HLJPaxBh92N7rtH21TErzqf8HQo",
            "2vZNsG3UKvvO/CDlrdvyZRISOFylinBh0Jupc6KcWoJWExHptCfduPleDbG3rko3YZnn9Lw0IjpixVmexJDegg==",
            True,
        ),
        (
            "did:key:zQ3shqwJEJyMBsBXCWyCBpUBMqxcon9oHB7mCvx4sSpMdLJwc",
            "5WpdIuEUUfVUYaozsi8G0B3cWO09cgZbIIwg1t2YKdUn/FEznOndsz/qgiYb89zwxYCbB71f7yQK5Lr7NasfoA==",
            True,
        ),
        (
            "did:key:zDnaembgSGUhZULN2Caob4HLJPaxBh92N7rtH21TErzqf8HQo",
            "2vZNsG3UKvvO/CDlrdvyZRISOFylinBh0Jupc6KcWoKp7O4VS9giSAah8k5IUbXIW00SuOrjfEqQ9HEkN9JGzw==",
            False,
        ),
        (
            "did:key:zQ3shqwJEJyMBsBXCWyCBpUBMqxcon9oHB7mCvx4sSpMdLJwc",
            "5WpdIuEUUfVUYaozsi8G0B3cWO09cgZbIIwg1t2YKdXYA67MYxYiTMAVfdnkDCMN9S5B3vHosRe07aORmoshoQ==",
            False,
        ),
    ],
)
def test_published_signatures_hold_in_their_low_form_only(key: str, signature: str, is_valid: bool) -> None:
    message = base64.b64decode("oWVoZWxsb2V3b3JsZA==")
    assert decode(message) == {"hello": "world"}
    assert parse_key(key).verifies(base64.b64decode(signature), message) is is_valid


@pytest.mark.parametrize(
    ("curve", "secret", "did"),
    [
        (
            "K-256",
            "9085d2bef69286a6cbb51623c8fa258629945cd55ca705cc4e66700396894e0c",
            "did:key:zQ3shokFTS3brHcDQrn82RUDfCZESWL1ZdCEJwekUDPQiYBme",
        ),
        (
            "K-256",
            "f0f4df55a2b3ff13051ea814a8f24ad00f2e469af73c363ac7e9fb999a9072ed",
            "did:key:zQ3shtxV1FrJfhqE1dvxYRcCknWNjHc3c5X1y3ZSoPDi2aur2",
        ),
    ],
)
def test_published_secrets_have_their_public_keys(curve: Curve, secret: str, did: str) -> None:
    key = parse_key(Signer(curve, int(secret, 16)).multibase)
    assert (key.did, key.curve) == (did, curve)


@pytest.mark.parametrize(
    "text",
    ["3jzfcijpj2z21", "0000000000000", "3JZFCIJPJ2Z2A", "3jzfcijpj2z2aa", "3jzfcijpj2z2", "222", "3jzf-cij-pj2z-2a",
     "zzzzzzzzzzzzz", "kjzfcijpj2z2a", ""],
)  # fmt: skip
def test_published_ids_of_time_that_are_none(text: str) -> None:
    assert not is_tid(text)


@pytest.mark.parametrize("text", ["3jzfcijpj2z2a", "7777777777777", "3zzzzzzzzzzzz", "2222222222222", tid(NOW)])
def test_published_ids_of_time(text: str) -> None:
    assert is_tid(text)
    assert tid_moment(tid(NOW)) == NOW


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        (DID, True),
        ("did:web:example.com", True),
        ("did:web:a.b.example.com", True),
        ("did:web:localhost", False),
        ("did:web:127.0.0.1", False),
        ("did:web:example.com:path", False),
        ("did:web:example.com%3A3000", False),
        ("did:web:Example.com", False),
        ("did:web:exa_mple.com", False),
        ("did:web:-a.com", False),
        ("did:plc:short", False),
        ("did:plc:EWVI7NXZYOUN6ZHXRHS64OIZ", False),
        (DID + "\n", False),
        (DID + "/x", False),
        ("did:key:zDnaembgSGUhZULN2Caob4HLJPaxBh92N7rtH21TErzqf8HQo", False),
        ("did:web:" + "a" * 60 + "." + "b" * 60 + "." + "c" * 60 + "." + "d" * 60 + "." + "e" * 60 + ".com", False),
    ],
)
def test_dids(text: str, is_one: bool) -> None:
    assert is_did(text) is is_one


def test_names() -> None:
    assert is_handle("ann.example.com")
    assert not any(
        map(is_handle, ("ann", "ann.", ".com", "Ann.com", "ann..com", "ann.1", "a" * 64 + ".com", "a/b.com"))
    )
    assert is_record_key(RKEY)
    assert is_record_key("a-b_c~d:e.f".replace("_", ""))
    assert not any(map(is_record_key, (".", "..", "", "a/b", "a b", "a?b", "a" * 513, "ä")))


# --- what is proved ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("curve", ["P-256", "K-256"])
def test_a_post_and_a_profile_are_proved_with_either_kind_of_key(curve: Curve) -> None:
    signed = replace(repository(), signer=Signer(curve))
    assert max(height(path.encode()) for path in signed.records) >= 3
    proved = prove_post(signed.car(POST_PATH), identity(signed), RKEY, NOW)
    assert proved is not None
    assert (proved.text, proved.created_at, proved.rev) == (WORDS, "2026-11-20T10:00:00.000Z", tid(NOW))
    assert proved.cid == str(Cid.of(encode(post(WORDS))))
    assert prove_profile(signed.car(PROFILE_PATH), identity(signed), NOW) == ("Ann Lee", False)


def test_what_is_not_there_is_proved_not_to_be_there() -> None:
    signed = repository()
    assert prove_post(signed.car("app.bsky.feed.post/3zzzzzzzzzzzz"), identity(signed), "3zzzzzzzzzzzz", NOW) is None
    without = Repository({POST_PATH: post(WORDS)})
    assert prove_profile(without.car(PROFILE_PATH), identity(without), NOW) == (None, False)
    empty = Repository()
    assert prove_post(empty.car(POST_PATH), identity(empty), RKEY, NOW) is None


@settings(deadline=None, max_examples=60)
@given(st.sets(KEYS, max_size=60), st.sets(KEYS, max_size=10))
def test_every_present_key_proves_present_and_every_absent_one_absent(keys: set[str], others: set[str]) -> None:
    signed = Repository({key: post(key) for key in keys})
    who = identity(signed)
    root, blocks = signed.blocks()
    for key in keys | others:
        proof = car(root, (blocks[cid] for cid in proof_of(key, root, blocks)))
        record = prove(proof, who, key, NOW).record
        assert (record is not None) == (key in keys)
        assert record is None or record.fields["text"] == key


@settings(deadline=None, max_examples=200)
@given(st.data())
def test_any_changed_byte_of_any_block_is_refused(data: st.DataObject) -> None:
    signed = repository()
    whole = signed.car(POST_PATH)
    place = data.draw(st.integers(0, len(whole) - 1))
    changed = whole[:place] + bytes((whole[place] ^ data.draw(st.integers(1, 255)),)) + whole[place + 1 :]
    with pytest.raises(InvalidProof):
        prove(changed, identity(signed), POST_PATH, NOW)


@settings(deadline=None, max_examples=100)
@given(st.data())
def test_a_byte_changed_under_its_own_hash_is_refused_too(data: st.DataObject) -> None:
    """The file is whole; what it says is not what was signed."""
    signed = repository()
    root, blocks = blocks_of(signed)
    number = data.draw(st.integers(0, len(blocks) - 1))
    place = data.draw(st.integers(0, len(blocks[number]) - 1))
    block = bytearray(blocks[number])
    block[place] ^= data.draw(st.integers(1, 255))
    blocks[number] = bytes(block)
    with pytest.raises(InvalidProof):
        prove(car(Cid.of(blocks[0]) if number == 0 else root, blocks), identity(signed), POST_PATH, NOW)


def test_without_any_one_block_nothing_is_proved() -> None:
    signed = repository()
    root, blocks = blocks_of(signed)
    assert len(blocks) >= 5
    for number in range(len(blocks)):
        with pytest.raises(InvalidProof):
            prove(car(root, blocks[:number] + blocks[number + 1 :]), identity(signed), POST_PATH, NOW)


# --- a proof broken at each check --------------------------------------------------------------------------------


def with_tree(nodes: Iterable[Value], leaf: Value | None = None) -> bytes:
    """A signed repository whose tree is these nodes, the last one at its root."""
    signed, blocks = Repository(), dict[Cid, bytes]()
    put(blocks, post(WORDS) if leaf is None else leaf)
    top = [put(blocks, node) for node in nodes][-1]
    return car(signed.committed(top, blocks), blocks.values())


def entry(key: str, shared: int = 0, right: Cid | None = None) -> dict[str, Value]:
    return {"p": shared, "k": key.encode()[shared:], "v": Cid.of(encode(post(WORDS))), "t": right}


def node(*entries: Value, left: Cid | None = None) -> dict[str, Value]:
    return {"l": left, "e": list(entries)}


LOWEST = next(f"app.bsky.feed.post/{n:03}" for n in range(999) if height(f"app.bsky.feed.post/{n:03}".encode()) == 0)
NEXT = next(key for n in range(999) if height((key := f"{LOWEST}{n}").encode()) == 0)
SECOND = next(f"app.bsky.feed.post/9{n:03}" for n in range(999) if height(f"app.bsky.feed.post/9{n:03}".encode()) == 1)
EMPTY_NODE = Cid.of(encode(node()))


def forged_signature() -> bytes:
    return replace(repository(), signer=Signer(secret=8)).car(POST_PATH)


def commit(**fields: Value) -> bytes:
    root, blocks = replace(repository(), commit=fields).blocks()
    return car(root, [blocks[root]])


def without_commit() -> bytes:
    root, blocks = blocks_of(repository())
    return car(root, blocks[1:])


def without(number: int) -> bytes:
    root, blocks = blocks_of(repository())
    del blocks[number]
    return car(root, blocks)


BROKEN: list[tuple[str, Check, Callable[[], bytes]]] = [
    ("a block under another's address", "car", lambda: repository().car(POST_PATH)[:-1] + b"?"),
    ("the commit is missing", "commit", without_commit),
    ("a commit of version 2", "commit", lambda: commit(version=2)),
    ("a commit of another DID", "commit", lambda: commit(did=OTHER_DID)),
    ("a tree that is no link", "commit", lambda: commit(data="x")),
    ("a revision that is no time", "commit", lambda: commit(rev="newest")),
    ("signed by another key", "signature", forged_signature),
    ("a signature in its high form", "signature", lambda: replace(repository(), high_s=True).car(POST_PATH)),
    ("a node is missing", "path", lambda: without(2)),
    ("a node that is none", "path", lambda: with_tree(["x"])),
    ("a node with more fields", "path", lambda: with_tree([{**node(), "x": 1}])),
    ("an entry without a value", "path", lambda: with_tree([node({"p": 0, "k": b"a", "t": None})])),
    ("a prefix longer than the key before", "path", lambda: with_tree([node({**entry(LOWEST), "p": 1})])),
    ("a prefix that is a truth value", "path", lambda: with_tree([node({**entry(LOWEST), "p": False})])),
    ("a negative prefix", "path", lambda: with_tree([node(entry(LOWEST), {**entry(LOWEST), "p": -1})])),
    ("keys out of order", "path", lambda: with_tree([node(entry("z" + LOWEST), entry(LOWEST))])),
    ("a key twice", "path", lambda: with_tree([node(entry(LOWEST), entry(LOWEST, len(LOWEST)))])),
    ("a prefix shorter than it can be", "path", lambda: with_tree([node(entry(LOWEST), entry(NEXT, 3))])),
    ("a key in another's layer", "path", lambda: with_tree([node(entry(LOWEST), entry(SECOND, 19))])),
    ("an empty key", "path", lambda: with_tree([node(entry(""))])),
    ("an endless key", "path", lambda: with_tree([node(entry("a" * 2_000))])),
    ("a root without keys", "path", lambda: with_tree([node(), node(left=EMPTY_NODE)])),
    ("an empty node below", "path", lambda: with_tree([node(), node(entry(SECOND), left=EMPTY_NODE)])),
    ("a subtree below the lowest layer", "path", lambda: with_tree([node(), node(entry(LOWEST), left=EMPTY_NODE)])),
    ("the record is missing", "record", lambda: without(-1)),
    ("a record that has no fields", "record", lambda: Repository({POST_PATH: "Tea"}).car(POST_PATH)),
    ("another kind of record", "content", lambda: repository(**{POST_PATH: profile()}).car(POST_PATH)),
    ("a post without a date", "content", lambda: Repository({POST_PATH: post(WORDS, "")}).car(POST_PATH)),
    ("a post without a text", "content", lambda: Repository({POST_PATH: {**post(""), "text": 1}}).car(POST_PATH)),
    (
        "an endless text",
        "content",
        lambda: Repository({POST_PATH: post("ä" * (MAX_TEXT_BYTES // 2 + 1))}).car(POST_PATH),
    ),
    ("a path of too many keys", "path", lambda: crowded(tree.MAX_ENTRIES)),
    (
        "a commit of too many fields",
        "commit",
        lambda: replace(repository(), commit={"more": [0] * MAX_COMMIT_VALUES}).car(POST_PATH),
    ),
    ("a revision of tomorrow", "revision", lambda: replace(repository(), at=NOW + timedelta(minutes=6)).car(POST_PATH)),
    ("a revision of yesterday", "revision", lambda: replace(repository(), at=NOW - timedelta(days=2)).car(POST_PATH)),
]


@pytest.mark.requirement("FS-50")
@pytest.mark.parametrize(("what", "check", "broken"), BROKEN, ids=[what for what, _, _ in BROKEN])
def test_a_proof_broken_at_a_check_is_refused_by_it(what: str, check: Check, broken: Callable[[], bytes]) -> None:
    """FS-50: The text is taken only from a proved record."""
    known = tid(NOW - timedelta(days=1))
    whole = repository()
    assert prove_post(whole.car(POST_PATH), identity(whole), RKEY, NOW, known) is not None
    with pytest.raises(InvalidProof) as refused:
        prove_post(broken(), identity(Repository()), RKEY, NOW, known)
    assert refused.value.check == check, str(refused.value)


def changed(**fields: object) -> dict[str, object]:
    return {**Repository().document(SERVER, HANDLE), **fields}


def method(**fields: object) -> dict[str, object]:
    stated = {"id": f"{DID}#atproto", "type": "Multikey", "publicKeyMultibase": Signer().multibase}
    return changed(verificationMethod=[{**stated, **fields}])


@pytest.mark.requirement("FS-50")
@pytest.mark.parametrize(
    ("what", "document"),
    [
        ("no document", []),
        ("of another DID", changed(id=OTHER_DID)),
        ("without keys", changed(verificationMethod=[])),
        ("keys that are none", changed(verificationMethod={"id": "#atproto"})),
        ("a key for something else", method(id=f"{DID}#atproto_label")),
        ("a key of another DID", method(id=f"{OTHER_DID}#atproto")),
        ("a key of another kind", method(publicKeyMultibase="z6MkpTHR8VNsBxYAAWHut2Geadd9jSwuBV8xRoAnwWsdvktH")),
        ("a key that is no point", method(publicKeyMultibase=Signer().multibase[:-1] + "1")),
        ("a key with a strange letter", method(publicKeyMultibase=Signer().multibase[:-1] + "0")),
        ("an endless key", method(publicKeyMultibase="z" + "2" * 100_000)),
        ("another base", method(publicKeyMultibase="f" + Signer().multibase)),
        ("without a server", changed(service=[])),
        ("another server", changed(service=[{"id": "#atproto_pds", "type": "X", "serviceEndpoint": SERVER}])),
    ],
)
def test_a_document_that_names_no_key_of_this_did_is_refused(what: str, document: object) -> None:
    """FS-50: The text is taken only from a proved record."""
    with pytest.raises(InvalidProof) as refused:
        parse_document(document, DID)
    assert refused.value.check == "did_document", what


def test_a_document_is_read() -> None:
    signed = Repository(signer=Signer("K-256"))
    read = parse_document({**signed.document(SERVER, HANDLE, "not a handle", "Upper.Example.com"), "more": 1}, DID)
    assert (read.did, read.server, read.handles) == (DID, SERVER, (HANDLE, "upper.example.com"))
    assert read.key.curve == "K-256"


@pytest.mark.requirement("FS-50")
@pytest.mark.parametrize(
    "broken",
    [
        lambda: Repository({PROFILE_PATH: post(WORDS)}).car(PROFILE_PATH),
        lambda: Repository({PROFILE_PATH: {**profile(), "labels": [HIDDEN]}}).car(PROFILE_PATH),
        lambda: Repository({PROFILE_PATH: {**profile(), "labels": {"values": [HIDDEN]}}}).car(PROFILE_PATH),
        lambda: Repository({PROFILE_PATH: profile()}, signer=Signer(secret=8)).car(PROFILE_PATH),
        lambda: repository().car(POST_PATH),
    ],
    ids=["another record", "labels that are none", "labels without values", "signed by another key", "of the post"],
)
def test_a_profile_that_is_not_proved_is_refused(broken: Callable[[], bytes]) -> None:
    """FS-50: The text is taken only from a proved record."""
    with pytest.raises(InvalidProof) as refused:
        prove_profile(broken(), identity(Repository()), NOW)
    assert refused.value.check == "profile"


def test_an_author_can_ask_not_to_be_shown() -> None:
    signed = Repository({PROFILE_PATH: profile("Ann", "graphic-media", HIDDEN)})
    assert prove_profile(signed.car(PROFILE_PATH), identity(signed), NOW) == ("Ann", True)
    shown = Repository({PROFILE_PATH: profile("Ann", "graphic-media")})
    assert prove_profile(shown.car(PROFILE_PATH), identity(shown), NOW) == ("Ann", False)


def test_a_key_that_was_changed_since_proves_nothing() -> None:
    signed = repository()
    rotated = identity(replace(signed, signer=Signer("K-256")))
    with pytest.raises(InvalidProof) as refused:
        prove(signed.car(POST_PATH), rotated, POST_PATH, NOW)
    assert refused.value.check == "signature"


def test_a_proof_of_one_record_proves_no_other_absent() -> None:
    """A path that ends early is no proof of absence: the node that could hold the key must be seen."""
    signed = repository()
    proof = signed.car(POST_PATH)
    others: list[Proven] = []
    for path in SOME:
        try:
            others.append(prove(proof, identity(signed), path, NOW))
        except InvalidProof:
            continue
    assert all(other.record is not None for other in others)
