"""Checks a signed repository's proof that it contains a record, with these bytes, or that it does not.

It shows that the holder of the DID's key signed a repository with this record, not that the record is still there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from platforms.atproto import tree
from platforms.atproto.car import read_car
from platforms.atproto.cbor import DAG_CBOR, Cid, InvalidCbor, Value, decode, encode
from platforms.atproto.did import Identity
from platforms.atproto.reasons import InvalidProof

MAX_AHEAD: Final = timedelta(minutes=5)
MAX_COMMIT_VALUES: Final = 100
_TID = re.compile("[2-7a-j][2-7a-z]{12}")
_TID_ALPHABET: Final = "234567abcdefghijklmnopqrstuvwxyz"
_CLOCK_BITS: Final = 10


class Record(NamedTuple):
    """A record and its address."""

    cid: Cid
    fields: Mapping[str, Value]


class Proven(NamedTuple):
    """A checked proof. `record` is None if its absence is proved; `rev`, the repository's revision, sorts by age."""

    rev: str
    record: Record | None


def prove(car: bytes, identity: Identity, path: str, now: datetime, newest_rev: str = "") -> Proven:
    """Check a repository's proof of a record, `<collection>/<key>`.

    `newest_rev` is the newest revision of this repository that is known.
    Raises: InvalidProof: the first failed check.
    """
    root, blocks = read_car(car)
    rev, data = _check_commit(blocks.get(root), identity)
    if tid_moment(rev) > now + MAX_AHEAD:
        raise InvalidProof("revision", "the repository's revision is in the future")
    if rev < newest_rev:
        raise InvalidProof("revision", "a newer revision of the repository is known")
    found = tree.find(blocks, data, path.encode())
    return Proven(rev, None if found is None else _read_record(blocks, found))


def tid_moment(tid: str) -> datetime:
    """The creation time in a TID (timestamp identifier)."""
    number = 0
    for character in tid:
        number = number * 32 + _TID_ALPHABET.index(character)
    return datetime.fromtimestamp(0, UTC) + timedelta(microseconds=number >> _CLOCK_BITS)


def is_tid(text: str) -> bool:
    """Whether `text` is a TID (timestamp identifier)."""
    return _TID.fullmatch(text) is not None


def _check_commit(block: bytes | None, identity: Identity) -> tuple[str, Cid]:
    """Check the repository's commit; return its revision and the root of its tree."""
    if block is None:
        raise InvalidProof("commit", "the root's block is missing")
    try:
        document = decode(block, MAX_COMMIT_VALUES)
    except InvalidCbor as error:
        raise InvalidProof("commit", f"the commit is not DAG-CBOR: {error}") from None
    if not isinstance(document, dict):
        raise InvalidProof("commit", "the root is no commit")
    match document:
        case {
            "version": 3,
            "did": identity.did,
            "data": Cid() as data,
            "rev": str() as rev,
            "sig": bytes() as signature,
        }:
            unsigned = {name: value for name, value in document.items() if name != "sig"}
        case _:
            raise InvalidProof("commit", "the root is no commit of version 3 of this DID")
    if data.codec != DAG_CBOR or not is_tid(rev):
        raise InvalidProof("commit", "the commit's tree or revision cannot be read")
    if not identity.key.verifies(signature, encode(unsigned)):
        raise InvalidProof("signature", "the commit is not signed by the DID's key")
    return rev, data


def _read_record(blocks: Mapping[Cid, bytes], cid: Cid) -> Record:
    block = blocks.get(cid)
    if block is None:
        raise InvalidProof("record", "the record's block is missing")
    try:
        fields = decode(block)
    except InvalidCbor as error:
        raise InvalidProof("record", f"the record is not DAG-CBOR: {error}") from None
    if not isinstance(fields, dict):
        raise InvalidProof("record", "the record has no fields")
    return Record(cid, fields)
