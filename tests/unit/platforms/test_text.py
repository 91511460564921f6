"""The canonical text holds its promises for any input."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from contracts.composed import nfc
from platforms.markup_cost import UnparseableHtml
from platforms.text import JS_SPACE, html_to_text, join_surrogates, js_trim, normalize, utf16_length, word_count
from tests.support.text_index import normalize_with_index

TRICKY = "ae \t\n\u0085\u001c\u00a0\u0300\u0301\u0323\u0327\u0345\u0f73\u0f75\u1100\u1161\u11a8\u0cc6\u0cc2\u0958\u00e9"
TRICKY += "\u200b\u200d\ufeff\u2014\u201c\u2019\u2026\u3000\u212b\ud83e\uddc0\U0001f9c0\U0001d15e\U0001611e"
texts = st.text(st.sampled_from(TRICKY) | st.characters(codec=None), max_size=60)
MARKUP = "<p> </p> <b> </b> <table> <td> <svg> <math> <template> <!-- --> <li> </div> <script> </script> <a href='x "
MARKUP += """'> "> &amp; &#0; text \ud800 \0"""
fragments = st.lists(st.sampled_from([*MARKUP.split(" "), " "]), max_size=40).map("".join)


@given(texts)
@example("a\u200b\u0301")
def test_nothing_forbidden_is_left(raw: str) -> None:
    text = normalize(raw)
    assert not re.search("[\u200b-\u200d\ufeff\u2010-\u2015\u2018\u2019\u201c\u201d\u2026]", text)
    assert not re.search(f"(?! )[{JS_SPACE}]|  ", text)
    assert text == js_trim(text)


@given(texts.filter(lambda raw: not re.search("[\u200b-\u200d\ufeff]", raw)))
def test_canonical_text_stays_as_it_is(raw: str) -> None:
    # Without zero-width marks, that is: letter, mark of no width, accent become two neighbours that then compose.
    assert normalize(normalize(raw)) == normalize(raw)


@given(texts)
def test_the_index_follows_the_text(raw: str) -> None:
    text, to_raw = normalize_with_index(raw)
    assert text == normalize(raw)
    assert len(to_raw) == utf16_length(text)
    assert list(to_raw) == sorted(to_raw)
    assert all(0 <= position < max(1, utf16_length(raw)) for position in to_raw)


@given(st.lists(texts, min_size=1, max_size=6), st.integers(700, 1500))
def test_long_texts_compose_as_short_ones_do(pieces: list[str], times: int) -> None:
    # Words are independent of one another, so composing them singly is the reference.
    words = [nfc(join_surrogates(piece)) for piece in pieces]
    assert nfc(" ".join(map(join_surrogates, pieces * times))) == " ".join(words * times)


@given(st.text(st.characters(codec=None), max_size=40))
def test_length_is_what_javascript_counts(text: str) -> None:
    assert utf16_length(text) == sum(2 if character > "\uffff" else 1 for character in text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", 0),
        ("  ", 0),
        ("one", 1),
        (" one  two ", 2),
        ("a\u0085b\u001cc", 1),
        ("a\ufeffb", 2),
        ("a\u00a0b\u3000c", 3),
    ],
)
def test_words_lie_between_javascript_spaces(text: str, words: int) -> None:
    assert word_count(text) == words


@given(texts)
def test_words_of_canonical_text_lie_between_its_spaces(raw: str) -> None:
    text = normalize(raw)
    assert word_count(text) == (text.count(" ") + 1 if text else 0)


@given(fragments | st.text(max_size=80))
def test_any_html_gives_canonical_text(html: str) -> None:
    text = html_to_text(html)
    assert text == js_trim(text)
    json.dumps(text).encode("utf-8")


@given(st.text(st.characters(exclude_characters="<&\0", exclude_categories=["Cs"]), max_size=60))
def test_text_without_markup_is_itself(text: str) -> None:
    assert html_to_text(text) == normalize(text)


@pytest.mark.requirement("3.8-03")
@given(st.text("ab <>", max_size=20))
def test_scripts_never_count(script: str) -> None:
    """3.8-03: Scripts and styles are no text."""
    assert html_to_text(f"x<script>{script}</script>y") == "xy"


@pytest.mark.parametrize(
    "html",
    [
        "<svg><sup>x",
        "<p><MATH><mrow><sup>x",
        "<svg><desc><svg><g><sup><p>x",
        "<svg/><sup>x</sup><svg><sup>x",
        "<svg><mtext><sup>x",
        "<math><title><sup>x",
        "<math><annotation-xml><sup>x",
        "<math><annotation-xml encoding=MathML><sup>x",
        "<svg><annotation-xml encoding=text/html><sup>x",
    ],
)
def test_what_the_parser_reads_otherwise_than_browsers_is_refused(html: str) -> None:
    with pytest.raises(UnparseableHtml, match="SVG or MathML"):
        html_to_text(html)


@pytest.mark.parametrize(
    "html",
    [
        "<svg/><sup>x",
        "<sup><svg>x</svg></sup>",
        "<svg><foreignObject><p><sup>x",
        "<math><mtext><sup>x",
        "<svg><sub>x",
        "<math><annotation-xml encoding=text/HTML><p><sup>x",
        "<math><annotation-xml encoding=application/xhtml+xml><sup>x",
    ],
)
def test_superscripts_beside_and_inside_pictures_are_read(html: str) -> None:
    assert html_to_text(html) == "x"
