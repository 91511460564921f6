"""Only quotes that stand on their page are kept, and few words of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyses.claims.quotes import (
    MAX_CHARACTERS,
    MAX_QUOTES,
    MAX_WORDS,
    LookUp,
    check_quotes,
    cut_quotes,
    join_quotes,
)
from analyses.snippets import WORD, find, page_text
from tests.support.audit_cases import HOSTILE

PAGE = page_text(
    "Prices", "Prices rose by 3.5 percent in October, the office said. “It was a surprise,” its head added."
)
GOOD = "Prices rose by 3.5 percent in October"


@pytest.mark.parametrize(
    ("quotes", "outcome"),
    [
        ([GOOD], LookUp.FOUND),
        ([GOOD, '"It was a surprise"'], LookUp.FOUND),
        ([GOOD.replace("3.5", "3.6")], LookUp.MISSING),
        ([GOOD, "Prices will rise again"], LookUp.MISSING),
        (["Prices"], LookUp.MISSING),
        ([GOOD, ""], LookUp.MISSING),
        ([], LookUp.MISSING),
    ],
)
@pytest.mark.requirement("FH-143")
def test_every_quote_stands_on_the_page(quotes: list[str], outcome: LookUp) -> None:
    """FH-143: Every quote stands on the page as we read it, else its item is dropped and counted."""
    checked = check_quotes(quotes, PAGE, looked_up=True)
    assert checked.outcome is outcome
    assert checked.quotes == (tuple(quotes) if outcome is LookUp.FOUND else ())


@pytest.mark.requirement("FH-143")
def test_a_page_that_was_not_looked_up_or_not_read_proves_nothing() -> None:
    """FH-143: Every quote stands on the page as we read it, else its item is dropped and counted."""
    assert check_quotes([GOOD], PAGE, looked_up=False) == (LookUp.NOT_LOOKED_UP, ())
    assert check_quotes([GOOD], None, looked_up=True) == (LookUp.UNAVAILABLE, ())
    assert check_quotes([GOOD], None, looked_up=False) == (LookUp.NOT_LOOKED_UP, ())


@given(
    st.lists(HOSTILE | st.lists(st.sampled_from(["a", "中", "ab,", " ", "\n", "x" * 99]), max_size=90).map(" ".join))
)
@pytest.mark.requirement("FH-137")
def test_quotes_are_few_and_short(quotes: list[str]) -> None:
    """FH-137: A stored quote has at most 25 words, an item at most three quotes."""
    cut = cut_quotes(quotes)
    assert len(cut) <= MAX_QUOTES
    for quote in cut:
        assert quote
        assert len(WORD.findall(quote)) <= MAX_WORDS
        assert len(quote.split()) <= MAX_WORDS
        assert len(quote) <= MAX_CHARACTERS
    assert cut_quotes(cut) == cut


@pytest.mark.requirement("FH-137")
def test_the_twenty_sixth_word_is_cut() -> None:
    """FH-137: A stored quote has at most 25 words, an item at most three quotes."""
    words = [f"w{number}" for number in range(26)]
    assert cut_quotes([" \n".join(words)]) == (" ".join(words[:25]),)
    assert cut_quotes(["字" * 26]) == ("字" * 25,)
    assert cut_quotes(["a", " ", "b", "c", "d"]) == ("a", "b", "c")


@pytest.mark.requirement("FH-138")
def test_an_analysis_holds_a_bounded_number_of_words() -> None:
    """FH-138: An analysis holds a bounded number of verbatim words."""
    item = join_quotes(cut_quotes(["word " * 40] * 5))
    words = len(item.replace("[…]", "").split())
    scenarios, sources = 2, 6
    assert scenarios * sources * words == 900


def test_what_is_cut_still_stands_on_its_page() -> None:
    text = " ".join(f"word{number}" for number in range(60))
    checked = check_quotes([text], page_text(text), looked_up=True)
    assert find(checked.quotes[0], page_text(text))
    assert join_quotes(["a", "b"]) == "a […] b"
