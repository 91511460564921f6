"""Marks stand exactly on the quoted words, or nowhere; the text itself is never changed."""

from __future__ import annotations

from time import process_time

from hypothesis import given
from hypothesis import strategies as st

from services.gateway.public.site.quotes import (
    AROUND,
    WHOLE,
    Gap,
    Run,
    cut_passage,
    find_quote,
    find_spans,
    paginate_text,
    paragraph_starts,
    sentence_ends,
)

words = st.text(alphabet='ab .!?"é\u202e<&', max_size=60)


def said(pieces: list[tuple[Run, ...] | Gap]) -> str:
    return "".join(run.text for piece in pieces if not isinstance(piece, Gap) for run in piece)


def marked(pieces: list[tuple[Run, ...] | Gap], number: int) -> str:
    runs = [run for piece in pieces if not isinstance(piece, Gap) for run in piece]
    return "".join(run.text for run in runs if run.number == number)


def test_a_quote_is_marked_in_its_place() -> None:
    text = "The sun is hot. The moon is cheese. The sun is far."
    pieces = cut_passage(text, find_spans(text, [("The moon is cheese.", "hot. The moon is cheese. The")]), [])
    assert pieces == [
        (Run("The sun is hot. "), Run("The moon is cheese.", 1, first=True), Run(" The sun is far.")),
    ]


def test_of_two_places_the_context_decides_and_else_none_is_marked() -> None:
    text = "It is so. Then it was. It is so. And now."
    assert find_quote(text, "It is so.", "was. It is so. And") == (23, 32)
    assert find_quote(text, "It is so.", "It is so.") is None
    assert find_quote(text, "It is not so.", "was. It is so.") is None
    assert find_quote(text, "", "was") is None
    assert find_quote("aa", "a", "aa") is None


def test_findings_keep_their_numbers_whatever_their_order_in_the_text() -> None:
    text = "One thing. Another thing."
    found = find_spans(text, [("Another thing.", ""), ("nowhere", ""), ("One thing.", "")])
    assert [(span.number, text[span.start : span.end]) for span in found] == [(3, "One thing."), (1, "Another thing.")]


def test_quotes_may_overlap() -> None:
    text = "a b c d e"
    pieces = cut_passage(text, find_spans(text, [("a b c", "a b c"), ("b c d", "b c d")]), [])
    assert said(pieces) == text
    assert marked(pieces, 1) == "a "
    assert marked(pieces, 2) == "b c d"


@given(words, st.lists(st.tuples(st.integers(0, 59), st.integers(0, 20)), max_size=4), st.lists(st.integers(0, 60)))
def test_nothing_is_added_or_lost(text: str, cuts: list[tuple[int, int]], breaks: list[int]) -> None:
    found = find_spans(text, [(text[at : at + size], text) for at, size in cuts])
    pieces = cut_passage(text, found, [each for each in breaks if each < len(text)])
    assert said(pieces) == text
    assert all(run.text for piece in pieces if not isinstance(piece, Gap) for run in piece)


@given(st.text(alphabet="ab. ", max_size=80), st.text(alphabet="ab.#\n-[]() ", max_size=80))
def test_paragraphs_are_all_of_the_text(text: str, markdown: str) -> None:
    starts = paragraph_starts(text, markdown)
    assert starts == sorted(set(starts))
    assert "".join(piece for page in paginate_text(text, markdown) for piece in page) == text


def test_paragraphs_are_those_of_the_page() -> None:
    text = "The title of it all First words of the first paragraph. More. Second paragraph with a link. One item."
    markdown = (
        "# The title of it all\n\nFirst **words** of the first paragraph. More.\n\n"
        "Second paragraph with a [link](https://x.example/a).\n\n- One item.\n"
    )
    assert [piece for page in paginate_text(text, markdown) for piece in page] == [
        "The title of it all ",
        "First words of the first paragraph. More. ",
        "Second paragraph with a link. ",
        "One item.",
    ]


def test_a_heading_that_is_not_in_the_text_begins_nothing() -> None:
    text = "The Moon is far. The Moon is grey."
    assert paragraph_starts(text, "# Moon\n\nThe Moon is far. The Moon is grey.") == []


def test_without_the_page_a_long_text_is_broken_behind_sentences() -> None:
    text = "A sentence of some length that goes on for a while. " * 100
    starts = paragraph_starts(text, None)
    assert 5 < len(starts) < 12
    assert all(text[start:].startswith("A sentence") for start in starts)


def test_long_stretches_without_a_finding_are_left_out_and_counted() -> None:
    filler = "word " * 8_000
    text = f"{filler}The moon is cheese. {filler}"
    pieces = cut_passage(text, find_spans(text, [("The moon is cheese.", "")]), [])
    gaps = [piece for piece in pieces if isinstance(piece, Gap)]
    assert marked(pieces, 1) == "The moon is cheese."
    assert len(gaps) == 2
    assert sum(gap.words for gap in gaps) + len(said(pieces).split()) == len(text.split())
    assert len(said(pieces)) < 4 * AROUND


def test_a_long_text_without_findings_shows_its_beginning() -> None:
    text = "word " * 8_000
    pieces = cut_passage(text, [], [])
    assert isinstance(pieces[-1], Gap)
    assert WHOLE <= len(said(pieces)) < WHOLE + 100


def test_however_many_findings_there_are_the_page_stays_small() -> None:
    text = " ".join(f"Sentence number {n} of this text is wrong. {'filler ' * 300}" for n in range(200))
    quotes = [(f"Sentence number {n} of this text is wrong.", "") for n in range(200)]
    assert len(said(cut_passage(text, find_spans(text, quotes), []))) < 60_000


def test_hostile_texts_cost_little() -> None:
    began = process_time()
    for text in ("." * 400_000, ')"]' * 150_000, ". " * 200_000, "\u202e" * 400_000, "a" * 400_000):
        assert all(end <= len(text) for end in sentence_ends(text))
        cut_passage(text, find_spans(text, [("zz", text[:500])]), paragraph_starts(text, text))
    assert process_time() - began < 10
