"""The guard of a claim: what its canonical form loses although it matters (numbers, symbols, accented words, time).

Two claims are equal only if their keys and their guards are. Source: requirements A.5.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import groupby
from typing import Final, NamedTuple

import unicodedata2  # type: ignore[import-untyped,import-not-found,unused-ignore]  # a C extension without type stubs

from contracts.composed import nfc

SYMBOLS: Final = frozenset("‰<>≤≥=≠≈~+±×÷*/^√")
_SELECTORS: Final = frozenset(map(chr, (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))
_DASHES: Final = frozenset("\u2212\u2013")
_NUMBER: Final = re.compile(r"[+-]?[0-9]+(?:[.,:/-][0-9]+)*")
_SYMBOL: Final = re.compile(r"(?P<percent>%|\bpercent(?:age)?\b)|(?P<minus>(?<= )-(?= ))|[^\w\s]", re.IGNORECASE)


class Guard(NamedTuple):
    """The parts of a claim that are compared besides its key; each in the order of the text."""

    numbers: tuple[str, ...]
    symbols: tuple[str, ...]
    words: tuple[str, ...]
    anchor: str

    def canonical_json(self) -> str:
        """The guard in RFC 8785 form, whose hash is part of an assertion's id."""
        return json.dumps(self, ensure_ascii=False, separators=(",", ":"))


def make_guard(text: str, anchor: str) -> Guard:
    """The guard of a claim's own words; `anchor` is the result of `anchor.find_anchor`."""
    text = simplify(text)
    numbers: list[str] = []
    between: list[str] = []
    at = 0
    for start, end in _numbers(text):
        numbers.append(text[start:end])
        between.append(text[at:start])
        at = end
    rest = "0".join((*between, text[at:]))  # a digit separates the words around a number, and is no symbol
    return Guard(tuple(numbers), tuple(_symbols(rest)), tuple(_words(text)), anchor)


def simplify(text: str) -> str:
    """`text` in NFC, with one form of spaces, dashes and decimal digits, and without invisible characters."""
    text = nfc(text)
    return text if text.isascii() and text.isprintable() else "".join(map(_simplify_character, text))


def _simplify_character(character: str) -> str:
    if character.isspace():
        return " "
    if character in _DASHES:
        return "-"
    match unicodedata2.category(character):
        case "Cf":
            return ""
        case "Nd":
            return str(unicodedata2.decimal(character))
        case _:
            return "" if character in _SELECTORS else character


def _numbers(text: str) -> Iterator[tuple[int, int]]:
    for found in _NUMBER.finditer(text):
        start, end = found.span()
        if text[start] in "+-" and start and text[start - 1] not in " (" and not is_currency(text[start - 1]):
            start += 1
        yield start, end


def _symbols(text: str) -> Iterator[str]:
    for found in _SYMBOL.finditer(text):
        if found["percent"]:
            yield "%"
        elif found["minus"] or found[0] in SYMBOLS or is_currency(found[0]):
            yield found[0]


def _words(text: str) -> Iterator[str]:
    if text.isascii():
        return
    for is_word, run in groupby(text, lambda each: unicodedata2.category(each)[0] in "LM"):
        word = "".join(run) if is_word else ""
        if not word.isascii():
            yield word.casefold()


def is_currency(character: str) -> bool:
    """Whether a character is a currency sign; False for the empty text."""
    return character != "" and unicodedata2.category(character) == "Sc"
