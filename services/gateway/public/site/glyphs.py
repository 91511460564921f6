"""A bitmap font for preview pictures, drawn once by `tests.support.draw_glyphs`.

Only characters with a glyph can be written, so texts pass `to_writable` first.
"""

from __future__ import annotations

import struct
import unicodedata
import zlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

FILE: Final = Path(__file__).parent / "static" / "glyphs.bin"
LEVELS: Final = 16
"""Levels of ink, from none to full."""
_HEAD: Final = struct.Struct("<IHBBbb")


@dataclass(frozen=True, slots=True)
class Glyph:
    """One glyph. Units: pixels from the pen on the baseline; `advance` in sixteenths of a pixel."""

    advance: int
    left: int
    top: int
    rows: tuple[bytes, ...]


@cache
def load_glyphs() -> dict[str, Glyph]:
    """Load all glyphs, by character."""
    data = zlib.decompress(FILE.read_bytes())
    found: dict[str, Glyph] = {}
    at = 0
    while at < len(data):
        code, advance, width, height, left, top = _HEAD.unpack_from(data, at)
        at += _HEAD.size
        size = width * height // 2
        levels = bytes(level for pair in data[at : at + size] for level in (pair >> 4, pair & 15))
        at += size
        rows = tuple(levels[y * width : (y + 1) * width] for y in range(height))
        found[chr(code)] = Glyph(advance, left, top, rows)
    return found


def to_writable(text: str) -> str:
    """Replace characters without a glyph: accents are dropped, others become dots."""
    glyphs = load_glyphs()
    return "".join(each if each in glyphs else _substitute(each) for each in " ".join(text.split()))


def _substitute(sign: str) -> str:
    base = unicodedata.normalize("NFKD", sign)[:1]
    if base in load_glyphs():
        return base
    return "" if unicodedata.category(sign) in ("Cf", "Mn", "Cc") else "·"


def measure_width(text: str) -> int:
    """The width of a writable text. Units: pixels."""
    glyphs = load_glyphs()
    return sum(glyphs[each].advance for each in text) // 16


def wrap_lines(text: str, room: int, most: int) -> list[str]:
    """Wrap a writable text to lines no wider than `room`; beyond `most` lines it ends with an ellipsis."""
    broken: list[str] = []
    line = ""
    for word in text.split(" "):
        longer = f"{line} {word}" if line else word
        if measure_width(longer) <= room:
            line = longer
            continue
        if line:
            broken.append(line)
        while measure_width(word) > room:
            cut = next(n for n in range(len(word), 0, -1) if measure_width(word[:n]) <= room)
            broken.append(word[:cut])
            word = word[cut:]
        line = word
        if len(broken) > most:
            break
    broken += [line] if line else []
    if len(broken) <= most:
        return broken
    last = broken[most - 1]
    while last and measure_width(f"{last}…") > room:
        last = last[:-1]
    return [*broken[: most - 1], f"{last.rstrip()}…"]
