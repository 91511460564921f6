"""DAG-CBOR and CAR: published vectors, every value both ways, and bytes that mean harm."""

from __future__ import annotations

import base64
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from platforms.atproto.car import MAX_BLOCKS, MAX_BYTES, read_car
from platforms.atproto.cbor import DAG_CBOR, MAX_DEPTH, MAX_VALUES, RAW, Cid, InvalidCbor, Value, decode, encode
from platforms.atproto.reasons import InvalidProof
from tests.support.repositories import car, section

BLOCK = encode({"text": "Tea"})
LINK = Cid.of(BLOCK)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.text()
    | st.binary()
    | st.builds(Cid, st.sampled_from((DAG_CBOR, RAW)), st.binary(min_size=32, max_size=32)),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@pytest.mark.parametrize(
    ("encoded", "cid"),
    [
        (
            "p2Rib29s9WRudWxs9mVhcnJheYNjYWJjY2RlZmNnaGlmb2JqZWN0pGNhcnKDY2FiY2NkZWZjZ2hpZGJvb2z1Zm51bWJlchh7ZnN0cmluZ2NhY"
            "mNmc3RyaW5nY2FiY2dpbnRlZ2VyGHtndW5pY29kZXgvYX7DtsOxwqnivZjimI7wk4uT8J+YgPCfkajigI3wn5Gp4oCN8J+Rp+KAjfCfkac=",
            "bafyreiclp443lavogvhj3d2ob2cxbfuscni2k5jk7bebjzg7khl3esabwq",
        ),
        (
            "o2Fh2CpYJQABcRIgZQYqWloA/BbXPGlEI3zLwVscSnI0SJM2iR0JF0GiOdBhYlggnFERjvLLiw9qm45JrqH9QTzyC2Lu1Xb4ne6+sBrCzI1hY"
            "6RjcmVm2CpYJQABVRIgQljP/3j2E2l2l1Y/kmyR5dNXTS6iWuftktbr/COjiJ5kc2l6ZRknEGUkdHlwZWRibG9iaG1pbWVUeXBlamltYWdlL2"
            "pwZWc=",
            "bafyreihldkhcwijkde7gx4rpkkuw7pl6lbyu5gieunyc7ihactn5bkd2nm",
        ),
    ],
)
def test_published_values_are_read_and_written_to_the_byte(encoded: str, cid: str) -> None:
    data = base64.b64decode(encoded)
    assert str(Cid.of(data)) == cid
    assert encode(decode(data)) == data


def test_a_published_value_has_its_parts() -> None:
    link = "bafyreidfayvfuwqa7qlnopdjiqrxzs6blmoeu4rujcjtnci5beludirz2a"
    data = base64.b64decode(
        "o2Fh2CpYJQABcRIgZQYqWloA/BbXPGlEI3zLwVscSnI0SJM2iR0JF0GiOdBhYlggnFERjvLLiw9qm45JrqH9QTzyC2Lu1Xb4ne6+sBrCzI1hY6Rj"
        "cmVm2CpYJQABVRIgQljP/3j2E2l2l1Y/kmyR5dNXTS6iWuftktbr/COjiJ5kc2l6ZRknEGUkdHlwZWRibG9iaG1pbWVUeXBlamltYWdlL2pwZWc="
    )
    value = decode(data)
    assert isinstance(value, dict)
    assert str(value["a"]) == link
    assert value["b"] == base64.b64decode("nFERjvLLiw9qm45JrqH9QTzyC2Lu1Xb4ne6+sBrCzI0=")
    picture = value["c"]
    assert isinstance(picture, dict)
    assert (picture["mimeType"], picture["size"]) == ("image/jpeg", 10_000)
    assert isinstance(picture["ref"], Cid)
    assert picture["ref"].codec == RAW


@given(VALUES)
def test_every_value_survives(value: Value) -> None:
    assert decode(encode(value)) == value


@given(st.binary(max_size=200))
def test_bytes_are_refused_or_are_the_only_encoding(data: bytes) -> None:
    try:
        value = decode(data)
    except InvalidCbor:
        return
    assert encode(value) == data


@given(VALUES, st.data())
def test_a_changed_byte_never_gives_the_same_value(value: Value, data: st.DataObject) -> None:
    whole = encode(value)
    place = data.draw(st.integers(0, len(whole) - 1))
    other = data.draw(st.integers(1, 255))
    changed = whole[:place] + bytes((whole[place] ^ other,)) + whole[place + 1 :]
    try:
        found = decode(changed)
    except InvalidCbor:
        return
    assert encode(found) == changed


@pytest.mark.parametrize(
    ("what", "data"),
    [
        ("nothing", b""),
        ("nested too deep", b"\x81" * 100_000 + b"\x00"),
        ("nested maps", b"\xa1\x60" * 100_000 + b"\x00"),
        ("nested links", b"\xd8\x2a" * 100_000),
        ("a text that never comes", b"\x7b\x00\x00\x00\x7f\xff\xff\xff\xff"),
        ("a list that never comes", b"\x9b\x7f\xff\xff\xff\xff\xff\xff\xff"),
        ("a map that never comes", b"\xbb\x7f\xff\xff\xff\xff\xff\xff\xff"),
        ("a key twice", b"\xa2\x61a\x01\x61a\x02"),
        ("keys out of order", b"\xa2\x61b\x01\x61a\x02"),
        ("a longer key first", b"\xa2\x62aa\x01\x61b\x02"),
        ("a key that is a number", b"\xa1\x01\x02"),
        ("a number in two bytes that needs one", b"\x18\x17"),
        ("a number in three bytes that needs two", b"\x19\x00\xff"),
        ("a length in more bytes than needed", b"\x78\x01a"),
        ("a number beyond 64 bits with sign", b"\x1b\x80" + b"\0" * 7),
        ("a negative number beyond 64 bits", b"\x3b\x80" + b"\0" * 7),
        ("a text without a length", b"\x7f\x61a\xff"),
        ("a list without a length", b"\x9f\x01\xff"),
        ("a map without a length", b"\xbf\x61a\x01\xff"),
        ("bytes without a length", b"\x5f\x41a\xff"),
        ("a break alone", b"\xff"),
        ("a half float", b"\xf9\x3c\x00"),
        ("a float", b"\xfb\x3f\xf0" + b"\0" * 6),
        ("not a number", b"\xfb\x7f\xf8" + b"\0" * 6),
        ("undefined", b"\xf7"),
        ("a simple value", b"\xe0"),
        ("false in two bytes", b"\xf8\x14"),
        ("another tag", b"\xc0\x61a"),
        ("a link in more bytes than needed", b"\xd9\x00\x2a\x58\x25\x00" + LINK.binary),
        ("a link without its zero", b"\xd8\x2a\x58\x24" + LINK.binary),
        ("a link of version 0", b"\xd8\x2a\x58\x23\x00\x12\x20" + LINK.digest),
        ("a link that is a text", b"\xd8\x2a\x61a"),
        ("a link with another hash", b"\xd8\x2a\x58\x25\x00\x01\x71\x13\x20" + LINK.digest),
        ("a text that is no UTF-8", b"\x61\xff"),
        ("a surrogate", b"\x63\xed\xa0\x80"),
        ("two values", b"\x01\x01"),
    ],
)
def test_what_is_not_strict_is_refused_soon(what: str, data: bytes) -> None:
    began_s = time.process_time()
    with pytest.raises(InvalidCbor):
        decode(data)
    assert time.process_time() - began_s < 1, what


def test_nesting_has_a_limit_of_its_own() -> None:
    assert decode(b"\x81" * (MAX_DEPTH - 1) + b"\x00")
    with pytest.raises(InvalidCbor):
        decode(b"\x81" * MAX_DEPTH + b"\x00")


@pytest.mark.parametrize(
    ("fits", "too_many"),
    [
        ([[]] * (MAX_VALUES - 1), [[]] * MAX_VALUES),
        (
            {f"{key:05}": key for key in range(MAX_VALUES // 2 - 1)},
            {f"{key:05}": key for key in range(MAX_VALUES // 2)},
        ),
    ],
    ids=["values", "keys"],
)
def test_a_block_has_few_values_however_long_it_is(fits: Value, too_many: Value) -> None:
    assert decode(encode(fits)) == fits
    with pytest.raises(InvalidCbor, match="too many"):
        decode(encode(too_many))


def test_a_file_has_its_root_and_its_blocks() -> None:
    other = encode({"text": "Coffee"})
    root, blocks = read_car(car(LINK, [BLOCK, other]))
    assert root == LINK
    assert blocks == {LINK: BLOCK, Cid.of(other): other}


def header(value: Value) -> bytes:
    return section(encode(value))


@pytest.mark.parametrize(
    ("what", "data"),
    [
        ("nothing", b""),
        ("two roots", header({"version": 1, "roots": [LINK, LINK]})),
        ("no root", header({"version": 1, "roots": []})),
        ("version 2", header({"version": 2, "roots": [LINK]})),
        ("version true", header({"version": True, "roots": [LINK]})),
        ("a field more", header({"version": 1, "roots": [LINK], "more": 1})),
        ("a raw root", header({"version": 1, "roots": [Cid(RAW, LINK.digest)]})),
        ("a header that is no map", header([1])),
        ("another block", car(LINK, []) + section(LINK.binary + BLOCK + b"\0")),
        ("a raw block", car(LINK, []) + section(Cid.of(BLOCK, RAW).binary + BLOCK)),
        ("a block without its address", car(LINK, []) + section(b"\x01\x71")),
        ("an empty section", car(LINK, [BLOCK]) + b"\0"),
        ("a section that is cut off", car(LINK, [BLOCK])[:-1]),
        ("a length that never ends", car(LINK, [BLOCK]) + b"\xff" * 20),
        ("a length in more bytes than needed", car(LINK, []) + b"\xa9\x00"),
        ("a huge length", car(LINK, [BLOCK]) + b"\xff\xff\xff\x7f"),
        ("too many blocks", car(LINK, [encode(number) for number in range(MAX_BLOCKS + 1)])),
        ("one block too often", car(LINK, [BLOCK] * (MAX_BLOCKS + 1))),
        ("too many bytes", car(LINK, [encode("a" * MAX_BYTES)])),
    ],
)
def test_a_file_that_is_not_as_it_should_be_is_refused(what: str, data: bytes) -> None:
    with pytest.raises(InvalidProof) as refused:
        read_car(data)
    assert refused.value.check == "car", what
