"""Letters as small pictures, for pictures that are made here: drawn once by `tests.support.draw_letters`.

A letter that was not drawn cannot be written, so whoever writes asks `writable` first.
"""

from __future__ import annotations

import struct
import unicodedata
import zlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

FILE: Final = Path(__file__).parent / "static" / "letters.bin"
LEVELS: Final = 16
"""From nothing to full ink."""
_HEAD: Final = struct.Struct("<IHBBbb")


@dataclass(frozen=True, slots=True)
class Letter:
    """One letter. Units: pixels from the pen's place on the line; `advance` in sixteenths of a pixel."""

    advance: int
    left: int
    top: int
    rows: tuple[bytes, ...]


@cache
def letters() -> dict[str, Letter]:
    """All letters there are."""
    data = zlib.decompress(FILE.read_bytes())
    found: dict[str, Letter] = {}
    at = 0
    while at < len(data):
        code, advance, width, height, left, top = _HEAD.unpack_from(data, at)
        at += _HEAD.size
        size = width * height // 2
        levels = bytes(level for pair in data[at : at + size] for level in (pair >> 4, pair & 15))
        at += size
        rows = tuple(levels[y * width : (y + 1) * width] for y in range(height))
        found[chr(code)] = Letter(advance, left, top, rows)
    return found


def writable(text: str) -> str:
    """The text as far as it can be written: unknown accents are dropped, other unknown signs become dots."""
    known = letters()
    return "".join(each if each in known else _plainer(each) for each in " ".join(text.split()))


def _plainer(sign: str) -> str:
    base = unicodedata.normalize("NFKD", sign)[:1]
    if base in letters():
        return base
    return "" if unicodedata.category(sign) in ("Cf", "Mn", "Cc") else "·"


def width(text: str) -> int:
    """How wide a writable text is. Units: pixels."""
    known = letters()
    return sum(known[each].advance for each in text) // 16


def lines(text: str, room: int, most: int) -> list[str]:
    """A writable text in lines no wider than `room`; what does not fit in `most` lines ends with an ellipsis."""
    broken: list[str] = []
    line = ""
    for word in text.split(" "):
        longer = f"{line} {word}" if line else word
        if width(longer) <= room:
            line = longer
            continue
        if line:
            broken.append(line)
        while width(word) > room:
            cut = next(n for n in range(len(word), 0, -1) if width(word[:n]) <= room)
            broken.append(word[:cut])
            word = word[cut:]
        line = word
        if len(broken) > most:
            break
    broken += [line] if line else []
    if len(broken) <= most:
        return broken
    last = broken[most - 1]
    while last and width(f"{last}…") > room:
        last = last[:-1]
    return [*broken[: most - 1], f"{last.rstrip()}…"]
