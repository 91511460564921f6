"""Find a claim's words in a submitted text. Source: requirements FH-158."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import islice
from typing import Final, NamedTuple

from analyses.snippets import splits_word
from contracts.composed import nfc, nfd

MAX_SPANS: Final = 20
AROUND: Final = 300
"""Units: code points of context before and after a claim."""
_MAX_PLACES: Final = 1_000
"""The most places that are checked before the search ends."""
_SPACES: Final = re.compile(r"\s+")
_LONG_SPACES: Final = re.compile(r"\s{2,}")


class Span(NamedTuple):
    """A part of the text, half-open, in code points and in UTF-16 units."""

    start: int
    end: int
    start_utf16: int
    end_utf16: int


def find_spans(claim: str, text: str) -> tuple[Span, ...] | None:
    """The first places of a claim's words, verbatim and as whole words; None if there are none.

    White space between the words may differ: models write on one line what the text breaks into several.
    """
    return tuple(islice(_find(claim, text), MAX_SPANS)) or None


def find_context(claim: str, text: str) -> str | None:
    """The text around the first place of a claim's words, cut at whole words; None if the text lacks them."""
    for span in _find(claim, text):
        start, end = max(0, span.start - AROUND), min(len(text), span.end + AROUND)
        while start > 0 and splits_word(text, start):
            start -= 1
        while end < len(text) and splits_word(text, end):
            end += 1
        return text[start:end].strip()
    return None


def _find(claim: str, text: str) -> Iterator[Span]:
    spaced = _SPACES.sub(" ", text)
    words = _choose_form(claim, spaced)
    ends, extra = _measure_runs(text)
    counted = units = 0
    found = spaced.find(words) if words else -1
    for _ in range(_MAX_PLACES):
        if found < 0:
            return
        after = found + len(words)
        at, end = (each + extra[bisect_right(ends, each)] for each in (found, after))
        if not splits_word(text, at) and not splits_word(text, end):
            units += _count_units(text[counted:at])
            counted = at
            yield Span(at, end, units, units + _count_units(text[at:end]))
        else:
            after = found + 1
        found = spaced.find(words, after)


def _choose_form(claim: str, spaced: str) -> str:
    """The form of the claim's words that the text has: as given, composed or decomposed; as given if it has none."""
    composed = nfc(claim)
    forms = [" ".join(each.split()) for each in (claim, composed, "".join(map(nfd, composed)))]
    return next((each for each in forms if each in spaced), forms[0])


def _measure_runs(text: str) -> tuple[list[int], list[int]]:
    """The ends of long runs of white space in the text with single spaces, and the characters removed up to each."""
    ends, extra = list[int](), [0]
    for run in _LONG_SPACES.finditer(text):
        ends.append(run.start() - extra[-1] + 1)
        extra.append(extra[-1] + len(run[0]) - 1)
    return ends, extra


def _count_units(text: str) -> int:
    return len(text) if text.isascii() else sum(1 + (character > "\uffff") for character in text)
