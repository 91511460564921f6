"""Frame a document of the private look-ups: compressed, and padded so that its size reveals little. Pure."""

from __future__ import annotations

import gzip
import zlib
from typing import Final

PADDED: Final = 32 * 1024
"""The length of every body is a multiple of this. Units: bytes."""
LARGEST: Final = 16 * 1024 * 1024
"""The most bytes of a document, so that a small body cannot become a huge document."""
_LENGTH_BYTES: Final = 4
_GZIP: Final = 31


class FrameInvalid(ValueError):
    """The bytes are not a body of the private look-ups."""


def frame(document: bytes) -> bytes:
    """The body of a document: its compressed length, the compressed document, and zeros."""
    packed = gzip.compress(document, 9, mtime=0)
    size = _LENGTH_BYTES + len(packed)
    return len(packed).to_bytes(_LENGTH_BYTES) + packed + bytes(-size % PADDED)


def unframe(body: bytes) -> bytes:
    """The document in a body. Raises: FrameInvalid."""
    end = _LENGTH_BYTES + int.from_bytes(body[:_LENGTH_BYTES])
    if not body or len(body) % PADDED or end > len(body) or len(body) - end >= PADDED:
        raise FrameInvalid(f"a body of {len(body)} bytes does not hold {end}")
    if body[end:].strip(b"\0"):
        raise FrameInvalid("the padding is not zero")
    unpacking = zlib.decompressobj(_GZIP)
    try:
        document = unpacking.decompress(body[_LENGTH_BYTES:end], LARGEST)
    except zlib.error as error:
        raise FrameInvalid(str(error)) from error
    if not unpacking.eof or unpacking.unused_data:
        raise FrameInvalid("the compressed document is cut off, too long, or not alone")
    return document
