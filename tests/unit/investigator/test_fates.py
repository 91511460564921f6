"""Every picture has one fate, and what is shown stays within what can be sent."""

from __future__ import annotations

from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.v1.parts import BlobRef, ImageOccurrence
from services.investigator.fates import (
    MAX_ADDRESSES,
    MAX_BYTES_TOGETHER,
    FetchOutcome,
    Unavailable,
    decide,
    omit_all,
    select_addresses,
)


def seen(*names: str) -> list[ImageOccurrence]:
    """Pictures at these addresses, in order."""
    return [
        ImageOccurrence(original_index=index, normalized_text_offset=index, source_url=f"https://img.example/{name}")
        for index, name in enumerate(names)
    ]


def blob(content: str, size_bytes: int = 10) -> BlobRef:
    """A stored picture."""
    return BlobRef(sha256=sha256(content.encode()).hexdigest(), size_bytes=size_bytes, media_type="image/png")


def at(**fetched: FetchOutcome) -> dict[str, FetchOutcome]:
    """What addresses brought, by name."""
    return {f"https://img.example/{name}": found for name, found in fetched.items()}


@pytest.mark.requirement("2.13-07")
def test_ten_addresses_are_asked_each_once() -> None:
    """2.13-07: 10 images limit."""
    pictures = seen("a", "a", *(str(n) for n in range(20)))
    assert select_addresses(pictures) == [f"https://img.example/{name}" for name in ("a", *range(9))]
    fates = decide(seen(*(str(n) for n in range(12))), at(**{str(n): blob(str(n)) for n in range(10)}))
    assert [fate.status for fate in fates] == ["used"] * 10 + ["omitted"] * 2
    assert {fate.reason for fate in fates[10:]} == {"too_many"}


@pytest.mark.requirement("2.9-12")
def test_the_same_bytes_are_shown_once() -> None:
    """2.9-12: Images downloaded, deduplicated, uploaded."""
    fates = decide(seen("a", "b", "a", "c"), at(a=blob("x"), b=blob("x"), c=blob("y")))
    assert [(fate.status, fate.same_as) for fate in fates] == [
        ("used", None),
        ("duplicate", 0),
        ("duplicate", 0),
        ("used", None),
    ]


def test_a_picture_that_failed_fails_wherever_it_stands() -> None:
    fates = decide(seen("a", "b", "a"), at(a=Unavailable("http_404"), b=blob("b")))
    assert [(fate.status, fate.reason) for fate in fates] == [
        ("unavailable", "http_404"),
        ("used", None),
        ("unavailable", "http_404"),
    ]


def test_what_is_too_large_together_is_left_out_and_a_smaller_one_still_fits() -> None:
    half = MAX_BYTES_TOGETHER // 2
    fates = decide(
        seen("a", "b", "c", "d", "b"), at(a=blob("a", half), b=blob("b", half + 1), c=blob("c", half), d=blob("d"))
    )
    assert [fate.status for fate in fates] == ["used", "omitted", "used", "omitted", "omitted"]
    assert fates[1].reason == "too_large_together"


def test_a_model_that_cannot_see_leaves_them_all_out() -> None:
    assert {(fate.status, fate.reason) for fate in omit_all(seen("a", "b"))} == {("omitted", "model_sees_none")}


@given(
    st.lists(st.sampled_from("abcdefghijklmnop"), max_size=30),
    st.dictionaries(
        st.sampled_from("abcdefghijklmnop"),
        st.one_of(
            st.builds(Unavailable, st.just("timeout")),
            st.builds(blob, st.sampled_from("xyz"), st.sampled_from([1, 9_000_000, 20_000_000])),
        ),
    ),
)
def test_fates_are_whole(names: list[str], fetched: dict[str, FetchOutcome]) -> None:
    pictures = seen(*names)
    assert len(select_addresses(pictures)) <= MAX_ADDRESSES
    fates = decide(pictures, at(**fetched))
    assert [fate.model_dump(include=set(ImageOccurrence.model_fields)) for fate in fates] == [
        picture.model_dump() for picture in pictures
    ]
    used = {fate.original_index: fate.blob for fate in fates if fate.status == "used"}
    assert sum(kept.size_bytes for kept in used.values() if kept) <= MAX_BYTES_TOGETHER
    assert len({kept.sha256 for kept in used.values() if kept}) == len(used)
    for fate in fates:
        assert (fate.blob is not None) == (fate.status == "used")
        assert (fate.same_as is not None) == (fate.status == "duplicate")
        assert (fate.reason is not None) == (fate.status in ("omitted", "unavailable"))
        assert fate.same_as is None or (fate.same_as in used and fate.same_as < fate.original_index)
