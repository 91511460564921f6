"""`python -m tests.support.draw_glyphs`: draws the letters of shared pictures, once, with a real browser.

The server has no font and needs none: it copies these drawings. They are of DejaVu Serif, whose licence lets anybody
use and change its letters.
"""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import sync_playwright

from services.gateway.public.site.glyphs import FILE, LEVELS
from tests.browser.chromium import FLAGS, executable

SIZE_PX: Final = 42
FONT: Final = f"{SIZE_PX}px 'DejaVu Serif'"
RANGES: Final = ((0x20, 0x7E), (0xA0, 0x17F), (0x386, 0x3CE), (0x400, 0x45F))
SIGNS: Final = "‐‑–—‘’‚“”„†•…‹›€™−≈≤≥"

DRAW: Final = """([font, texts, size]) => texts.map((text) => {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 3 * size;
  const paper = canvas.getContext("2d", { willReadFrequently: true });
  paper.font = font;
  paper.fillText(text, size, 2 * size);
  const alpha = Array.from(paper.getImageData(0, 0, 3 * size, 3 * size).data).filter((_, n) => n % 4 === 3);
  return { advance: paper.measureText(text).width, alpha };
})"""


def packed(code: int, drawn: dict[str, Any]) -> bytes:
    """One letter: what is empty around it is left out, and two levels share a byte."""
    side = 3 * SIZE_PX
    rows = [
        [round(value * (LEVELS - 1) / 255) for value in drawn["alpha"][y * side : (y + 1) * side]] for y in range(side)
    ]
    tall = [y for y, row in enumerate(rows) if any(row)]
    wide = [x for x in range(side) if any(row[x] for row in rows)]
    top, bottom = (tall[0], tall[-1] + 1) if tall else (0, 0)
    left, right = (wide[0], wide[-1] + 1) if wide else (0, 0)
    right += (right - left) % 2
    levels = [level for row in rows[top:bottom] for level in row[left:right]]
    head = struct.pack(
        "<IHBBbb", code, round(drawn["advance"] * 16), right - left, bottom - top, left - SIZE_PX, top - 2 * SIZE_PX
    ) if tall else struct.pack("<IHBBbb", code, round(drawn["advance"] * 16), 0, 0, 0, 0)  # fmt: skip
    return head + bytes(a << 4 | b for a, b in zip(levels[::2], levels[1::2], strict=True))


def draw() -> bytes:
    """The whole file."""
    codes = [code for first, last in RANGES for code in range(first, last + 1)] + [ord(sign) for sign in SIGNS]
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=executable(), args=FLAGS, chromium_sandbox=False)
        page = chromium.new_page(offline=True)
        letters = [packed(code, page.evaluate(DRAW, [FONT, [chr(code)], SIZE_PX])[0]) for code in codes]
        chromium.close()
    return zlib.compress(b"".join(letters), 9)


if __name__ == "__main__":
    Path(FILE).write_bytes(draw())
