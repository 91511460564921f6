"""Signed repositories with real keys, built by the protocol's rules; `Repository.car` is what a server answers."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from platforms.atproto.cbor import Cid, Value, decode, encode
from platforms.atproto.did import Curve

NOW: Final = datetime(2026, 11, 24, 12, tzinfo=UTC)
DID: Final = "did:plc:ewvi7nxzyoun6zhxrhs64oiz"
OTHER_DID: Final = "did:plc:z72i7hdynmk6r22z27h6tvur"
HANDLE: Final = "ann.example.com"
RKEY: Final = "3l6oveex3ii2l"
POST_PATH: Final = f"app.bsky.feed.post/{RKEY}"
PROFILE_PATH: Final = "app.bsky.actor.profile/self"
BASE58: Final = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
BASE32: Final = "234567abcdefghijklmnopqrstuvwxyz"
CURVES: Final[Mapping[Curve, tuple[ec.EllipticCurve, bytes]]] = {
    "P-256": (ec.SECP256R1(), b"\x80\x24"),
    "K-256": (ec.SECP256K1(), b"\xe7\x01"),
}
ORDERS: Final[Mapping[Curve, int]] = {
    "P-256": 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551,
    "K-256": 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141,
}
ANY: Final = 1_000_000
"""More values than a block here has: a test may make what a reader refuses."""
Blocks = dict[Cid, bytes]


class Signer:
    """A private key."""

    def __init__(self, curve: Curve = "P-256", secret: int = 7) -> None:
        self.curve: Curve = curve
        self._key = ec.derive_private_key(secret, CURVES[curve][0])

    @property
    def multibase(self) -> str:
        """The public key as documents have it."""
        point = self._key.public_key().public_bytes(Encoding.X962, PublicFormat.CompressedPoint)
        return "z" + base58(CURVES[self.curve][1] + point)

    def sign(self, data: bytes, *, high_s: bool = False) -> bytes:
        """A signature in low-S form, or the other one of the two that a lax check would take."""
        r, s = decode_dss_signature(self._key.sign(data, ec.ECDSA(SHA256())))
        low = min(s, ORDERS[self.curve] - s)
        s = ORDERS[self.curve] - low if high_s else low
        return r.to_bytes(32) + s.to_bytes(32)


@dataclass
class Repository:
    """One author's records by path, and how its proofs are made."""

    records: dict[str, Value] = field(default_factory=dict)
    did: str = DID
    signer: Signer = field(default_factory=Signer)
    at: datetime = NOW
    high_s: bool = False
    commit: dict[str, Value] = field(default_factory=dict)
    """Fields of the commit that are changed before it is signed."""

    def blocks(self) -> tuple[Cid, Blocks]:
        """The commit and every block."""
        blocks: Blocks = {}
        leaves = {path.encode(): put(blocks, value) for path, value in self.records.items()}
        return self.committed(tree(blocks, leaves), blocks), blocks

    def committed(self, data: Cid, blocks: Blocks) -> Cid:
        """Sign a tree."""
        unsigned: dict[str, Value] = {
            "did": self.did, "version": 3, "data": data, "rev": tid(self.at), "prev": None, **self.commit,
        }  # fmt: skip
        return put(blocks, {**unsigned, "sig": self.signer.sign(encode(unsigned), high_s=self.high_s)})

    def car(self, path: str) -> bytes:
        """The proof that a server gives for one record: commit, nodes of the path, and the record."""
        root, blocks = self.blocks()
        return car(root, (blocks[cid] for cid in proof_of(path, root, blocks)))

    def document(self, server: str, *handles: str) -> dict[str, object]:
        """The document of the DID."""
        return {
            "@context": ["https://www.w3.org/ns/did/v1"],
            "id": self.did,
            "alsoKnownAs": [f"at://{handle}" for handle in handles],
            "verificationMethod": [
                {
                    "id": f"{self.did}#atproto",
                    "type": "Multikey",
                    "controller": self.did,
                    "publicKeyMultibase": self.signer.multibase,
                }
            ],
            "service": [
                {"id": "#atproto_pds", "type": "AtprotoPersonalDataServer", "serviceEndpoint": server},
            ],
        }


def post(text: str, created_at: str = "2026-11-20T10:00:00.000Z", **more: Value) -> dict[str, Value]:
    """A post's record."""
    return {"$type": "app.bsky.feed.post", "text": text, "createdAt": created_at, **more}


def profile(name: str = "Ann Lee", *labels: str) -> dict[str, Value]:
    """A profile's record."""
    values: list[Value] = [{"val": label} for label in labels]
    stated: Value = {"$type": "com.atproto.label.defs#selfLabels", "values": values}
    return {"$type": "app.bsky.actor.profile", "displayName": name, **({"labels": stated} if labels else {})}


def base58(data: bytes) -> str:
    """Bytes without leading zeros in base 58."""
    number, text = int.from_bytes(data), ""
    while number:
        number, rest = divmod(number, 58)
        text = BASE58[rest] + text
    return text


def tid(moment: datetime, clock: int = 5) -> str:
    """The id of a moment."""
    number = ((moment - datetime.fromtimestamp(0, UTC)) // timedelta(microseconds=1)) << 10 | clock
    return "".join(BASE32[number >> shift & 31] for shift in range(60, -1, -5))


def put(blocks: Blocks, value: Value) -> Cid:
    """Keep a value under its address."""
    data = encode(value)
    blocks[Cid.of(data)] = data
    return Cid.of(data)


def height(key: bytes) -> int:
    """Leading zero bits of the hash, in pairs, counted one by one."""
    bits = "".join(f"{byte:08b}" for byte in hashlib.sha256(key).digest())
    return len(bits.partition("1")[0]) // 2


def tree(blocks: Blocks, leaves: Mapping[bytes, Cid]) -> Cid:
    """The one tree of these leaves."""
    keys = sorted(leaves)
    if not keys:
        return put(blocks, {"l": None, "e": []})
    root = _subtree(blocks, leaves, keys, max(map(height, keys)))
    assert root is not None
    return root


def _subtree(blocks: Blocks, leaves: Mapping[bytes, Cid], keys: list[bytes], layer: int) -> Cid | None:
    if not keys:
        return None
    groups: list[list[bytes]] = [[]]
    own: list[bytes] = []
    for key in keys:
        if height(key) == layer:
            own.append(key)
            groups.append([])
        else:
            groups[-1].append(key)
    below = [_subtree(blocks, leaves, group, layer - 1) for group in groups]
    entries: list[Value] = []
    previous = b""
    for key, right in zip(own, below[1:], strict=True):
        shared = max(count for count in range(len(key)) if previous[:count] == key[:count])
        entries.append({"p": shared, "k": key[shared:], "v": leaves[key], "t": right})
        previous = key
    return put(blocks, {"l": below[0], "e": entries})


def proof_of(path: str, root: Cid, blocks: Blocks) -> list[Cid]:
    """The blocks that prove a record or its absence."""
    commit = decode(blocks[root], ANY)
    assert isinstance(commit, dict)
    data = commit["data"]
    assert isinstance(data, Cid)
    wanted, found = path.encode(), [root]
    link: Value = data
    while isinstance(link, Cid):
        found.append(link)
        node = decode(blocks[link], ANY)
        assert isinstance(node, dict)
        listed = node["e"]
        assert isinstance(listed, list)
        link, key = node["l"], b""
        for entry in listed:
            assert isinstance(entry, dict)
            shared, rest, value = entry["p"], entry["k"], entry["v"]
            assert isinstance(shared, int)
            assert isinstance(rest, bytes)
            assert isinstance(value, Cid)
            key = key[:shared] + rest
            if key == wanted:
                return [*found, value]
            if key < wanted:
                link = entry["t"]
    return found


def car(root: Cid, blocks: Iterable[bytes]) -> bytes:
    """A CAR file."""
    header = encode({"version": 1, "roots": [root]})
    return section(header) + b"".join(section(Cid.of(block).binary + block) for block in blocks)


def section(data: bytes) -> bytes:
    """Bytes behind their length."""
    length, head = len(data), b""
    while length > 0x7F:
        head += bytes((length & 0x7F | 0x80,))
        length >>= 7
    return head + bytes((length,)) + data
