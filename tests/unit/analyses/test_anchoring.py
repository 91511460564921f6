"""A claim passes only on words that are in the text, at one place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyses import flagging_kind
from contracts.v1.parts import ClaimPayload, Source

FACT_CHECK = flagging_kind("FACT_CHECK")
PAGE = Source(url="https://example.org", title="t", snippet="s")
TEXT = 'It was late. Bats are blind. So they say - and "experts" agree... Owls are not. Moths are. Bats fly. Moths are.'


def claim(text: str, context: str, *urls: str) -> ClaimPayload:
    sources = tuple(Source(url=url, title="t", snippet="s") for url in urls) or (PAGE,)
    return ClaimPayload(text=text, context=context, summary="s", reasoning="r", sources=sources)


@pytest.mark.parametrize(
    ("text", "context"),
    [
        ("Bats are blind.", "late. Bats are blind. So they"),
        ("Bats are blind.", TEXT),
        ("Moths are.", "not. Moths are. Bats"),
    ],
)
def test_a_verbatim_quote_at_one_place_passes(text: str, context: str) -> None:
    assert FACT_CHECK.check(claim(text, context), TEXT) is None


@pytest.mark.requirement("2.4.2-03")
@pytest.mark.parametrize(
    ("text", "context", "reason"),
    [
        ("Bats are deaf.", TEXT, "quote is not verbatim"),
        ("bats are blind.", TEXT, "quote is not verbatim"),
        ("Bats  are blind.", TEXT, "quote is not verbatim"),
        (" ", TEXT, "quote is not verbatim"),
        ("", TEXT, "quote is not verbatim"),
        ("Bats are blind.", "late! Bats are blind. So", "context is not verbatim"),
        ("Bats are blind.", "Owls are not.", "does not contain"),
        ("Moths are.", "Moths are.", "more than once"),
        ("Moths are.", TEXT, "more than once"),
    ],
)
def test_anything_else_is_refused(text: str, context: str, reason: str) -> None:
    """2.4.2-03: Claims rest on the text, with pictures too."""
    rejection = FACT_CHECK.check(claim(text, context), TEXT)
    assert rejection is not None
    assert reason in rejection.reason


@pytest.mark.parametrize("url", ["", "javascript:alert(1)", "ftp://a.example", "https://", "see my book"])
def test_every_source_must_be_a_web_page(url: str) -> None:
    assert FACT_CHECK.check(claim("Bats are blind.", TEXT, "https://a.example", url), TEXT) is not None


def test_overlapping_repeats_count_as_two_places() -> None:
    assert FACT_CHECK.check(claim("a b a", "a b a b a"), "a b a b a") is not None


@pytest.mark.requirement("2.4.4-05")
@pytest.mark.parametrize(
    "quote",
    [
        "Bats are blind.",
        "**Bats** are _blind_.",
        'Bats are [blind](https://example.org/a_(b) "title").',
        "*Bats are* `blind`.",
        "> Bats are blind.",
        "- Bats are\n  blind.",
        "## Bats are blind.",
        "1. Bats are blind.",
        r"Bats are blind\.",
        "~~Bats~~ are blind.",
        " Bats\u00a0are \u200bblind. ",
    ],
)
def test_markdown_is_dropped_where_the_rest_is_verbatim(quote: str) -> None:
    """2.4.4-05: Markdown signs are taken out of quotes before they are stored."""
    anchored = FACT_CHECK.anchor(claim(quote, f"It was late. {quote} So they say"), TEXT)
    assert anchored.text == "Bats are blind."
    assert FACT_CHECK.check(anchored, TEXT) is None


def test_typography_is_brought_to_that_of_the_text() -> None:
    quote = "So they say \u2013 and \u201cexperts\u201d agree\u2026"
    anchored = FACT_CHECK.anchor(claim(quote, f"blind. {quote} Owls"), TEXT)
    assert anchored.text == 'So they say - and "experts" agree...'
    assert FACT_CHECK.check(anchored, TEXT) is None


def test_marks_that_belong_to_the_text_stay() -> None:
    text = "Use snake_case * 2 and a*b. The name is_not [sic] wrong."
    for quote in ("Use snake_case * 2 and a*b.", "The name is_not [sic] wrong."):
        assert FACT_CHECK.anchor(claim(quote, text), text).text == quote


def test_a_garbled_context_is_taken_from_the_text_if_the_place_is_certain() -> None:
    anchored = FACT_CHECK.anchor(claim("Bats are blind.", "something like: bats are blind"), TEXT)
    assert anchored.context.startswith("It was late. Bats are blind. So they say")
    assert FACT_CHECK.check(anchored, TEXT) is None
    doubtful = claim("Moths are.", "something like: moths are")
    assert FACT_CHECK.anchor(doubtful, TEXT).context == doubtful.context


def test_what_is_not_in_the_text_is_left_as_it_came() -> None:
    foreign = claim("**Cats** are blind.", "**Cats** are blind.")
    assert FACT_CHECK.anchor(foreign, TEXT) is foreign


words = st.lists(st.sampled_from(["a", "b", "*c*", "_d_", "[e](f)", "\u201cg\u201d", "-"]), max_size=12).map(" ".join)


@given(text=words, quote=words, context=words)
def test_a_repair_is_verbatim_or_does_not_happen(text: str, quote: str, context: str) -> None:
    before = claim(quote, context)
    after = FACT_CHECK.anchor(before, text)
    assert after is before or after.text in text
    assert after.context == context or (after.context in text and after.text in after.context)
    assert FACT_CHECK.check(before, text) is not None or FACT_CHECK.anchor(before, text) == before


@given(text=words, start=st.integers(0, 40), length=st.integers(0, 20))
def test_what_passes_is_verbatim(text: str, start: int, length: int) -> None:
    quote = text[start : start + length]
    if FACT_CHECK.check(claim(quote, text), text) is None:
        assert quote.strip()
        assert text.count(quote) == 1


@pytest.mark.requirement("2.6-15")
@pytest.mark.parametrize(
    ("quote", "contexts"),
    [
        (
            "Bats are blind.",
            ["Bats are blind.", "It was late. Bats are blind.", "Bats are blind. So", "late!"],
        ),
        ("Moths are.", ["Owls are not. Moths are.", "not. Moths are. Bats", "Moths are. Bats fly."]),
        ("Moths are.", ["fly. Moths are.", "Bats fly. Moths are."]),
    ],
)
def test_the_same_words_at_the_same_place_are_the_same_claim(quote: str, contexts: list[str]) -> None:
    """2.6-15: A request during a run starts no second one."""
    places = {FACT_CHECK.locate(claim(quote, context), TEXT) for context in contexts}
    assert len(places) == 1


def test_the_same_words_elsewhere_or_nowhere_in_particular_are_another_claim() -> None:
    contexts = ("not. Moths are.", "fly. Moths are.", "Moths are.")
    assert len({FACT_CHECK.locate(claim("Moths are.", context), TEXT) for context in contexts}) == 3
