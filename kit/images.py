"""The format and size of an image from its headers, without decoding pixels.

Only a PNG's data is decompressed, to measure it. Hostile files attack decoders: Pillow has one in C for each format,
and would decode what we only measure. Images that a provider would refuse (truncated, animated, enormous) are refused
here, since one bad image fails the whole request.
Source: ITU T.81, W3C PNG, GIF89a, RFC 9649 (WebP).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from kit import png

MediaType = Literal["image/jpeg", "image/png", "image/gif", "image/webp"]
Fault = Literal["not_a_picture", "broken", "animated", "too_many_pixels"]

MAX_PIXELS: Final = 50_000_000
MEDIA_TYPES: Final[tuple[MediaType, ...]] = ("image/jpeg", "image/png", "image/gif", "image/webp")
_MAX_BLOCKS: Final = 200_000
"""Limit of chunks, segments or blocks: a 20 MB GIF has 80,000 full ones, a hostile file millions of empty ones."""
_WITHOUT_LENGTH: Final = frozenset({0x01, *range(0xD0, 0xD8)})
_FRAMES: Final = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


class UnusablePicture(ValueError):
    """These bytes cannot be used as a picture; `fault` is the reason."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault)
        self.fault: Fault = fault


@dataclass(frozen=True, slots=True)
class Head:
    """Format and size of a picture. Units: pixels."""

    media_type: MediaType
    width: int
    height: int


def inspect(data: bytes, *, max_pixels: int = MAX_PIXELS) -> Head:
    """Read format and size. Raises: UnusablePicture."""
    try:
        head = _read_header(data)
    except IndexError:
        raise UnusablePicture("broken") from None
    if head.width < 1 or head.height < 1:
        raise UnusablePicture("broken")
    if head.width * head.height > max_pixels:
        raise UnusablePicture("too_many_pixels")
    if head.media_type == "image/png" and not png.has_stated_size(data):
        raise UnusablePicture("broken")
    return head


def _read_header(data: bytes) -> Head:
    if data.startswith(b"\xff\xd8\xff"):
        return _jpeg(data)
    if data.startswith(png.SIGNATURE):
        return _png(data)
    if data.startswith((b"GIF87a", b"GIF89a")):
        return _gif(data)
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return _webp(data)
    raise UnusablePicture("not_a_picture")


def _jpeg(data: bytes) -> Head:
    size: tuple[int, int] | None = None
    for at, marker in _segments(data):
        if marker in _FRAMES:
            size = _number(data, at + 5, 2, "big"), _number(data, at + 3, 2, "big")
        elif marker == 0xDA:
            if size is None or data.find(b"\xff\xd9", at) < 0:
                break
            return Head("image/jpeg", *size)
    raise UnusablePicture("broken")


def _segments(data: bytes) -> Iterator[tuple[int, int]]:
    """Each segment's marker with the offset of its length."""
    at = 2
    for _ in range(_MAX_BLOCKS):
        if data[at] != 0xFF:
            return
        marker = data[at + 1]
        if marker == 0xFF:  # fill
            at += 1
            continue
        at += 2
        if marker in _WITHOUT_LENGTH:
            continue
        yield at, marker
        at += max(2, _number(data, at, 2, "big"))


def _png(data: bytes) -> Head:
    if data[12:16] != b"IHDR":
        raise UnusablePicture("broken")
    has_pixels = False
    for kind, _ in png.chunks(data):
        if kind == b"acTL":
            raise UnusablePicture("animated")
        if kind == b"IEND" and has_pixels:
            return Head("image/png", _number(data, 16, 4, "big"), _number(data, 20, 4, "big"))
        has_pixels = has_pixels or kind == b"IDAT"
    raise UnusablePicture("broken")


def _gif(data: bytes) -> Head:
    width, height = _number(data, 6, 2, "little"), _number(data, 8, 2, "little")
    at = 13 + _colours(data[10])
    frames = 0
    pieces = iter(range(_MAX_BLOCKS))
    for _ in pieces:
        match data[at]:
            case 0x21:
                at = _after_blocks(data, at + 2, pieces)
            case 0x2C:
                frames += 1
                if frames > 1:
                    raise UnusablePicture("animated")
                width = max(width, _number(data, at + 1, 2, "little") + _number(data, at + 5, 2, "little"))
                height = max(height, _number(data, at + 3, 2, "little") + _number(data, at + 7, 2, "little"))
                at = _after_blocks(data, at + 11 + _colours(data[at + 9]), pieces)
            case 0x3B if frames:
                return Head("image/gif", width, height)
            case _:
                break
    raise UnusablePicture("broken")


def _colours(flags: int) -> int:
    return 3 * 2 ** ((flags & 7) + 1) if flags & 0x80 else 0


def _after_blocks(data: bytes, at: int, pieces: Iterator[int]) -> int:
    for _ in pieces:
        size = data[at]
        at += 1 + size
        if size == 0:
            return at
    raise UnusablePicture("broken")


def _webp(data: bytes) -> Head:
    if 8 + _number(data, 4, 4, "little") > len(data):
        raise UnusablePicture("broken")
    match data[12:16]:
        case b"VP8 " if data[23:26] == b"\x9d\x01\x2a":
            width, height = _number(data, 26, 2, "little"), _number(data, 28, 2, "little")
            return Head("image/webp", width & 0x3FFF, height & 0x3FFF)
        case b"VP8L" if data[20] == 0x2F:
            packed = _number(data, 21, 4, "little")
            return Head("image/webp", (packed & 0x3FFF) + 1, (packed >> 14 & 0x3FFF) + 1)
        case b"VP8X":
            if data[20] & 0x02:
                raise UnusablePicture("animated")
            return Head("image/webp", _number(data, 24, 3, "little") + 1, _number(data, 27, 3, "little") + 1)
    raise UnusablePicture("broken")


def _number(data: bytes, at: int, size: int, order: Literal["big", "little"]) -> int:
    digits = data[at : at + size]
    if len(digits) < size:
        raise UnusablePicture("broken")
    return int.from_bytes(digits, order)
