"""The preview picture of a shared page: the marked sentence, its correction, and the post.

A wrong sentence is never shown without its correction: if there is no room for both, the sentence is cut. The PNG is
written without a library: a small palette, rows of bytes, and zlib. A demonstration's picture is labelled.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from math import sin, tau
from typing import Final

from services.gateway.public.site import naming
from services.gateway.public.site.cards import name_post
from services.gateway.public.site.glyphs import LEVELS, load_glyphs, measure_width, to_writable, wrap_lines
from services.gateway.record.investigations import Card

WIDTH: Final = 1200
HEIGHT: Final = 630
MARGIN: Final = 88
LEADING: Final = 68
BELOW: Final = 18
"""The wave's distance below the baseline, deeper than any descender."""
QUOTE_LINES: Final = 3
CORRECTION_LINES: Final = 2
MOST_UNKNOWN: Final = 0.2

_PAPER: Final = (252, 251, 248)
_INKS: Final = ((29, 27, 24), (179, 38, 30), (95, 90, 82))
_INK, _RED, _SOFT = range(3)
_WAVE_PX: Final = 14


def draw_card(row: Card) -> bytes:
    """Draw the picture of one investigation, as PNG."""
    canvas = [bytearray(WIDTH) for _ in range(HEIGHT)]
    for y in (*range(14), *range(HEIGHT - 2, HEIGHT)):
        canvas[y][:] = bytes([_ink(_RED, LEVELS - 1)]) * WIDTH
    _write(canvas, MARGIN, 108, "OpenErrata", _INK)
    _wave(canvas, MARGIN + measure_width("Open"), 108 + BELOW, measure_width("Errata"))
    if naming.is_demo(row.provider):
        _write(canvas, WIDTH - MARGIN - measure_width("DEMO"), 108, "DEMO", _RED)
    quote, corrected = _lines_of(row)
    top = 232 + (QUOTE_LINES + CORRECTION_LINES - len(quote) - len(corrected)) * LEADING // 3
    for line in quote:
        _write(canvas, MARGIN, top, line, _INK)
        if corrected:
            _wave(canvas, MARGIN, top + BELOW, measure_width(line))
        top += LEADING
    for line in corrected:
        _write(canvas, MARGIN, top + 10, line, _SOFT)
        top += LEADING - 10
    found = len(row.claims)
    nothing = "Nothing shown as wrong" if row.withdrawn else "Nothing found wrong"
    result = naming.count(found, "error") if found else nothing
    where = f"{result} · {naming.platform_name(row.platform)} · {naming.day(row.checked_at)}"
    _write(canvas, MARGIN, HEIGHT - 52 - LEADING // 2, to_writable(where), _RED)
    _write(
        canvas,
        MARGIN,
        HEIGHT - 32,
        to_writable(naming.capitalise(naming.describe_backing(row, row.platform))),
        _SOFT,
    )
    return _png(canvas)


def _lines_of(row: Card) -> tuple[list[str], list[str]]:
    """The lines of the sentence and of its correction."""
    room = WIDTH - 2 * MARGIN
    where = f"a post on {naming.platform_name(row.platform)}"
    if not row.claims:
        return wrap_lines(_legible(name_post(row), where), room, QUOTE_LINES), []
    first = row.claims[0]
    quote = _legible(first.text, f"A sentence in {where}")
    corrected = _legible(first.summary, "It is wrong; the page says why.")
    return wrap_lines(quote, room, QUOTE_LINES), wrap_lines(corrected, room, CORRECTION_LINES)


def _legible(text: str, otherwise: str) -> str:
    quote = to_writable(naming.capitalise(naming.excerpt(text, 400)))
    return to_writable(otherwise) if not quote or quote.count("·") > MOST_UNKNOWN * len(quote) else quote


def _ink(ink: int, level: int) -> int:
    return 0 if level == 0 else 1 + ink * (LEVELS - 1) + level - 1


_TABLES: Final = tuple(bytes(_ink(ink, level) if level < LEVELS else 0 for level in range(256)) for ink in range(3))


def _write(canvas: Sequence[bytearray], x: int, y: int, text: str, ink: int) -> None:
    glyphs, pen = load_glyphs(), x * 16
    for each in text:
        glyph = glyphs[each]
        left = pen // 16 + glyph.left
        for n, levels in enumerate(glyph.rows):
            row = canvas[y + glyph.top + n]
            row[left : left + len(levels)] = levels.translate(_TABLES[ink])
        pen += glyph.advance


def _wave(canvas: Sequence[bytearray], x: int, y: int, length: int) -> None:
    for n in range(-6, 7):
        tile = bytes(
            _ink(_RED, max(0, min(LEVELS - 1, round((2.6 - abs(n - 3.2 * sin(tau * at / _WAVE_PX))) * 9))))
            for at in range(_WAVE_PX)
        )
        canvas[y + n][x : x + length] = (tile * (length // _WAVE_PX + 1))[:length]


def _png(canvas: Sequence[bytearray]) -> bytes:
    """Source: W3C, Portable Network Graphics, sections 5 and 11."""
    palette = bytes(_PAPER) + b"".join(
        bytes(round(paper + (full - paper) * level / (LEVELS - 1)) for paper, full in zip(_PAPER, ink, strict=True))
        for ink in _INKS
        for level in range(1, LEVELS)
    )
    size = WIDTH.to_bytes(4, "big") + HEIGHT.to_bytes(4, "big")
    pixels = zlib.compress(b"".join(b"\0" + row for row in canvas), 6)
    chunks = ((b"IHDR", size + bytes((8, 3, 0, 0, 0))), (b"PLTE", palette), (b"IDAT", pixels), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big") for kind, data in chunks
    )
