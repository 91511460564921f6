"""Where a claim's words stand in a submitted text. Source: requirements FH-158."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final, NamedTuple

from analyses.snippets import SPACELESS

MAX_SPANS: Final = 20
AROUND: Final = 300
"""Code points before and after a claim."""
_MAX_PLACES: Final = 1_000
"""How many places inside longer words are passed over before the search ends."""


class Span(NamedTuple):
    """A part of the text, half-open, in code points and in UTF-16 units."""

    start: int
    end: int
    start_utf16: int
    end_utf16: int


def find_spans(claim: str, text: str) -> tuple[Span, ...] | None:
    """The first places of a claim's words, verbatim and as whole words; None if there are none."""
    return tuple(islice(_find(claim.strip(), text), MAX_SPANS)) or None


def find_context(claim: str, text: str) -> str | None:
    """The text around the first place of a claim's words, beginning and ending with whole words; None without one."""
    for span in _find(claim.strip(), text):
        start, end = max(0, span.start - AROUND), min(len(text), span.end + AROUND)
        while start > 0 and _splits_word(text, start):
            start -= 1
        while end < len(text) and _splits_word(text, end):
            end += 1
        return text[start:end].strip()
    return None


def _find(words: str, text: str) -> Iterator[Span]:
    counted = units = 0
    at = text.find(words) if words else -1
    for _ in range(_MAX_PLACES):
        if at < 0:
            return
        end = at + len(words)
        if not _splits_word(text, at) and not _splits_word(text, end):
            units += _count_units(text[counted:at])
            counted = at
            yield Span(at, end, units, units + _count_units(words))
        else:
            end = at + 1
        at = text.find(words, end)


def _splits_word(text: str, at: int) -> bool:
    """Whether this offset is inside a word, which no character is of a script without spaces."""
    if not 0 < at < len(text):
        return False
    return all(each.isalnum() and not SPACELESS.match(each) for each in text[at - 1 : at + 1])


def _count_units(text: str) -> int:
    return len(text) if text.isascii() else sum(1 + (character > "\uffff") for character in text)
