"""Base64, decimals and lines as C2SP writes them: one spelling for each value, and nothing else is read."""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import Final

from tlog.errors import MalformedError
from tlog.merkle import HASH_SIZE, Hash

MAX_SIZE: Final = 2**63 - 1
"""The largest size of a tree, and the largest time stamp of a cosignature."""

_DIGITS: Final = frozenset("0123456789")


def encode_base64(data: bytes) -> str:
    """Standard base64 with padding."""
    return b64encode(data).decode("ascii")


def decode_base64(text: str) -> bytes:
    """The bytes of canonical base64 with padding. Raises: MalformedError."""
    try:
        data = b64decode(text, validate=True)
    except ValueError:
        raise MalformedError(f"not base64: {text[:80]!r}") from None
    if encode_base64(data) != text:
        raise MalformedError(f"not canonical base64: {text[:80]!r}")
    return data


def decode_hash(text: str) -> Hash:
    """A hash of 32 bytes in base64. Raises: MalformedError."""
    data = decode_base64(text)
    if len(data) != HASH_SIZE:
        raise MalformedError(f"a hash has {HASH_SIZE} bytes, not {len(data)}: {text[:80]!r}")
    return data


def parse_decimal(text: str, largest: int = MAX_SIZE) -> int:
    """ASCII digits without a leading zero. Raises: MalformedError."""
    if not text or len(text) > 20 or not _DIGITS.issuperset(text) or (text[0] == "0" and text != "0"):
        raise MalformedError(f"not a decimal number: {text[:80]!r}")
    if (value := int(text)) > largest:
        raise MalformedError(f"a number above {largest}: {text}")
    return value


def decode_text(data: bytes) -> str:
    """UTF-8 without any control character but the newline. Raises: MalformedError."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise MalformedError(f"not UTF-8 at byte {error.start}") from None
    if any(character < " " and character != "\n" for character in text):
        raise MalformedError("contains a control character other than a newline")
    return text
