"""The path from a repository's root to a key, or to the place where the key would be.

The tree is ordered by key; a key's layer follows from its hash, so a set of records has one tree. Every node on the
path is checked to belong to that tree: otherwise a forged node could hide a key from the search.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Mapping
from typing import Final, NamedTuple

from platforms.atproto.cbor import DAG_CBOR, Cid, InvalidCbor, Value, decode
from platforms.atproto.reasons import InvalidProof

MAX_KEY_BYTES: Final = 1_024
MAX_ENTRIES: Final = 250
"""The most keys of a path's nodes. A repository of a million records has some ten nodes of three keys each."""
_HASH_BITS: Final = 256


class Entry(NamedTuple):
    """One key of a node. `right` is the subtree of the keys between this one and the next."""

    key: bytes
    value: Cid
    right: Cid | None


class Node(NamedTuple):
    """One node. `left` is the subtree of the keys before the first entry."""

    left: Cid | None
    entries: tuple[Entry, ...]


def layer(key: bytes) -> int:
    """The key's layer, counted from the leaves: pairs of leading zero bits of its hash."""
    number = int.from_bytes(hashlib.sha256(key).digest())
    return (_HASH_BITS - number.bit_length()) // 2


def find(blocks: Mapping[Cid, bytes], root: Cid, key: bytes) -> Cid | None:
    """The address stored under the key; None if its absence is proved. Raises: InvalidProof: check `path` fails."""
    after: bytes | None = None
    before: bytes | None = None
    at: int | None = None
    link: Cid | None = root
    read = 0
    while link is not None:
        node = _read(blocks, link)
        read += len(node.entries)
        if read > MAX_ENTRIES:
            raise InvalidProof("path", f"the nodes of the path have more than {MAX_ENTRIES} keys")
        at = _check_layer(node, at)
        _check_order(node, after, before)
        link = node.left
        for entry in node.entries:
            if entry.key == key:
                return entry.value
            if entry.key > key:
                before = entry.key
                break
            after, link = entry.key, entry.right
    return None


def _read(blocks: Mapping[Cid, bytes], link: Cid) -> Node:
    block = blocks.get(link)
    if block is None:
        raise InvalidProof("path", "a node of the path is missing")
    try:
        document = decode(block)
    except InvalidCbor as error:
        raise InvalidProof("path", f"a node is not DAG-CBOR: {error}") from None
    match document:
        case {"l": left, "e": list() as listed, **rest} if not rest:
            entries: list[Entry] = []
            for each in listed:
                entries.append(_entry(each, entries[-1].key if entries else b""))
            return Node(_subtree(left), tuple(entries))
        case _:
            raise InvalidProof("path", "a block of the path is no node")


def _entry(document: Value, previous: bytes) -> Entry:
    match document:
        case {"p": int() as shared, "k": bytes() as rest, "v": Cid() as value, "t": right, **more} if (
            not more and not isinstance(shared, bool) and 0 <= shared <= len(previous)
        ):
            key = previous[:shared] + rest
            if not key or len(key) > MAX_KEY_BYTES or rest[:1] == previous[shared : shared + 1] != b"":
                raise InvalidProof("path", "a key is too long, empty or not in its shortest form")
            return Entry(key, value, _subtree(right))
        case _:
            raise InvalidProof("path", "an entry of a node has not its four fields")


def _subtree(link: Value) -> Cid | None:
    if link is None or (isinstance(link, Cid) and link.codec == DAG_CBOR):
        return link
    raise InvalidProof("path", "a subtree is no link to a node")


def _check_layer(node: Node, parent: int | None) -> int:
    """The node's layer. Refuse a node unless all its keys are of that layer, one below the parent's layer `parent`.

    Only the root of a repository without records may be empty.
    """
    layers = {layer(entry.key) for entry in node.entries}
    if parent is not None:
        if not node.entries and node.left is None:
            raise InvalidProof("path", "a node below the root is empty")
        layers.add(parent - 1)
    elif not node.entries:
        if node.left is not None:
            raise InvalidProof("path", "the root has no key")
        return 0
    if len(layers) != 1 or min(layers) < 0:
        raise InvalidProof("path", "a key lies in a layer that is not its own")
    found = layers.pop()
    if found == 0 and (node.left is not None or any(entry.right is not None for entry in node.entries)):
        raise InvalidProof("path", "a node of the lowest layer has a subtree")
    return found


def _check_order(node: Node, after: bytes | None, before: bytes | None) -> None:
    keys = [entry.key for entry in node.entries]
    bounded = [*([] if after is None else [after]), *keys, *([] if before is None else [before])]
    if any(one >= next_ for one, next_ in itertools.pairwise(bounded)):
        raise InvalidProof("path", "keys are not in ascending order")
