"""Assign posts to buckets. Pure.

All posts of all sites share one space of hashes, and all readers use the same number of bits: the fewer bits, the more
posts share a bucket, and the less a request reveals.
"""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Final

POSTS_A_BUCKET: Final = 16
"""The most posts with findings per bucket, on average."""
MOST_BITS: Final = 16
KEY_BYTES: Final = 32
WHOLE: Final = "all"
"""The name of the only bucket of the layout with 0 bits."""
_SPACE: Final = "openerrata/post/1"
_LAYOUT: Final = re.compile(r"b(0|[1-9][0-9]?)")
_PREFIX: Final = re.compile(r"[0-9a-f]{1,4}")


def post_key(platform: str, external_id: str) -> bytes:
    """The key of a post; its first bits are the number of its bucket."""
    return sha256(f"{_SPACE}|{platform}|{external_id}".encode()).digest()


def clear_mark(key: bytes, content_hash: str) -> str:
    """The mark in a bucket for a version without findings; too short to look a text up by."""
    return sha256(key + bytes.fromhex(content_hash)).hexdigest()[:16]


def find_bits(posts: int) -> int:
    """The fewest bits with which buckets have at most POSTS_A_BUCKET posts with findings, on average."""
    buckets = -(-max(posts, 1) // POSTS_A_BUCKET)
    return min((buckets - 1).bit_length(), MOST_BITS)


def adjust_bits(bits: int, posts: int) -> int:
    """The bits to use after `bits`: more once buckets are too full, fewer only when they are less than a quarter full.

    So the layout does not alternate when the number of posts is near a boundary.
    """
    wanted = find_bits(posts)
    return wanted if wanted > bits or posts * 4 < POSTS_A_BUCKET << bits else bits


def layout_name(bits: int) -> str:
    """The name of a layout in addresses."""
    return f"b{bits}"


def parse_layout(name: str) -> int | None:
    """The bits of a layout, None if there is no such layout."""
    match = _LAYOUT.fullmatch(name)
    bits = int(match[1]) if match else MOST_BITS + 1
    return bits if bits <= MOST_BITS else None


def bucket_of(key: bytes, bits: int) -> int:
    """The number of the bucket of a key."""
    return int.from_bytes(key[:2]) >> (16 - bits)


def format_prefix(bucket: int, bits: int) -> str:
    """The name of a bucket: its bits as hexadecimal digits, the last one filled up with zeros."""
    digits = _digits(bits)
    return f"{bucket << (4 * digits - bits):0{digits}x}" if digits else WHOLE


def parse_prefix(name: str, bits: int) -> int | None:
    """The number of a bucket, None if the layout has no such bucket."""
    if bits == 0:
        return 0 if name == WHOLE else None
    if not _PREFIX.fullmatch(name) or len(name) != _digits(bits):
        return None
    bucket, rest = divmod(int(name, 16), 1 << (4 * len(name) - bits))
    return bucket if rest == 0 else None


def key_range(bucket: int, bits: int) -> tuple[bytes, bytes]:
    """The first and the last key of a bucket."""
    first = bucket << (16 - bits)
    last = first + (1 << (16 - bits)) - 1
    return first.to_bytes(2) + bytes(KEY_BYTES - 2), last.to_bytes(2) + b"\xff" * (KEY_BYTES - 2)


def _digits(bits: int) -> int:
    return -(-bits // 4)
