"""Unicode's composed forms, at a cost that grows with the length of the text and with nothing else.

The results are those of the library below, which alone is quadratic: it puts marks into their order one exchange at a
time, and makes room for what it decomposes in steps of ten characters. Half a megabyte of accents would hold a process
for a minute.
"""

from __future__ import annotations

import re
from io import StringIO
from itertools import groupby
from typing import Final, Literal

import unicodedata2  # type: ignore[import-untyped,import-not-found,unused-ignore]  # a C extension without type stubs

_LONG: Final = 16
_LONG_RUN: Final = re.compile(rf"[^\w\x00-\x7f]{{{_LONG},}}")
"""What may hold many marks in a row: no mark that trades places is a letter or a digit, whatever one's Unicode data."""
_ASCII: Final = re.compile(r"[\x00-\x7f]+")
_STRETCH_LENGTH: Final = 4096
_STRETCH: Final = re.compile(rf".{{1,{_STRETCH_LENGTH}}}[^\x00-\x7f]*", re.DOTALL)
"""Pieces that begin with an ASCII character, which composition never joins to what precedes it."""
_CHUNK: Final = 64
_VOICED: Final = (("\uff9e", "\u3099"), ("\uff9f", "\u309a"))
"""The only letters that become marks in NFKC, so in a row they are no run of marks before."""


def nfc(text: str) -> str:
    """Canonical composition with Unicode data as new as browsers': Python's own tables are several years behind."""
    return text if text.isascii() else _composed("NFC", _ordered_runs("NFD", text))


def nfkc(text: str) -> str:
    """Compatibility composition with the same data."""
    if text.isascii():
        return text
    for letter, mark in _VOICED:
        text = text.replace(letter, mark)
    return _composed("NFKC", _ordered_runs("NFKD", text))


def nfd(character: str) -> str:
    """The canonical decomposition of a single character."""
    return _normalized("NFD", character)


def combining_class(character: str) -> int:
    """The canonical combining class: 0 for everything but marks that may trade places."""
    combining: int = unicodedata2.combining(character)
    return combining


def _composed(form: Literal["NFC", "NFKC"], text: str) -> str:
    if len(text) <= _STRETCH_LENGTH:
        return _normalized(form, text)
    # Stretches that are composed already, nearly all of them, cost a glance only.
    return "".join(_composed_stretch(form, stretch) for stretch in _STRETCH.findall(text))


def _composed_stretch(form: Literal["NFC", "NFKC"], stretch: str) -> str:
    if len(stretch) > 2 * _STRETCH_LENGTH:
        # Decomposed piece by piece, the whole needs no more room than it has.
        decomposed: Literal["NFD", "NFKD"] = "NFD" if form == "NFC" else "NFKD"
        pieces = (stretch[at : at + _STRETCH_LENGTH] for at in range(0, len(stretch), _STRETCH_LENGTH))
        stretch = "".join(_normalized(decomposed, piece) for piece in pieces)
    return _normalized(form, stretch)


def _ordered_runs(form: Literal["NFD", "NFKD"], text: str) -> str:
    if all(len(between) < _LONG for between in _ASCII.split(text)):
        return text  # as most European texts are, at a glance
    return _LONG_RUN.sub(lambda run: _ordered(form, run[0]), text)


def _ordered(form: Literal["NFD", "NFKD"], run: str) -> str:
    """Decompose a run and put its marks into canonical order: by class, and within one as they come."""
    ordered = StringIO()
    waiting: dict[int, StringIO] = {}

    def wait(marks: str) -> None:
        for mark_class, equal in groupby(marks, unicodedata2.combining):
            waiting.setdefault(mark_class, StringIO()).write("".join(equal))

    def release() -> None:
        for mark_class in sorted(waiting):
            ordered.write(waiting[mark_class].getvalue())
        waiting.clear()

    for at in range(0, len(run), _CHUNK):
        chunk = _normalized(form, run[at : at + _CHUNK])
        classes = bytes(map(unicodedata2.combining, chunk))
        first = classes.find(0)
        if first < 0:
            wait(chunk)
            continue
        last = classes.rfind(0)
        wait(chunk[:first])
        release()
        ordered.write(chunk[first : last + 1])
        wait(chunk[last + 1 :])
    release()
    return ordered.getvalue()


def _normalized(form: Literal["NFC", "NFD", "NFKC", "NFKD"], text: str) -> str:
    normalized: str = unicodedata2.normalize(form, text)
    return normalized
