"""Private look-ups: which bucket a post is in, and what a body holds."""

from __future__ import annotations

import json
import random
from base64 import b64decode
from collections import Counter
from contextlib import suppress
from hashlib import sha256
from math import ceil, log2
from typing import Final, cast
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.lookup.buckets import (
    MOST_BITS,
    adjust_bits,
    bucket_of,
    find_bits,
    format_prefix,
    key_range,
    layout_name,
    parse_layout,
    parse_prefix,
    post_key,
)
from contracts.lookup.documents import Bucket, Layout, Post, Retractions, Version, encode
from contracts.lookup.framing import LARGEST, PADDED, FrameInvalid, frame, unframe
from tests.support.decision_cases import make_cases
from tests.support.lookup_cases import FILE, Body, Cases, example_bucket, example_retractions, make_lookups
from tlog.decision import write_extra
from tlog.leaf import Leaf, Opening
from tlog.proof import Proof

CASES: Final = cast(Cases, json.loads(FILE.read_text()))
BITS: Final = st.integers(0, MOST_BITS)
POSTS: Final = st.integers(0, 1_000_000)
KEYS: Final = st.binary(min_size=32, max_size=32)


def test_the_file_is_what_this_code_writes() -> None:
    """The compressed bytes depend on the library, so what they hold is compared."""
    made = make_lookups()
    for cases in (made, CASES):
        for body in (cases["bucket"], cases["empty"], cases["retractions"]):
            assert unframe(padded(body)).decode() == body["document"]
            body["packed"] = ""
    assert made == CASES


def padded(body: Body) -> bytes:
    """The whole body of a case."""
    packed = b64decode(body["packed"])
    return (len(packed).to_bytes(4) + packed).ljust(body["size"], b"\0")


@pytest.mark.parametrize(
    ("document", "body"),
    [(example_bucket(), CASES["bucket"]), (example_retractions(), CASES["retractions"])],
    ids=["bucket", "retractions"],
)
def test_documents_are_read_as_they_are_written(document: Bucket | Retractions, body: Body) -> None:
    assert type(document).model_validate_json(body["document"]) == document
    assert json.loads(encode(document)) == json.loads(body["document"])


def test_the_layout_is_read_as_it_is_written() -> None:
    assert encode(Layout.model_validate_json(CASES["layout"])).decode() == CASES["layout"]


def test_a_key_is_the_hash_of_the_whole_name() -> None:
    assert post_key("X", "17") == sha256(b"openerrata/post/1|X|17").digest()


@pytest.mark.requirement("TR-22")
@given(POSTS)
def test_bits_follow_the_number_of_posts_with_findings(posts: int) -> None:
    """The number of bits follows the number of posts with findings, and is the same for all readers."""
    assert find_bits(posts) == (0 if posts <= 16 else min(max(ceil(log2(posts / 16)), 0), 16))


@pytest.mark.requirement("TR-22")
@given(st.lists(POSTS, max_size=20), BITS)
def test_bits_change_only_when_they_are_much_too_few_or_too_many(counts: list[int], bits: int) -> None:
    """The number of bits follows the number of posts with findings, and is the same for all readers."""
    for posts in counts:
        after = adjust_bits(bits, posts)
        assert after == bits or after == find_bits(posts)
        assert posts <= 16 << after or after == MOST_BITS
        assert after == 0 or after <= bits or posts > 16 << bits
        assert adjust_bits(after, posts) == after
        nearby = min(posts + posts // 8, 16 << after)
        assert adjust_bits(after, nearby) == after or after == MOST_BITS
        bits = after


def test_a_number_near_a_boundary_changes_nothing() -> None:
    bits = 0
    changes = 0
    for posts in [16, 17] * 50:
        adjusted = adjust_bits(bits, posts)
        changes += adjusted != bits
        bits = adjusted
    assert changes == 1


@given(KEYS, BITS)
def test_a_prefix_names_the_bucket_of_a_key_and_no_other(key: bytes, bits: int) -> None:
    bucket = bucket_of(key, bits)
    prefix = format_prefix(bucket, bits)
    assert parse_prefix(prefix, bits) == bucket
    first, last = key_range(bucket, bits)
    assert first <= key <= last
    assert (bucket_of(first, bits), bucket_of(last, bits)) == (bucket, bucket)
    bit_text = "".join(f"{byte:08b}" for byte in key)[:bits]
    expected = f"{int(bit_text.ljust(4 * len(prefix), '0'), 2):0{len(prefix)}x}" if bits else "all"
    assert prefix == expected


@given(BITS)
def test_buckets_have_as_many_names_as_there_are_bits(bits: int) -> None:
    names = {format_prefix(bucket, bits) for bucket in range(1 << bits)}
    assert len(names) == 1 << bits
    assert all(parse_prefix(name, bits) is not None for name in names)


@given(st.text(max_size=6) | st.text("0123456789abcdefABCDEF/.", max_size=6), BITS)
def test_other_names_are_no_bucket(name: str, bits: int) -> None:
    bucket = parse_prefix(name, bits)
    assert bucket is None or format_prefix(bucket, bits) == name


@given(st.text(max_size=4) | st.from_regex(r"b[0-9]{1,3}", fullmatch=True))
def test_layouts_have_one_name(name: str) -> None:
    bits = parse_layout(name)
    assert bits is None or (layout_name(bits) == name and bits <= MOST_BITS)


@pytest.mark.requirement("TR-23")
@given(st.binary(max_size=100_000))
def test_bodies_are_padded(document: bytes) -> None:
    """Bodies are multiples of 32 KiB, and 99 of 100 have no more than two of them."""
    body = frame(document)
    assert len(body) % PADDED == 0
    assert 4 + int.from_bytes(body[:4]) <= len(body) < 4 + int.from_bytes(body[:4]) + PADDED
    assert unframe(body) == document


@given(st.binary(max_size=200), st.integers(0, PADDED - 1), st.integers(1, 255))
def test_an_altered_body_is_refused_or_says_the_same(document: bytes, place: int, change: int) -> None:
    body = bytearray(frame(document))
    body[place] ^= change
    with suppress(FrameInvalid):
        assert unframe(bytes(body)) == document  # some bits of gzip say nothing


@pytest.mark.parametrize("body", [b"", b"\0" * PADDED, b"\0" * 100, frame(b"x") + bytes(PADDED), frame(b"x")[:-1]])
def test_what_is_no_body_is_refused(body: bytes) -> None:
    with pytest.raises(FrameInvalid):
        unframe(body)


@pytest.mark.requirement("TR-23")
def test_99_of_100_buckets_of_many_posts_are_small() -> None:
    """Bodies are multiples of 32 KiB, and 99 of 100 have no more than two of them."""
    posts, words = 100_000, random.Random(1)
    bits = find_bits(posts)
    keys = [post_key("X", str(number)) for number in range(posts)]
    sizes = sorted(Counter(bucket_of(key, bits) for key in keys).values())
    assert len(sizes) == 1 << bits
    many = sizes[len(sizes) * 99 // 100]
    bucket = Bucket(
        checkpoint=example_bucket().checkpoint,
        posts=tuple(Post(key=key.hex(), versions=(make_version(words),)) for key in keys[:many]),
        clear=tuple(words.randbytes(8).hex() for _ in range(10 * many)),
    )
    assert PADDED < len(frame(encode(bucket))) <= 2 * PADDED


def make_version(words: random.Random) -> Version:
    """A version with two findings in words that do not repeat, and a proof of a log with a million leaves."""

    def make_text(characters: int) -> str:
        return words.randbytes(characters // 4).hex(" ", 3)[:characters]

    findings = [{"claim": str(uuid4()), "text": make_text(150), "summary": make_text(250)} for _ in range(2)]
    openings = [
        Opening(j, words.randbytes(32), json.dumps(each).encode())
        for j, each in enumerate([{"contentHash": words.randbytes(32).hex()}, *findings])
    ]
    leaf = Leaf(k="found", t=1, c=tuple(each.commitment for each in openings)).encode()
    hashes = tuple(words.randbytes(32) for _ in range(20))
    note = Proof.parse(b64decode(make_cases()["cases"][0]["proof"])).note
    proof = bytes(Proof(1, hashes, note, write_extra(leaf, openings)))
    return Version(content_hash=words.randbytes(32).hex(), investigation=uuid4(), proof=proof.decode())


def test_a_small_body_does_not_become_a_huge_document() -> None:
    with pytest.raises(FrameInvalid, match="too long"):
        unframe(frame(bytes(LARGEST + 1)))
