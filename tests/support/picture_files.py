"""The smallest files of each kind that decoders take, with any size written in their headers."""

from __future__ import annotations

import struct
import zlib

_LUMINANCE = bytes([0xFF, 0xDB, 0, 67, 0, *[1] * 64])
_CODES = bytes([1, *[0] * 15, 0])
_TABLES = b"\xff\xc4" + struct.pack(">HB", 20, 0) + _CODES + b"\xff\xc4" + struct.pack(">HB", 20, 0x10) + _CODES
_LOSSLESS = bytes.fromhex("2f00000000071011fd0f4444ff03")
_LOSSY = bytes.fromhex("3001009d012a0100010001402625a400037000fefd366800")


def png(width: int = 1, height: int = 1, *, note: bytes = b"") -> bytes:
    """A grey PNG; `note` makes files differ and grow."""
    rows = zlib.compress(b"\0" * (1 + width) * height, 1) if width * height < 60_000_000 else b"too many to write"
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    extra = png_chunk(b"tEXt", b"note\0" + note) if note else b""
    return png_of(header, rows, extra)


def png_of(header: bytes, packed: bytes, extra: bytes = b"") -> bytes:
    """A PNG of these parts, right or wrong."""
    begin, end = b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", header), png_chunk(b"IEND", b"")
    return begin + extra + png_chunk(b"IDAT", packed) + end


def jpeg(width: int = 1, height: int = 1) -> bytes:
    """A grey JPEG, whose pixels are right for one block only."""
    frame = b"\xff\xc0" + struct.pack(">HBHHB", 11, 8, height, width, 1) + bytes([1, 0x11, 0])
    scan = b"\xff\xda" + struct.pack(">HB", 8, 1) + bytes([1, 0, 0, 63, 0])
    return b"\xff\xd8" + _LUMINANCE + frame + _TABLES + scan + b"\x3f" + b"\xff\xd9"


def gif(width: int = 1, height: int = 1, *, frames: int = 1) -> bytes:
    """A GIF with a palette of two; each frame has one pixel."""
    frame = b"\x21\xf9\x04\0\0\0\0\0" + b"\x2c" + struct.pack("<HHHHB", 0, 0, 1, 1, 0) + b"\x02\x02\x44\x01\0"
    head = b"GIF89a" + struct.pack("<HHBBB", width, height, 0x80, 0, 0) + b"\0\0\0\xff\xff\xff"
    return head + frame * frames + b"\x3b"


def webp(*, lossless: bool = False) -> bytes:
    """A WebP of one pixel."""
    return _riff(_webp_chunk(b"VP8L", _LOSSLESS) if lossless else _webp_chunk(b"VP8 ", _LOSSY))


def webp_extended(width: int = 1, height: int = 1, *, animated: bool = False) -> bytes:
    """A WebP whose size stands in its own chunk."""
    size = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    return _riff(_webp_chunk(b"VP8X", bytes([2 if animated else 0, 0, 0, 0]) + size) + _webp_chunk(b"VP8L", _LOSSLESS))


def png_chunk(kind: bytes, content: bytes) -> bytes:
    """A chunk of a PNG."""
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def _webp_chunk(kind: bytes, content: bytes) -> bytes:
    return kind + struct.pack("<I", len(content)) + content + b"\0" * (len(content) % 2)


def _riff(content: bytes) -> bytes:
    return b"RIFF" + struct.pack("<I", 4 + len(content)) + b"WEBP" + content
