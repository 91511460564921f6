"""Choose a page's words to keep as evidence: only quotes that are really on the page, and few of them.

Source: requirements FH-137, FH-138, FH-143.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from itertools import islice
from typing import Final, NamedTuple

from analyses.snippets import WORD, PageText, find

MAX_WORDS: Final = 25
MAX_QUOTES: Final = 3
MAX_CHARACTERS: Final = 500
"""The longest quote: text without spaces may be a single word."""
SEPARATOR: Final = " […] "


class LookUp(StrEnum):
    """The outcome of the look-up of an item's quotes; items that are not `found` are dropped."""

    FOUND = "found"
    MISSING = "missing"
    UNAVAILABLE = "unavailable"
    NOT_LOOKED_UP = "not_looked_up"


class Checked(NamedTuple):
    """The outcome of the look-up, and the quotes to keep: none unless they were found."""

    outcome: LookUp
    quotes: tuple[str, ...]


def check_quotes(quotes: Sequence[str], page: PageText | None, *, looked_up: bool) -> Checked:
    """Look for all quotes of an item on its page, and shorten those to keep.

    Shapes: `looked_up` is whether the model searched or fetched the address in this run; `page` is the page as we read
    it, None if we could not. An item without a quote is missing.
    """
    if not looked_up:
        return Checked(LookUp.NOT_LOOKED_UP, ())
    if page is None:
        return Checked(LookUp.UNAVAILABLE, ())
    if not quotes or any(find(each, page) is None for each in quotes):
        return Checked(LookUp.MISSING, ())
    return Checked(LookUp.FOUND, cut_quotes(quotes))


def cut_quotes(quotes: Iterable[str]) -> tuple[str, ...]:
    """The first MAX_QUOTES quotes, each cut to MAX_WORDS words, with single spaces."""
    return tuple(islice((cut for each in quotes if (cut := _cut(each))), MAX_QUOTES))


def join_quotes(quotes: Iterable[str]) -> str:
    """Quotes as one text."""
    return SEPARATOR.join(quotes)


def _cut(quote: str) -> str:
    text = " ".join(quote.split())
    after = next(islice(WORD.finditer(text), MAX_WORDS, None), None)
    return text[: after.start() if after else None][:MAX_CHARACTERS].rstrip()
