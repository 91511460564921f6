"""The chain's encoding never changes, and rows pass to the database as they are."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.projector.ledger.chain import GENESIS, hash_fact
from services.projector.store.write import as_json


def test_the_encoding_is_the_one_in_existing_ledgers() -> None:
    expected = "59fbdfb62b381c4d1b9eefce40abd161838a2b404dae9b531d6c08e02567ba31"
    assert hash_fact(GENESIS, "ERRATA", 1, "a.b", b"{}").hex() == expected


@given(st.binary(max_size=20), st.integers(1, 1000), st.integers(1, 1000))
def test_place_and_content_count(data: bytes, one: int, other: int) -> None:
    first = hash_fact(GENESIS, "ERRATA", one, "a.b", data)
    assert (first == hash_fact(GENESIS, "ERRATA", other, "a.b", data)) == (one == other)
    assert first != hash_fact(GENESIS, "VIEWS", one, "a.b", data)
    assert first != hash_fact(first, "ERRATA", one, "a.b", data)
    assert first != hash_fact(GENESIS, "ERRATA", one, "a.b", data + b"x")


def document(value: str) -> str:
    wrapped = as_json([{"text": value}])
    assert wrapped.dumps is not None
    (row,) = json.loads(wrapped.dumps(wrapped.obj))
    text: str = row["text"]
    return text


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_only_nul_is_replaced(value: str) -> None:
    assert document(value) == value.replace("\0", "\ufffd")


@pytest.mark.parametrize("value", ["\0", "\\u0000", "\\\\u0000", "\\\0", "\\\\\0\0", "a\0\\u0000\0"])
def test_backslashes_before_it(value: str) -> None:
    assert document(value) == value.replace("\0", "\ufffd")
