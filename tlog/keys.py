"""Keys that sign notes and verify signatures (C2SP signed-note, tlog-cosignature).

Randomness and time come from the caller. A cosignature states a time; its value is eight bytes of the time, then the
signature.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum
from hashlib import sha256
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.mldsa import MLDSA44PrivateKey, MLDSA44PublicKey

from tlog.checkpoint import Checkpoint
from tlog.encoding import MAX_SIZE, decode_base64, encode_base64
from tlog.errors import MalformedError, SignatureError
from tlog.note import KEY_ID_BYTES, Note, Signature, check_name

SEED_BYTES: Final = 32

_TIME_BYTES: Final = 8
_ID: Final = re.compile(r"[0-9a-f]{8}")
_PRIVATE: Final = "PRIVATE+KEY+"


class Algorithm(IntEnum):
    """What a key signs, and how. Shapes: the values are those that C2SP assigned."""

    ED25519 = 0x01
    """The text of a note: how a log signs."""
    COSIGNATURE = 0x04
    """`cosignature/v1`: the text of a checkpoint and a time, with Ed25519."""
    ML_DSA_44 = 0x06
    """`subtree/v1`: name, time, origin, size and root of a checkpoint, with ML-DSA-44; by logs and by witnesses."""

    @property
    def public_bytes(self) -> int:
        """The length of a public key."""
        return 1312 if self is Algorithm.ML_DSA_44 else 32

    @property
    def signature_bytes(self) -> int:
        """The length of a signature, with the time."""
        return {Algorithm.ED25519: 64, Algorithm.COSIGNATURE: 72, Algorithm.ML_DSA_44: 2428}[self]


@dataclass(frozen=True, slots=True)
class VerifierKey:
    """A public key with its name; written as a vkey: `name+id+base64(algorithm, key)`."""

    name: str
    algorithm: Algorithm
    public: bytes

    def __post_init__(self) -> None:
        """Raises: MalformedError: the name or the length is wrong."""
        check_name(self.name)
        if len(self.public) != self.algorithm.public_bytes:
            raise MalformedError(
                f"a key of {self.name} has {len(self.public)} bytes, not {self.algorithm.public_bytes}"
            )

    @classmethod
    def parse(cls, vkey: str) -> VerifierKey:
        """The key of a vkey, if its algorithm is known here. Raises: MalformedError."""
        name, key_id, data = _split(vkey)
        key = cls(name, _algorithm(data[0]), data[1:])
        if key_id != key.key_id:
            raise MalformedError(f"the id of the key of {name} is {key.key_id.hex()}, not {key_id.hex()}")
        return key

    def __str__(self) -> str:
        """The vkey."""
        return f"{self.name}+{self.key_id.hex()}+{encode_base64(bytes([self.algorithm]) + self.public)}"

    @property
    def key_id(self) -> bytes:
        """Four bytes that, with the name, tell which key made a signature."""
        prefix = f"{self.name}\n".encode() + bytes([self.algorithm])
        return sha256(prefix + self.public).digest()[:KEY_ID_BYTES]

    def verify(self, text: str, signature: Signature) -> int | None:
        """Check a signature by this key; the POSIX time that it states, or None if it states none.

        Raises: SignatureError: it is by another key, or does not verify. MalformedError: the cosigned text is not a
        checkpoint.
        """
        if (signature.name, signature.key_id) != (self.name, self.key_id):
            raise SignatureError(f"not a signature by {self.name}")
        value = signature.value
        if len(value) != self.algorithm.signature_bytes:
            raise SignatureError(f"a signature by {self.name} has {len(value)} bytes")
        time = None if self.algorithm is Algorithm.ED25519 else int.from_bytes(value[:_TIME_BYTES], "big")
        if time is not None and time > MAX_SIZE:
            raise SignatureError(f"a signature by {self.name} states an impossible time")
        message = _message(self.name, self.algorithm, text, time)
        try:
            if self.algorithm is Algorithm.ML_DSA_44:
                MLDSA44PublicKey.from_public_bytes(self.public).verify(value[_TIME_BYTES:], message)
            else:
                Ed25519PublicKey.from_public_bytes(self.public).verify(value[-64:], message)
        except (InvalidSignature, ValueError):
            raise SignatureError(f"a signature by {self.name} does not verify") from None
        return time


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A private key with its name; written as `PRIVATE+KEY+name+id+base64(algorithm, seed)`, as Go's notes do."""

    name: str
    algorithm: Algorithm
    seed: bytes = field(repr=False)

    def __post_init__(self) -> None:
        """Raises: MalformedError: the name or the length is wrong."""
        check_name(self.name)
        if len(self.seed) != SEED_BYTES:
            raise MalformedError(f"the private key of {self.name} does not have {SEED_BYTES} bytes")

    @classmethod
    def parse(cls, text: str) -> SigningKey:
        """A private key from a file's text, without a newline. Raises: MalformedError, whose message omits the key."""
        if not text.startswith(_PRIVATE):
            raise MalformedError(f"a private key starts with {_PRIVATE}")
        try:
            name, key_id, data = _split(text.removeprefix(_PRIVATE))
            key = cls(name, _algorithm(data[0]), data[1:])
        except MalformedError:
            raise MalformedError("not a private key of a known algorithm") from None
        if key_id != key.verifier.key_id:
            raise MalformedError(f"the id does not match the private key of {name}")
        return key

    def secret(self) -> str:
        """The private key as it is written to a file."""
        data = encode_base64(bytes([self.algorithm]) + self.seed)
        return f"{_PRIVATE}{self.name}+{self.verifier.key_id.hex()}+{data}"

    @property
    def verifier(self) -> VerifierKey:
        """The public key."""
        if self.algorithm is Algorithm.ML_DSA_44:
            public = MLDSA44PrivateKey.from_seed_bytes(self.seed).public_key().public_bytes_raw()
        else:
            public = Ed25519PrivateKey.from_private_bytes(self.seed).public_key().public_bytes_raw()
        return VerifierKey(self.name, self.algorithm, public)

    def sign(self, text: str, time: int | None = None) -> Signature:
        """A signature line for a text that ends in a newline.

        `time` is the POSIX time, which cosignatures state and plain signatures do not.
        Raises: ValueError: `time` is missing, superfluous or too large. MalformedError: a cosigned text is not a
        checkpoint.
        """
        if (time is None) != (self.algorithm is Algorithm.ED25519):
            raise ValueError("cosignatures state a time, and plain signatures do not")
        stated = b"" if time is None else time.to_bytes(_TIME_BYTES, "big")
        message = _message(self.name, self.algorithm, text, time)
        if self.algorithm is Algorithm.ML_DSA_44:
            signed = MLDSA44PrivateKey.from_seed_bytes(self.seed).sign(message)
        else:
            signed = Ed25519PrivateKey.from_private_bytes(self.seed).sign(message)
        return Signature(self.name, self.verifier.key_id, stated + signed)


@dataclass(frozen=True, slots=True)
class Verified:
    """A signature that was verified, with its key and the POSIX time that it states."""

    key: VerifierKey
    signature: Signature
    time: int | None


def verify_note(note: Note, keys: Iterable[VerifierKey]) -> tuple[Verified, ...]:
    """The signatures of a note that known keys made; those of unknown keys are ignored.

    Raises: SignatureError: there is none, or one names a known key and does not verify.
    """
    known = {(key.name, key.key_id): key for key in keys}
    verified = tuple(
        Verified(key, each, key.verify(note.text, each))
        for each in note.signatures
        if (key := known.get((each.name, each.key_id)))
    )
    if not verified:
        raise SignatureError("the note has no signature by a known key")
    return verified


def _message(name: str, algorithm: Algorithm, text: str, time: int | None) -> bytes:
    """The bytes that are signed."""
    if algorithm is Algorithm.ED25519:
        return text.encode()
    checkpoint = Checkpoint.parse(text)
    if algorithm is Algorithm.COSIGNATURE:
        return f"cosignature/v1\ntime {time}\n{text}".encode()
    parts = (b"subtree/v1\n\x00", _opaque(name), (time or 0).to_bytes(8, "big"), _opaque(checkpoint.origin), bytes(8))
    return b"".join((*parts, checkpoint.size.to_bytes(8, "big"), checkpoint.root))


def _opaque(text: str) -> bytes:
    """A text with its length in one byte before it. Raises: MalformedError."""
    data = text.encode()
    if not 0 < len(data) < 256:
        raise MalformedError("ML-DSA signs names and origins of 1 to 255 bytes")
    return bytes([len(data)]) + data


def _algorithm(byte: int) -> Algorithm:
    try:
        return Algorithm(byte)
    except ValueError:
        raise MalformedError(f"keys of the algorithm 0x{byte:02x} are not supported") from None


def _split(key: str) -> tuple[str, bytes, bytes]:
    parts = key.split("+", 2)
    if len(parts) != 3 or not _ID.fullmatch(parts[1]):
        raise MalformedError(f"a key has the form name+id+key: {key[:80]!r}")
    data = decode_base64(parts[2])
    if not data:
        raise MalformedError(f"a key has the form name+id+key: {key[:80]!r}")
    return check_name(parts[0]), bytes.fromhex(parts[1]), data
