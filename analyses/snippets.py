"""A quoted snippet counts only if its very words stand on the page it is said to be from.

A model can invent a quotation as easily as a fact, so what is folded away here is never a word: white space, the shape
of quotes and dashes, marks nobody sees. Case, spelling, numbers and order stay. Loosen that and an invented source
carries a correction.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from contracts.composed import nfc

LEAST_LETTERS: Final = 8
LEAST_WORDS: Final = 3
"""Letters and digits, and words, that a quote must have together: a name or a common word is on every page."""
LEAST_LETTERS_OF_A_PART: Final = 4
LARGEST_GAP: Final = 1_000
"""Characters that an ellipsis may leave out: words from two ends of a page are not one quotation."""
MOST_PARTS: Final = 12
"""Pieces that ellipses may leave of a quotation: each is looked for at thousands of places."""
AROUND: Final = 300
MOST_WORDS: Final = 2_000
_MOST_PLACES: Final = 10_000

_UNSEEN: Final = "\u00ad\u061c\u200b\u200c\u200d\u200e\u200f\u2060\ufe0e\ufe0f\ufeff" + "".join(
    map(chr, (*range(0x202A, 0x202F), *range(0x2066, 0x206A)))
)
_SHAPES: Final = str.maketrans(
    dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u301d\u301e\u301f\uff02", '"')
    | dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u02bc\u02b9\u0060\u00b4\uff07", "'")
    | dict.fromkeys("\u2010\u2011\u2012\u2013\u2212\ufe63\uff0d", "-")
    | dict.fromkeys("\u2014\u2015", " - ")
    | dict.fromkeys(_UNSEEN, "")
    | {"\u2026": "...", "\ufb00": "ff", "\ufb01": "fi", "\ufb02": "fl", "\ufb03": "ffi", "\ufb04": "ffl"}
    | {"\ufb05": "st", "\ufb06": "st", "\x00": ""}
)
_HIDDEN_BREAK: Final = re.compile("\u00ad[ \t]*\r?\n[ \t]*")
_GUILLEMETS: Final = re.compile(r"« ?| ?»|''")
_DOUBLE_DASH: Final = re.compile(r"-{2,}")
_BEFORE_MARK: Final = re.compile(r" +(?=[,.;:!?)\]])|(?<=[(\[]) +")
_ELLIPSIS: Final = re.compile(r" ?[\[(]? ?(?:\u2026|\.(?: ?\.){2,}) ?[\])]? ?")
_LINE_HYPHEN: Final = re.compile(r"(?<=\w)[-\u2010][ \t]*\r?\n\s*(?=\w)")
_FOOTNOTE: Final = re.compile(r" ?\[(?:\d{1,4}|[a-z]|(?:note|nb|n) \d{1,3}|[a-z ]{1,30} needed)\](?!\w)")
_GROUP: Final = re.compile(r" \d{3}(?!\d)")
_SPACELESS: Final = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")


def fold(text: str) -> str:
    """The same words in one spelling of white space, quotes and dashes; folding twice changes nothing more."""
    text = nfc(nfc(_HIDDEN_BREAK.sub("", text)).translate(_SHAPES))
    text = _DOUBLE_DASH.sub(" - ", _GUILLEMETS.sub('"', _spaced(text)))
    return _BEFORE_MARK.sub("", _spaced(text))


def _spaced(text: str) -> str:
    return " ".join(text.split())


@dataclass(frozen=True, slots=True)
class PageText:
    """A page's words as they can be read: folded, with and without footnote marks and hyphens at the ends of lines."""

    readings: tuple[str, ...]

    @property
    def size(self) -> int:
        """Characters kept."""
        return sum(map(len, self.readings))


def page_text(*texts: str) -> PageText:
    """Read a page's title and text once, for any number of snippets."""
    whole = "\n\n".join(texts)
    unbroken = (whole, _LINE_HYPHEN.sub("-", whole), _LINE_HYPHEN.sub("", whole))
    readings = [fold(each) for each in dict.fromkeys(unbroken)]
    readings += [_BEFORE_MARK.sub("", _spaced(_FOOTNOTE.sub("", each))) for each in readings]
    return PageText(tuple(dict.fromkeys(readings)))


def too_short(snippet: str) -> bool:
    """Whether these words are no quotation, wherever they stand. Shapes: without spaces every character is a word."""
    parts = _parts(snippet)
    words = sum(any(map(str.isalnum, word)) for part in parts for word in _SPACELESS.sub(r" \g<0> ", part).split())
    letters = [sum(map(str.isalnum, part)) for part in parts]
    return (
        words < LEAST_WORDS or sum(letters) < LEAST_LETTERS or any(each < LEAST_LETTERS_OF_A_PART for each in letters)
    )


def unfit(snippet: str) -> str | None:
    """Why a snippet is found on no page at all, for whoever wrote it; None if it can be looked for."""
    if too_short(snippet):
        return f"too few words to tell one page from another: copy at least {LEAST_WORDS} whole words of the page"
    if len(_parts(snippet)) > MOST_PARTS:
        return f"it leaves out too much: copy a passage of at most {MOST_PARTS} pieces"
    return None


def _parts(snippet: str) -> list[str]:
    return [part for part in (fold(each).strip(" \"'") for each in _ELLIPSIS.split(_spaced(snippet))) if part]


def find(snippet: str, page: PageText) -> str | None:
    """The snippet with the words around it, None if it is not on the page.

    Shapes: what an ellipsis in the snippet separates must follow each other on the page, no more than LARGEST_GAP
    apart. Words and numbers are found whole. The result is folded, and no longer than MOST_WORDS characters.
    """
    parts = _parts(snippet)
    if unfit(snippet):
        return None
    for text in page.readings:
        place = _chain(parts, text)
        if place is not None:
            return _around(text, *place)
    return None


def _chain(parts: list[str], text: str) -> tuple[int, int] | None:
    """The first place where all parts stand one after another."""
    chains = list(_places(parts[0], text))
    for part in parts[1:]:
        ends = [end for _, end in chains]
        longer: list[tuple[int, int]] = []
        for start, end in _places(part, text):
            before = bisect_right(ends, start) - 1
            if before >= 0 and start - ends[before] <= LARGEST_GAP:
                longer.append((chains[before][0], end))
        chains = longer
    return chains[0] if chains else None


def _places(part: str, text: str) -> Iterator[tuple[int, int]]:
    at = text.find(part)
    for _ in range(_MOST_PLACES):
        if at < 0:
            return
        end = at + len(part)
        if not _cuts(text, at) and not _cuts(text, end):
            yield at, end
        at = text.find(part, at + 1)


def _cuts(text: str, at: int) -> bool:
    """Whether a word or a number runs across this place: `legal` is not in `illegal`, nor `5` in `5.3` or `-5`."""
    if not 0 < at < len(text):
        return False
    before, after = text[at - 1], text[at]
    if _in_word(before) and _in_word(after):
        return not (_SPACELESS.match(before) or _SPACELESS.match(after))
    if before.isdigit() and (after in "%‰°" or _GROUP.match(text, at)):
        return True
    if after.isdigit() and (before in "-." or (_GROUP.match(text, at - 1) and text[at - 2 : at - 1].isdigit())):
        return True
    return _joins(before, after, text[at + 1 : at + 2]) or _joins(text[at - 2 : at - 1], before, after)


def _joins(left: str, mark: str, right: str) -> bool:
    """Whether a mark stands inside a word (`can't`, `non-profit`) or a number (`5.3`, `10:30`)."""
    if left.isdigit() and right.isdigit():
        return mark in "-'.,:/"
    return mark in "-'" and _in_word(left) and _in_word(right)


def _in_word(character: str) -> bool:
    return character != "" and (character.isalnum() or unicodedata.category(character)[0] == "M")


def _around(text: str, start: int, end: int) -> str:
    first, last = max(0, start - AROUND), min(len(text), end + AROUND)
    if first:
        first = text.find(" ", first, start) + 1 or first
    if last < len(text):
        last = max(text.rfind(" ", end, last), end)
    words = text[first:last]
    if len(words) > MOST_WORDS:
        words = f"{words[: MOST_WORDS // 2]} [...] {words[-MOST_WORDS // 2 + 7 :]}"
    return words
