"""Cursors come back as they went out, patterns mean what they say, and highlights lose no letter."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.gateway.cursors import parse_anomaly_key, parse_dated_key, read_key, write_key
from services.gateway.public.highlight import find_highlights, mark_matches
from services.gateway.record.investigations import Passage
from services.gateway.record.question import (
    TEXT_LIMIT,
    BadQuestion,
    Place,
    has_trigram,
    like_pattern,
    normalise_words,
    parse_cursor,
    parse_rank_cursor,
    rank_cursor,
)

STORED = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
"""What PostgreSQL can hold."""

MOMENTS = st.datetimes(min_value=datetime(1900, 1, 1), max_value=datetime(2200, 1, 1), timezones=st.just(UTC))


def collect(*parts: str) -> tuple[str, ...]:
    """A key of any number of parts."""
    return parts


def single(part: str) -> str:
    """A key of one part."""
    return part


def nine(a: str, b: str, c: str, d: str, e: str, f: str, g: str, h: str, i: str) -> None:
    """A key that no cursor here has."""


@given(MOMENTS, st.uuids())
def test_a_place_survives_being_a_cursor(moment: datetime, number: UUID) -> None:
    assert parse_cursor(Place(moment, number).cursor()) == Place(moment, number)


@given(st.lists(STORED, min_size=1, max_size=4))
def test_a_key_survives_being_a_cursor(words: list[str]) -> None:
    assert read_key(write_key(*words), collect) == tuple(words)


@pytest.mark.parametrize("word", ["a\0b", "\ud800"])
def test_a_key_that_no_row_can_have_is_refused(word: str) -> None:
    made = base64.urlsafe_b64encode(json.dumps([word]).encode()).decode().rstrip("=")
    with pytest.raises(BadQuestion):
        read_key(made, single)


@pytest.mark.parametrize(("read", "kind"), [(parse_dated_key, ()), (parse_anomaly_key, ("TEXT",))])
def test_a_key_whose_time_has_no_zone_is_refused(read: Callable[..., object], kind: tuple[str, ...]) -> None:
    id_ = str(UUID(int=1))
    assert read_key(write_key("2026-01-01T00:00:00+00:00", id_, *kind), read)
    with pytest.raises(BadQuestion):
        read_key(write_key("2026-01-01T00:00:00", id_, *kind), read)


@given(st.integers(0, 99_999))
def test_a_rank_survives_being_a_cursor(rank: int) -> None:
    assert parse_rank_cursor(rank_cursor(rank)) == rank


@given(st.text())
def test_what_is_no_cursor_is_refused(text: str) -> None:
    for read in (parse_cursor, parse_rank_cursor, lambda cursor: read_key(cursor, nine)):
        with pytest.raises(BadQuestion):
            read(text)


def test_a_cursor_of_another_kind_is_refused() -> None:
    with pytest.raises(BadQuestion):
        parse_cursor(rank_cursor(3))
    with pytest.raises(BadQuestion):
        parse_rank_cursor(Place(datetime.now(UTC) - timedelta(1), UUID(int=1)).cursor())


def test_white_space_is_one_space_and_there_must_be_something() -> None:
    assert normalise_words("  a \n\t b\u00a0c ") == "a b c"
    assert normalise_words("a\0b") == "a\ufffdb"
    assert normalise_words("x" * TEXT_LIMIT)
    for nothing in ("", " \n", "x" * (TEXT_LIMIT + 1)):
        with pytest.raises(BadQuestion):
            normalise_words(nothing)


def test_signs_of_patterns_mean_themselves() -> None:
    assert like_pattern("100%_\\") == "%100\\%\\_\\\\%"


@pytest.mark.parametrize(
    ("text", "known"),
    [("abc", True), ("100%", True), ("ab cd", True), ("%%%", False), ("7%", False), ("a_b", True), ("про", True)],
)
def test_what_trigrams_know(text: str, known: bool) -> None:
    assert has_trigram(text) is known


@given(st.text(max_size=300), st.lists(st.text(min_size=1, max_size=3), max_size=3))
def test_a_highlight_loses_nothing(passage: str, terms: list[str]) -> None:
    cut = mark_matches(passage, terms)
    assert "".join(part.text for part in cut) == passage
    assert all(part.text for part in cut)
    assert all(first.matches is not second.matches for first, second in pairwise(cut))


@given(st.text("abİß Σ", max_size=40), st.text("abİß Σ", min_size=1, max_size=3))
def test_a_highlight_marks_every_place(passage: str, term: str) -> None:
    found = any(part.matches for part in mark_matches(passage, [term]))
    assert found or not re.search(re.escape(term), passage)


def test_the_whole_phrase_is_marked_rather_than_its_words() -> None:
    passage = Passage(
        id=UUID(int=1),
        title="On the moon",
        author_name=None,
        url="https://x.example/",
        claims=(),
        begins_before=False,
        text="The Moon, the sea",
        goes_on=False,
    )
    assert [found.field for found in find_highlights(passage, "the moon")] == ["TITLE", "TEXT"]
    (title,) = [found for found in find_highlights(passage, "moon on") if found.field == "TITLE"]
    assert [part.text for part in title.parts if part.matches] == ["On", "moon"]
    assert find_highlights(passage, "saturn") == []
