"""Measure a PNG's decompressed size: it must be what the header states, plus a little for other data.

A few kilobytes can decompress to gigabytes in any reader. So we decompress first, in pieces, and stop at the size that
the header allows.
Source: W3C PNG, 2.3 (sizes of passes), 5 (chunks), 11.3 (compressed ancillary chunks).
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from typing import Final

SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
MAX_ANCILLARY: Final = 4_000_000
"""Limit for the decompressed bytes of texts and colour profile together."""
_MAX_CHUNKS: Final = 200_000
_PIECE: Final = 1 << 16
_SAMPLES: Final = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
_PASSES: Final = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))


def chunks(data: bytes) -> Iterator[tuple[bytes, memoryview]]:
    """Each chunk's kind and content up to the end of the picture; ends early in a truncated file."""
    at, whole = len(SIGNATURE), memoryview(data)
    for _ in range(_MAX_CHUNKS):
        length = int.from_bytes(data[at : at + 4], "big")
        kind = data[at + 4 : at + 8]
        if at + 12 + length > len(data):
            return
        yield kind, whole[at + 8 : at + 8 + length]
        if kind == b"IEND":
            return
        at += 12 + length


def has_stated_size(data: bytes) -> bool:
    """Whether the picture is complete and decompresses to what its header states and not much more."""
    header = b""
    rows: list[memoryview] = []
    allowed = MAX_ANCILLARY
    for kind, content in chunks(data):
        if kind == b"IHDR":
            header = bytes(content)
        elif kind == b"IDAT":
            rows.append(content)
        elif kind in (b"zTXt", b"iTXt", b"iCCP"):
            size = _measure((_packed(kind, content),), allowed)
            if size is None:
                return False
            allowed -= size
    wanted = _rows_size(header)
    return wanted is not None and _measure(rows, wanted) == wanted


def _rows_size(header: bytes) -> int | None:
    """The bytes of all rows with their filter types; None if the header is invalid."""
    if len(header) != 13 or header[9] not in _SAMPLES or header[12] > 1:
        return None
    width, height = int.from_bytes(header[:4], "big"), int.from_bytes(header[4:8], "big")
    bits = _SAMPLES[header[9]] * header[8]
    if not header[12]:
        return height * (1 + (width * bits + 7) // 8)
    total = 0
    for x, y, across, down in _PASSES:
        columns, lines = -(-(width - x) // across), -(-(height - y) // down)
        if columns > 0 and lines > 0:
            total += lines * (1 + (columns * bits + 7) // 8)
    return total


def _packed(kind: bytes, content: memoryview) -> memoryview:
    """The compressed part of a chunk of text or of a colour profile."""
    _, _, after = bytes(content).partition(b"\0")
    if kind != b"iTXt":
        return memoryview(after[1:])
    return memoryview(after[2:].split(b"\0", 2)[-1] if after[:1] == b"\1" else b"")


def _measure(pieces: Iterable[memoryview], most: int) -> int | None:
    """The number of decompressed bytes; None if more than `most`, or if the stream is incomplete."""
    decompressor = zlib.decompressobj()
    size, begun = 0, False
    try:
        for content in pieces:
            rest: bytes | memoryview = content
            while len(rest) and not decompressor.eof:
                begun = True
                size += len(decompressor.decompress(rest, _PIECE))
                rest = decompressor.unconsumed_tail
                if size > most:
                    return None
        while begun and not decompressor.eof:
            more = decompressor.decompress(b"", _PIECE)
            size += len(more)
            if not more or size > most:
                return None
    except zlib.error:
        return None
    return size
