"""Versions are named by text and pictures, whatever order they come in."""

from __future__ import annotations

import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.v1.parts import ImageOccurrence
from platforms.identity import (
    InvalidOccurrences,
    canonical_occurrences,
    content_hash,
    fit_occurrences,
    occurrences_hash,
    occurrences_json,
    version_hash,
)


def picture(
    index: int, offset: int, url: str = "https://img.example/p.png", caption: str | None = None
) -> ImageOccurrence:
    return ImageOccurrence(original_index=index, normalized_text_offset=offset, source_url=url, caption_text=caption)


@st.composite
def valid_pictures(draw: st.DrawFn) -> tuple[str, list[ImageOccurrence]]:
    text = draw(st.text(max_size=30))
    offsets = sorted(draw(st.lists(st.integers(0, len(text)), max_size=6)))
    captions = st.none() | st.text(st.characters(codec=None), max_size=5)
    urls = st.text(st.characters(codec=None), max_size=5)
    return text, [picture(n, offset, draw(urls), draw(captions)) for n, offset in enumerate(offsets)]


any_pictures = st.lists(st.builds(picture, st.integers(0, 6), st.integers(0, 40)), max_size=8)


@pytest.mark.requirement("3.2-04", "2.8-05")
@given(valid_pictures(), st.randoms(use_true_random=False))
def test_the_order_of_sending_does_not_matter(given_: tuple[str, list[ImageOccurrence]], random: object) -> None:
    """3.2-04: Occurrence set dedup and order.
    2.8-05: The version hash follows its formula.
    """
    text, pictures = given_
    shuffled = sorted(pictures, key=lambda _: random.random())  # type: ignore[attr-defined]  # hypothesis' Random
    assert canonical_occurrences(shuffled, text) == canonical_occurrences(pictures, text)
    assert occurrences_hash(shuffled) == occurrences_hash(pictures)


@given(valid_pictures())
def test_the_serialisation_is_json_that_any_reader_reads(given_: tuple[str, list[ImageOccurrence]]) -> None:
    text, pictures = given_
    serialised = occurrences_json(pictures)
    serialised.encode()
    read = json.loads(serialised)
    assert [each["sourceUrl"] for each in read] == [each.source_url for each in canonical_occurrences(pictures, text)]
    assert all(list(each) == [*list(each)[:3], *(["captionText"] if "captionText" in each else [])] for each in read)


@pytest.mark.requirement("2.6-04")
@given(any_pictures, st.text(max_size=30))
def test_whatever_is_kept_fits(pictures: list[ImageOccurrence], text: str) -> None:
    """2.6-04: Where a verified text differs, the site's counts."""
    kept, dropped = fit_occurrences(pictures, text)
    assert canonical_occurrences(kept, text) == kept
    assert len(kept) + len(dropped) == len(pictures)


@given(valid_pictures())
def test_what_fits_is_kept_unchanged(given_: tuple[str, list[ImageOccurrence]]) -> None:
    text, pictures = given_
    assert fit_occurrences(pictures, text) == (canonical_occurrences(pictures, text), ())


@pytest.mark.requirement("2.6-04")
def test_pictures_beyond_a_shorter_text_are_dropped_and_named() -> None:
    """2.6-04: Where a verified text differs, the site's counts."""
    kept, dropped = fit_occurrences(
        [picture(0, 9, "a"), picture(1, 2, "b"), picture(2, 1, "c"), picture(3, 4, "d")], "abcd"
    )
    assert [(each.original_index, each.source_url) for each in kept] == [(0, "b"), (1, "d")]
    assert [reason.partition(" stands")[0] for reason in dropped] == ["picture 0", "picture 2"]


@pytest.mark.parametrize(
    ("pictures", "words"),
    [
        ([picture(1, 0)], "picture 0 is missing"),
        ([picture(0, 0), picture(0, 0)], "given twice"),
        ([picture(0, 4)], "beyond"),
        ([picture(0, 2), picture(1, 1)], "before the one it follows"),
    ],
)
def test_contradictions_are_told(pictures: list[ImageOccurrence], words: str) -> None:
    with pytest.raises(InvalidOccurrences) as refusal:
        canonical_occurrences(pictures, "abc")
    assert words in refusal.value.reason


def test_the_version_joins_both_hashes() -> None:
    text, none = content_hash("abc"), occurrences_hash(())
    assert version_hash(text, none) == hashlib.sha256(f"{text}\n{none}".encode()).hexdigest()
