"""Labels: signed statements about records, and the frames of their stream. Pure.

A signature depends on the key and the fields alone, so a label has the same bytes whenever it is served.
Source: the protocol's specifications of labels and event streams; RFC 6979.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from platforms.atproto.cbor import Value, encode
from platforms.atproto.did import K256_ORDER, format_key

VERSION: Final = 1
KEY_BYTES: Final = 32


@dataclass(frozen=True, slots=True, repr=False)
class LabelKey:
    """A labeler's private key `#atproto_label`, on the curve secp256k1."""

    secret: ec.EllipticCurvePrivateKey

    @classmethod
    def parse(cls, hexadecimal: str) -> LabelKey:
        """Read 32 bytes in hexadecimal. Raises: ValueError: the text is not that, or not a key of the curve."""
        secret = bytes.fromhex(hexadecimal)
        if len(secret) != KEY_BYTES:
            raise ValueError(f"a key has {KEY_BYTES} bytes, this one has {len(secret)}")
        return cls(ec.derive_private_key(int.from_bytes(secret), ec.SECP256K1()))

    @property
    def multibase(self) -> str:
        """The public key's multibase text, as in a DID document."""
        point = self.secret.public_key().public_bytes(Encoding.X962, PublicFormat.CompressedPoint)
        return format_key("K-256", point)

    def sign(self, data: bytes) -> bytes:
        """Sign the data's SHA-256: low-S signature r‖s with the deterministic nonce of RFC 6979."""
        r, s = decode_dss_signature(self.secret.sign(data, ec.ECDSA(SHA256(), deterministic_signing=True)))
        return r.to_bytes(32) + min(s, K256_ORDER - s).to_bytes(32)


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """A labeler's statement about one record with one content; `neg` takes it back."""

    src: str
    uri: str
    cid: str
    val: str
    neg: bool
    cts: datetime
    exp: datetime

    def sign(self, key: LabelKey) -> dict[str, Value]:
        """The label with its signature."""
        fields: dict[str, Value] = {
            "ver": VERSION,
            "src": self.src,
            "uri": self.uri,
            "cid": self.cid,
            "val": self.val,
            "cts": _format(self.cts),
            "exp": _format(self.exp),
        }
        if self.neg:
            fields["neg"] = True
        return {**fields, "sig": key.sign(encode(fields))}


def to_json(signed: dict[str, Value]) -> dict[str, object]:
    """The signed label for JSON, which represents bytes as a `$bytes` object."""
    return {
        name: {"$bytes": base64.b64encode(value).decode().rstrip("=")} if isinstance(value, bytes) else value
        for name, value in signed.items()
    }


def encode_labels(sequence: int, labels: Sequence[dict[str, Value]]) -> bytes:
    """Encode a frame of the stream that carries signed labels."""
    return encode({"op": 1, "t": "#labels"}) + encode({"seq": sequence, "labels": list(labels)})


def encode_error(name: str, message: str) -> bytes:
    """Encode the error frame that ends a stream."""
    return encode({"op": -1}) + encode({"error": name, "message": message})


def _format(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
