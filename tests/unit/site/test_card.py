"""The picture to share is a PNG that any reader takes, and it never shows a wrong sentence alone."""

from __future__ import annotations

import struct
import zlib
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from services.gateway.public.site.card import HEIGHT, WIDTH, draw_card
from services.gateway.public.site.glyphs import load_glyphs, measure_width, to_writable, wrap_lines
from services.gateway.record.investigations import Card
from tests.support.record_rows import a_card, a_claim

AT = datetime(2026, 2, 4, tzinfo=UTC)


def row(text: str = "It is so.", summary: str = "It is not so.", **more: Any) -> Card:
    return replace(a_card(a_claim(text, summary)), checked_at=AT, **more)


def pixels(png: bytes) -> bytes:
    """Decode, checking what a reader of PNG checks. Shapes: one byte a pixel, without filter bytes."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    at, chunks = 8, {}
    while at < len(png):
        (size,) = struct.unpack_from(">I", png, at)
        kind, data = png[at + 4 : at + 8], png[at + 8 : at + 8 + size]
        (checksum,) = struct.unpack_from(">I", png, at + 8 + size)
        assert checksum == zlib.crc32(kind + data)
        chunks[kind] = data
        at += 12 + size
    assert list(chunks) == [b"IHDR", b"PLTE", b"IDAT", b"IEND"]
    assert struct.unpack(">IIBBBBB", chunks[b"IHDR"]) == (WIDTH, HEIGHT, 8, 3, 0, 0, 0)
    data = zlib.decompress(chunks[b"IDAT"])
    assert len(data) == HEIGHT * (WIDTH + 1)
    scanlines = [data[y * (WIDTH + 1) : (y + 1) * (WIDTH + 1)] for y in range(HEIGHT)]
    assert all(line[0] == 0 for line in scanlines)
    found = b"".join(line[1:] for line in scanlines)
    assert max(found) < len(chunks[b"PLTE"]) // 3
    return found


def test_it_differs_with_what_it_says() -> None:
    one = pixels(draw_card(row()))
    assert one != pixels(draw_card(row(text="It was so.")))
    assert one != pixels(draw_card(row(summary="It never was.")))
    assert one != pixels(draw_card(row(provider="demo")))
    assert one != pixels(draw_card(row(corroborated_at=AT))) != pixels(draw_card(row(server_verified_at=AT)))
    assert one == pixels(draw_card(row()))


def test_the_correction_is_there_however_long_the_sentence_is() -> None:
    long = "quick brown foxes jump over the lazy dog " * 30
    assert pixels(draw_card(row(text=long))) != pixels(draw_card(row(text=long, summary="Something else.")))


def test_a_post_without_findings() -> None:
    pixels(draw_card(row(claims=(), title="A title")))


@settings(max_examples=30)
@given(st.text(max_size=500), st.text(max_size=100))
def test_any_text_at_all(text: str, summary: str) -> None:
    pixels(draw_card(row(text=text, summary=summary)))


def test_scripts_that_were_not_drawn_are_not_guessed() -> None:
    assert pixels(draw_card(row(text="地球は平らである"))) == pixels(draw_card(row(text="الأرض مسطحة")))


@given(st.text(max_size=200))
def test_what_is_writable_can_be_written(text: str) -> None:
    assert set(to_writable(text)) <= set(load_glyphs())


@given(st.text(alphabet="abc wWÉя…", max_size=300), st.integers(100, 1000), st.integers(1, 5))
def test_lines_fit(text: str, room: int, most: int) -> None:
    found = wrap_lines(to_writable(text), room, most)
    assert len(found) <= most
    assert all(measure_width(line) <= room for line in found)
