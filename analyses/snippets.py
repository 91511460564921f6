"""Find a quoted snippet on a page; it counts only if its exact words are there.

A model can invent a quotation, so only white space, the shape of quotes and dashes, and invisible characters may
differ. Case, spelling, numbers and order must match.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from contracts.composed import nfc

MIN_LETTERS: Final = 8
MIN_WORDS: Final = 3
"""The fewest letters and digits, and words, of a quote: a name or a common word is on every page."""
MIN_LETTERS_OF_A_PART: Final = 4
MAX_GAP: Final = 1_000
"""The most characters that an ellipsis may leave out."""
MAX_PARTS: Final = 12
"""The most pieces of a quotation with ellipses: each is searched for at hundreds of places."""
AROUND: Final = 300
MAX_CHARACTERS: Final = 2_000
_MAX_PLACES: Final = 10_000
"""The most places of a reading that are checked, for all pieces of a quotation together."""

_VARIATIONS: Final = (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))
_INVISIBLE: Final = "\u00ad\u061c\u200b\u200c\u200d\u200e\u200f\u2060\ufeff" + "".join(
    map(chr, (*range(0x202A, 0x202F), *range(0x2066, 0x206A), *_VARIATIONS))
)
_SHAPES: Final = str.maketrans(
    dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u301d\u301e\u301f\uff02", '"')
    | dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u02bc\u02b9\u0060\u00b4\uff07", "'")
    | dict.fromkeys("\u2010\u2011\u2012\u2013\u2212\ufe63\uff0d", "-")
    | dict.fromkeys("\u2014\u2015", " - ")
    | dict.fromkeys(_INVISIBLE, "")
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
_SPACELESS_RANGES: Final = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
SPACELESS: Final = re.compile(f"[{_SPACELESS_RANGES}]")
WORD: Final = re.compile(rf"[{_SPACELESS_RANGES}]|[^\s{_SPACELESS_RANGES}]+")
"""A word between spaces, or a single character in scripts without spaces."""


def fold(text: str) -> str:
    """Unify white space, quotes and dashes; idempotent."""
    text = nfc(nfc(_HIDDEN_BREAK.sub("", text)).translate(_SHAPES))
    text = _DOUBLE_DASH.sub(" - ", _GUILLEMETS.sub('"', _collapse_spaces(text)))
    return _BEFORE_MARK.sub("", _collapse_spaces(text))


def _collapse_spaces(text: str) -> str:
    return " ".join(text.split())


@dataclass(frozen=True, slots=True)
class PageText:
    """A page's folded text in several readings: with and without footnote marks and hyphens at line ends."""

    readings: tuple[str, ...]

    @property
    def size(self) -> int:
        """Units: characters of memory."""
        return sum(map(len, self.readings))


def page_text(*texts: str) -> PageText:
    """Fold a page's title and text, for any number of snippets."""
    whole = "\n\n".join(texts)
    unbroken = (whole, _LINE_HYPHEN.sub("-", whole), _LINE_HYPHEN.sub("", whole))
    readings = [fold(each) for each in dict.fromkeys(unbroken)]
    readings += [_BEFORE_MARK.sub("", _collapse_spaces(_FOOTNOTE.sub("", each))) for each in readings]
    return PageText(tuple(dict.fromkeys(readings)))


def is_too_short(snippet: str) -> bool:
    """Whether a snippet is too short to identify a page. In scripts without spaces every character is a word."""
    parts = _parts(snippet)
    words = sum(any(map(str.isalnum, word)) for part in parts for word in WORD.findall(part))
    letters = [sum(map(str.isalnum, part)) for part in parts]
    return words < MIN_WORDS or sum(letters) < MIN_LETTERS or any(each < MIN_LETTERS_OF_A_PART for each in letters)


def find_defect(snippet: str) -> str | None:
    """Why `find` rejects a snippet on any page, in words for the model; None if it does not."""
    if is_too_short(snippet):
        return f"too few words to tell one page from another: copy at least {MIN_WORDS} whole words of the page"
    if len(_parts(snippet)) > MAX_PARTS:
        return f"it leaves out too much: copy a passage of at most {MAX_PARTS} pieces"
    return None


def _parts(snippet: str) -> list[str]:
    return [part for part in (fold(each).strip(" \"'") for each in _ELLIPSIS.split(_collapse_spaces(snippet))) if part]


def find(snippet: str, page: PageText) -> str | None:
    """The snippet with the words around it, None if it is not on the page.

    Shapes: the pieces between ellipses must follow each other on the page, at most MAX_GAP characters apart. Only whole
    words and numbers match. The result is folded, and no longer than MAX_CHARACTERS.
    """
    parts = _parts(snippet)
    if find_defect(snippet):
        return None
    for text in page.readings:
        place = _find_chain(parts, text)
        if place is not None:
            return _surround(text, *place)
    return None


def _find_chain(parts: list[str], text: str) -> tuple[int, int] | None:
    """The first place where all parts follow each other."""
    if not all(part in text for part in parts):
        return None
    most = _MAX_PLACES // len(parts)
    chains = list(_places(parts[0], text, most))
    for part in parts[1:]:
        ends = [end for _, end in chains]
        longer: list[tuple[int, int]] = []
        for start, end in _places(part, text, most):
            before = bisect_right(ends, start) - 1
            if before >= 0 and start - ends[before] <= MAX_GAP:
                longer.append((chains[before][0], end))
        chains = longer
    return chains[0] if chains else None


def _places(part: str, text: str, most: int) -> Iterator[tuple[int, int]]:
    at = text.find(part)
    for _ in range(most):
        if at < 0:
            return
        end = at + len(part)
        if not splits_word(text, at) and not splits_word(text, end):
            yield at, end
        at = text.find(part, at + 1)


def splits_word(text: str, at: int) -> bool:
    """Whether an offset is inside a word or number: so `legal` is not found in `illegal`, nor `5` in `5.3` or `-5`."""
    if not 0 < at < len(text):
        return False
    before, after = text[at - 1], text[at]
    if _in_word(before) and _in_word(after):
        return not (SPACELESS.match(before) or SPACELESS.match(after))
    if before.isdigit() and (after in "%‰°" or _GROUP.match(text, at)):
        return True
    if after.isdigit() and (before in "-." or (_GROUP.match(text, at - 1) and text[at - 2 : at - 1].isdigit())):
        return True
    return _is_joined(before, after, text[at + 1 : at + 2]) or _is_joined(text[at - 2 : at - 1], before, after)


def _is_joined(left: str, mark: str, right: str) -> bool:
    """Whether a mark is inside a word (`can't`, `non-profit`) or a number (`5.3`, `10:30`)."""
    if left.isdigit() and right.isdigit():
        return mark in "-'.,:/"
    return mark in "-'" and _in_word(left) and _in_word(right)


def _in_word(character: str) -> bool:
    return character != "" and (character.isalnum() or unicodedata.category(character)[0] == "M")


def _surround(text: str, start: int, end: int) -> str:
    first, last = max(0, start - AROUND), min(len(text), end + AROUND)
    if first:
        first = text.find(" ", first, start) + 1 or first
    if last < len(text):
        last = max(text.rfind(" ", end, last), end)
    words = text[first:last]
    if len(words) > MAX_CHARACTERS:
        words = f"{words[: MAX_CHARACTERS // 2]} [...] {words[-MAX_CHARACTERS // 2 + 7 :]}"
    return words
