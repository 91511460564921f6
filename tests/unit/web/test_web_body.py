"""Bodies are read up to the cap, before and after unpacking."""

from __future__ import annotations

import gzip
import tracemalloc
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.web import WebError
from kit.web.body import read_body


async def arriving(data: bytes, size: int = 7) -> AsyncIterator[bytes]:
    for start in range(0, len(data), size):
        yield data[start : start + size]


async def kind_of(data: bytes, encoding: str, max_bytes: int, size: int = 7) -> str:
    with pytest.raises(WebError) as caught:
        await read_body(arriving(data, size), encoding, max_bytes)
    return caught.value.kind


@given(st.binary(max_size=300), st.sampled_from(["", "identity", "gzip", "x-gzip", " GZIP "]), st.integers(1, 50))
async def test_what_was_sent_arrives(data: bytes, encoding: str, size: int) -> None:
    sent = gzip.compress(data) if "gzip" in encoding.lower() else data
    assert await read_body(arriving(sent, size), encoding, max(len(data), len(sent))) == data


async def test_gzip_in_several_members() -> None:
    assert await read_body(arriving(gzip.compress(b"one ") + gzip.compress(b"two")), "gzip", 100) == b"one two"


@pytest.mark.parametrize("encoding", ["", "gzip"])
async def test_an_empty_body_is_empty_in_any_encoding(encoding: str) -> None:
    assert await read_body(arriving(b""), encoding, 10) == b""


async def test_one_byte_too_many() -> None:
    assert await read_body(arriving(b"x" * 100), "", 100) == b"x" * 100
    assert await kind_of(b"x" * 101, "", 100) == "too_large"
    assert await kind_of(gzip.compress(b"x" * 101), "gzip", 100) == "too_large"


async def test_what_holds_nothing_has_an_end_too() -> None:
    assert await kind_of(gzip.compress(b"") * 10, "gzip", 100) == "too_large"


async def test_a_bomb_is_not_unpacked() -> None:
    bomb = gzip.compress(b"\0" * 50_000_000)
    tracemalloc.start()
    try:
        assert await kind_of(bomb, "gzip", 100_000, size=65_536) == "too_large"
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (gzip.compress(b"some text")[:-4], "gzip"),
        (b"not gzip at all", "gzip"),
        (gzip.compress(b"some text") + b"rubbish", "gzip"),
        (b"", "br"),
        (b"x", "gzip, gzip"),
    ],
    ids=["cut off", "not gzip", "more than gzip", "brotli", "twice"],
)
async def test_broken_encodings(data: bytes, encoding: str) -> None:
    assert await kind_of(data, encoding, 10_000) == "bad_encoding"
