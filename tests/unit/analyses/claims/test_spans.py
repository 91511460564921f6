"""A claim's words are found where they stand, in both ways of counting."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyses.claims.spans import AROUND, MAX_SPANS, Span, find_context, find_spans
from contracts.composed import nfc
from tests.support.audit_cases import HOSTILE
from tests.support.growth import assert_linear


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
        ("a b", "a  b", (Span(0, 4, 0, 4),)),
        ("It was closed.", "It was\n\tclosed.", (Span(0, 15, 0, 15),)),
        ("a b", " x\n\n a  b \n\ta\nb", (Span(5, 9, 5, 9), Span(12, 15, 12, 15))),
        ("a b", "ab", None),
        ("The bridge cost 5", "The bridge cost 5.3 million.", None),
        ("\u092a\u0941\u0932 \u092c", "\u092a\u0941\u0932 \u092c\u0902\u0926", None),
        ("cafe", "the cafe\u0301", None),
        ("the caf\u00e9", "😀 the cafe\u0301.", (Span(2, 11, 3, 12),)),
        ("the cafe\u0301", "the caf\u00e9", (Span(0, 8, 0, 8),)),
        ("Vi\u1ec7t", "Vie\u0323\u0302t", (Span(0, 6, 0, 6),)),
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


def test_a_claim_is_looked_for_in_the_time_that_the_text_takes() -> None:
    assert_linear(lambda n: find_spans("a " * n + "b", "a  " * (50 * n)), lambda n: n, 100)


@given(HOSTILE | st.text("a😀 ", max_size=4), st.lists(HOSTILE | st.text("a😀 ", max_size=9), max_size=5))
@pytest.mark.requirement("FH-158")
def test_every_span_holds_the_words(claim: str, parts: list[str]) -> None:
    """FH-158: A claim's places in the text are stated in code points and UTF-16 units."""
    text = claim.join(parts)
    units = text.encode("utf-16-le", "surrogatepass")
    spans = find_spans(claim, text) or ()
    assert len(spans) <= MAX_SPANS
    for span in spans:
        held = text[span.start : span.end]
        assert nfc(" ".join(held.split())) == nfc(" ".join(claim.split()))
        if text.isprintable():  # a lone surrogate may pair with its neighbour once it is encoded
            found = units[2 * span.start_utf16 : 2 * span.end_utf16]
            assert found == held.encode("utf-16-le", "surrogatepass")
