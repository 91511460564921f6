"""DIDs, their documents, and the keys in those documents."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256

from platforms.atproto.reasons import InvalidProof

_PLC = re.compile(r"did:plc:[a-z2-7]{24}")
_LABEL: Final = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_HOST: Final = rf"(?:{_LABEL}\.)+[a-z](?:[a-z0-9-]{{0,61}}[a-z0-9])?"
_WEB = re.compile(rf"did:web:({_HOST})")
_HANDLE = re.compile(_HOST)
_MAX_HOST: Final = 253
_ALPHABET: Final = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_MAX_KEY_CHARACTERS: Final = 64
_KEY_PREFIX: Final = "did:key:"
_MAX_DOCUMENT_ITEMS: Final = 64

Curve = Literal["P-256", "K-256"]
K256_ORDER: Final = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
_CURVES: Final[dict[bytes, tuple[Curve, ec.EllipticCurve, int]]] = {
    b"\x80\x24": ("P-256", ec.SECP256R1(), 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551),
    b"\xe7\x01": ("K-256", ec.SECP256K1(), K256_ORDER),
}
"""A curve's name, the curve and its order, by the multicodec of a compressed public key."""


class SigningKey(NamedTuple):
    """A public key; `multibase` is its encoding in DID documents."""

    multibase: str
    curve: Curve
    order: int
    point: ec.EllipticCurvePublicKey

    @property
    def did(self) -> str:
        """The key as `did:key`."""
        return _KEY_PREFIX + self.multibase

    def verifies(self, signature: bytes, data: bytes) -> bool:
        """Whether `signature` is a valid signature r‖s in low-S form by this key over the data's SHA-256."""
        r, s = int.from_bytes(signature[:32]), int.from_bytes(signature[32:])
        if len(signature) != 64 or not 0 < r < self.order or not 0 < s <= self.order // 2:
            return False
        try:
            self.point.verify(encode_dss_signature(r, s), data, ec.ECDSA(SHA256()))
        except InvalidSignature:
            return False
        return True


class Identity(NamedTuple):
    """The content of a DID document: the repository's key, the server that holds it, and the handles claimed."""

    did: str
    key: SigningKey
    server: str
    handles: tuple[str, ...]


def is_did(text: str) -> bool:
    """Whether `text` is a DID of a method that repositories use: `did:plc` or `did:web`."""
    return _PLC.fullmatch(text) is not None or web_host(text) is not None


def web_host(did: str) -> str | None:
    """The host of a `did:web`; None for any other text."""
    found = _WEB.fullmatch(did)
    return found[1] if found and len(found[1]) <= _MAX_HOST else None


def is_handle(text: str) -> bool:
    """Whether `text` is a handle: a host name in lower case."""
    return len(text) <= _MAX_HOST and _HANDLE.fullmatch(text) is not None


def parse_key(multibase: str) -> SigningKey:
    """Read a public key from its multibase text or a `did:key`. Raises: InvalidProof: check `did_document` fails."""
    multibase = multibase.removeprefix(_KEY_PREFIX)
    data = _base58(multibase[1:]) if multibase[:1] == "z" and len(multibase) <= _MAX_KEY_CHARACTERS else b""
    found = _CURVES.get(data[:2])
    if found is None or len(data) != 35:
        raise InvalidProof("did_document", "the key is not a compressed one of P-256 or secp256k1")
    name, curve, order = found
    try:
        point = ec.EllipticCurvePublicKey.from_encoded_point(curve, data[2:])
    except ValueError:
        raise InvalidProof("did_document", "the key is no point of its curve") from None
    return SigningKey(multibase, name, order, point)


def format_key(curve: Curve, point: bytes) -> str:
    """The multibase text of a compressed public key, as in a DID document."""
    prefix = next(prefix for prefix, (name, *_) in _CURVES.items() if name == curve)
    number, text = int.from_bytes(prefix + point), ""
    while number:
        number, place = divmod(number, 58)
        text = _ALPHABET[place] + text
    return f"z{text}"


def parse_document(document: object, did: str) -> Identity:
    """Read the document of a DID. Raises: InvalidProof: check `did_document` fails."""
    if not isinstance(document, dict) or document.get("id") != did:
        raise InvalidProof("did_document", "the document is of another DID")
    key = next((each.get("publicKeyMultibase") for each in _named(document, "verificationMethod", "atproto")), None)
    server = next(
        (
            each.get("serviceEndpoint")
            for each in _named(document, "service", "atproto_pds")
            if each.get("type") == "AtprotoPersonalDataServer"
        ),
        None,
    )
    if not isinstance(key, str) or not isinstance(server, str):
        raise InvalidProof("did_document", "the document names no key or no server of a repository")
    names = document.get("alsoKnownAs")
    handles = tuple(
        name.removeprefix("at://").lower()
        for name in (names if isinstance(names, list) else [])[:_MAX_DOCUMENT_ITEMS]
        if isinstance(name, str) and name.startswith("at://")
    )
    return Identity(did, parse_key(key), server, tuple(filter(is_handle, handles)))


def _named(document: dict[str, object], listed: str, name: str) -> Iterator[dict[str, object]]:
    """The items of the list `listed` whose id is `#name`, alone or after the document's own DID."""
    items = document.get(listed)
    for each in (items if isinstance(items, list) else [])[:_MAX_DOCUMENT_ITEMS]:
        if isinstance(each, dict) and each.get("id") in (f"#{name}", f"{document['id']}#{name}"):
            yield each


def _base58(text: str) -> bytes:
    number = 0
    for character in text:
        place = _ALPHABET.find(character)
        if place < 0:
            return b""
        number = number * 58 + place
    return number.to_bytes((number.bit_length() + 7) // 8)
