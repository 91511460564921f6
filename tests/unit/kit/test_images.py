"""Pictures are known by their bytes, and what would spoil a request is refused."""

from __future__ import annotations

import struct
import time
import zlib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kit.images import Head, UnusablePicture, inspect
from tests.support.picture_files import gif, jpeg, png, png_chunk, png_of, webp, webp_extended

ALL = {
    "png": png(3, 4),
    "jpeg": jpeg(8, 16),
    "gif": gif(5, 6),
    "webp": webp(),
    "webp-lossless": webp(lossless=True),
    "webp-extended": webp_extended(7, 9),
}


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (png(3, 4), Head("image/png", 3, 4)),
        (png(3, 4, note=b"a longer file"), Head("image/png", 3, 4)),
        (jpeg(8, 16), Head("image/jpeg", 8, 16)),
        (gif(5, 6), Head("image/gif", 5, 6)),
        (webp(), Head("image/webp", 1, 1)),
        (webp(lossless=True), Head("image/webp", 1, 1)),
        (webp_extended(7, 9), Head("image/webp", 7, 9)),
    ],
    ids=lambda value: value.media_type if isinstance(value, Head) else "",
)
def test_kind_and_size_are_read_from_the_bytes(data: bytes, expected: Head) -> None:
    assert inspect(data) == expected


def fault(data: bytes) -> str:
    with pytest.raises(UnusablePicture) as raised:
        inspect(data)
    return raised.value.fault


@pytest.mark.parametrize("data", [b"", b"<svg></svg>", b"<html>", b"BM....", b"RIFF....WAVE", b"\0\0\0\x20ftypavif"])
def test_anything_else_is_not_a_picture(data: bytes) -> None:
    assert fault(data) == "not_a_picture"


@pytest.mark.parametrize(
    "data",
    [png(65_535, 65_535), jpeg(65_535, 65_535), gif(65_535, 65_535), webp_extended(16_384, 16_384)],
    ids=["png", "jpeg", "gif", "webp"],
)
def test_a_decompression_bomb_is_refused_by_its_header(data: bytes) -> None:
    assert len(data) < 1_000
    assert fault(data) == "too_many_pixels"


def test_a_gif_is_as_large_as_its_frame() -> None:
    small, frame = gif(1, 1), b"\0\0\0\0\x01\0\x01\0"
    assert fault(small.replace(frame, b"\0\0\0\0\xff\xff\xff\xff")) == "too_many_pixels"


@pytest.mark.parametrize("data", [gif(frames=2), webp_extended(animated=True)], ids=["gif", "webp"])
def test_what_moves_is_refused(data: bytes) -> None:
    assert fault(data) == "animated"


@pytest.mark.parametrize("data", ALL.values(), ids=ALL)
def test_a_picture_cut_off_anywhere_is_broken(data: bytes) -> None:
    assert {fault(data[:length]) for length in range(12, len(data))} == {"broken"}


def test_no_size_is_no_picture() -> None:
    assert fault(png(0, 5)) == fault(jpeg(5, 0)) == "broken"


@given(st.sampled_from([b"", b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"GIF89a", b"RIFF\0\0\0\0WEBP"]), st.binary())
@example(b"GIF89a", b"\0" * 7 + b"\x21" * 9)
def test_any_bytes_are_read_or_refused(start: bytes, rest: bytes) -> None:
    try:
        head = inspect(start + rest)
    except UnusablePicture:
        return
    assert 0 < head.width * head.height <= 50_000_000


@pytest.mark.parametrize(
    "data",
    [
        b"\xff\xd8" + b"\xff\xe0\0\x02" * 5_000_000,
        b"\xff\xd8" + b"\xff" * 20_000_000,
        png()[:33] + b"\0\0\0\0tEXt\0\0\0\0" * 1_600_000,
        gif()[:19] + b"\x21\xf9\0" * 6_600_000,
        gif()[:19] + (b"\x21\xf9" + b"\x01x" * 100_000 + b"\0") * 99,
    ],
    ids=["jpeg segments", "jpeg fill", "png chunks", "gif extensions", "gif blocks"],
)
def test_twenty_megabytes_of_nothing_cost_little(data: bytes) -> None:
    began = time.process_time()
    assert fault(data) == "broken"
    # Loose, because other tests run beside this one.
    assert time.process_time() - began < 3.0


GREY = struct.pack(">IIBBBBB", 10, 10, 8, 0, 0, 0, 0)
ROWS = zlib.compress(b"\0" * 110)
BOMB = zlib.compress(b"\0" * 50_000_000)
LACED = struct.pack(">IIBBBBB", 5, 3, 1, 3, 0, 0, 1)


@pytest.mark.parametrize(
    ("fault", "file"),
    [
        ("broken", png_of(GREY, BOMB)),
        ("broken", png_of(GREY, b"not packed at all")),
        ("broken", png_of(GREY, zlib.compress(b"\0" * 109))),
        ("broken", png_of(GREY, ROWS[:-6])),
        ("broken", png_of(GREY, ROWS, png_chunk(b"zTXt", b"key\0\0" + BOMB))),
        ("broken", png_of(GREY, ROWS, png_chunk(b"iTXt", b"key\0\1\0en\0key\0" + BOMB))),
        ("broken", png_of(GREY, ROWS, png_chunk(b"iCCP", b"name\0\0" + BOMB))),
        ("broken", png_of(GREY, ROWS, png_chunk(b"zTXt", b"key\0\0" + zlib.compress(b"\0" * 3_000_000)) * 2)),
        ("animated", png_of(GREY, ROWS, png_chunk(b"acTL", struct.pack(">II", 2, 0)))),
    ],
)  # fmt: skip
def test_a_png_that_unpacks_to_something_else_is_refused(fault: str, file: bytes) -> None:
    with pytest.raises(UnusablePicture) as refused:
        inspect(file)
    assert refused.value.fault == fault


@pytest.mark.parametrize(
    "file",
    [
        png_of(GREY, ROWS),
        png_of(GREY, ROWS, png_chunk(b"zTXt", b"key\0\0" + zlib.compress(b"words"))),
        png_of(GREY, ROWS, png_chunk(b"iTXt", b"key\0\0\0en\0key\0words")),
        # Rows of the seven passes: 1, 1, none, 1, 1, 2 and 1 of them, each of a type and a byte.
        png_of(LACED, zlib.compress(b"\0" * 2 * 7)),
    ],
)
def test_a_png_that_unpacks_as_it_says_is_taken(file: bytes) -> None:
    assert inspect(file).media_type == "image/png"
