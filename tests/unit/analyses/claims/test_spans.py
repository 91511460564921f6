"""A claim's words are found where they stand, in both ways of counting."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyses.claims.spans import AROUND, MAX_SPANS, Span, find_context, find_spans
from tests.support.audit_cases import HOSTILE


@pytest.mark.requirement("FH-158")
def test_the_printed_span() -> None:
    """FH-158: A claim's places in the text are stated in code points and UTF-16 units."""
    assert find_spans("The sky is blue.", "😀 The sky is blue.") == (Span(2, 18, 3, 19),)


@pytest.mark.parametrize(
    ("claim", "text", "spans"),
    [
        ("art", "party", None),
        ("art", "party art, art!", (Span(6, 9, 6, 9), Span(11, 14, 11, 14))),
        ("art", "artist", None),
        ("a b", "a  b", None),
        ("", "text", None),
        ("  ", "a b", None),
        ("a", "", None),
        (" a ", "a", (Span(0, 1, 0, 1),)),
        ("長城可以從月球上看到", "據報道長城可以從月球上看到，但", (Span(3, 13, 3, 13),)),
        ("万里の長城は月から見える", "彼は万里の長城は月から見えると言う。", (Span(2, 14, 2, 14),)),
        ("กำแพงเมืองจีน", "เห็นกำแพงเมืองจีนจากดวงจันทร์", (Span(4, 17, 4, 17),)),
        ("😀", "😀😀", (Span(0, 1, 0, 2), Span(1, 2, 2, 4))),
    ],
)
@pytest.mark.requirement("FH-158")
def test_spans(claim: str, text: str, spans: tuple[Span, ...] | None) -> None:
    """FH-158: A claim's places in the text are stated in code points and UTF-16 units."""
    assert find_spans(claim, text) == spans


def test_the_text_around_a_claim_is_cut_in_a_script_without_spaces_too() -> None:
    around = find_context("長城可見。", "字" * 1_000 + "長城可見。" + "字" * 1_000)
    assert around is not None
    assert len(around) == 2 * AROUND + 5


@given(HOSTILE | st.text("a😀 ", max_size=4), st.lists(HOSTILE | st.text("a😀 ", max_size=9), max_size=5))
@pytest.mark.requirement("FH-158")
def test_every_span_holds_the_words(claim: str, parts: list[str]) -> None:
    """FH-158: A claim's places in the text are stated in code points and UTF-16 units."""
    text = claim.join(parts)
    units = text.encode("utf-16-le", "surrogatepass")
    words = claim.strip()
    spans = find_spans(claim, text) or ()
    assert len(spans) <= MAX_SPANS
    for span in spans:
        assert text[span.start : span.end] == words
        if text.isprintable():  # a lone surrogate may pair with its neighbour once it is encoded
            found = units[2 * span.start_utf16 : 2 * span.end_utf16]
            assert found == words.encode("utf-16-le", "surrogatepass")
