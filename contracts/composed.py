"""Unicode normalisation (NFC, NFKC, NFD) in linear time.

The library alone is quadratic: it sorts marks by exchanges and grows its buffer in steps of ten characters, so half a
megabyte of accents would block a process for a minute. The results are the library's.
"""

from __future__ import annotations

import re
from io import StringIO
from itertools import groupby
from typing import Final, Literal

import unicodedata2  # type: ignore[import-untyped,import-not-found,unused-ignore]  # a C extension without type stubs

_LONG: Final = 16
_LONG_RUN: Final = re.compile(rf"[^\w\x00-\x7f]{{{_LONG},}}")
"""A possible long run of marks: no mark that is reordered is a letter or a digit in any Unicode version."""
_ASCII: Final = re.compile(r"[\x00-\x7f]+")
_SEGMENT_LENGTH: Final = 4096
_SEGMENT: Final = re.compile(rf".{{1,{_SEGMENT_LENGTH}}}[^\x00-\x7f]*", re.DOTALL)
"""Pieces that begin with an ASCII character, which never composes with what precedes it."""
_CHUNK: Final = 64
_VOICED: Final = (("\uff9e", "\u3099"), ("\uff9f", "\u309a"))
"""The only letters that become marks in NFKC, which `_LONG_RUN` therefore does not find."""


def nfc(text: str) -> str:
    """Normalise to NFC with Unicode data as new as browsers': Python's own tables are several years older."""
    return text if text.isascii() else _compose("NFC", _order_runs("NFD", text))


def nfkc(text: str) -> str:
    """Normalise to NFKC with the same data."""
    if text.isascii():
        return text
    for letter, mark in _VOICED:
        text = text.replace(letter, mark)
    return _compose("NFKC", _order_runs("NFKD", text))


def nfd(character: str) -> str:
    """Normalise a single character to NFD."""
    return _normalize("NFD", character)


def combining_class(character: str) -> int:
    """The canonical combining class: 0 for everything but marks that are reordered."""
    combining: int = unicodedata2.combining(character)
    return combining


def _compose(form: Literal["NFC", "NFKC"], text: str) -> str:
    if len(text) <= _SEGMENT_LENGTH:
        return _normalize(form, text)
    # Nearly all segments are composed already, which the library's quick check finds.
    return "".join(_compose_segment(form, segment) for segment in _SEGMENT.findall(text))


def _compose_segment(form: Literal["NFC", "NFKC"], segment: str) -> str:
    if len(segment) > 2 * _SEGMENT_LENGTH:
        # Decomposed piece by piece, the library's buffer stays small.
        decomposed: Literal["NFD", "NFKD"] = "NFD" if form == "NFC" else "NFKD"
        pieces = (segment[at : at + _SEGMENT_LENGTH] for at in range(0, len(segment), _SEGMENT_LENGTH))
        segment = "".join(_normalize(decomposed, piece) for piece in pieces)
    return _normalize(form, segment)


def _order_runs(form: Literal["NFD", "NFKD"], text: str) -> str:
    if all(len(between) < _LONG for between in _ASCII.split(text)):
        return text  # the fast path, for most European texts
    return _LONG_RUN.sub(lambda run: _order(form, run[0]), text)


def _order(form: Literal["NFD", "NFKD"], run: str) -> str:
    """Decompose a run and sort its marks stably by combining class."""
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
        chunk = _normalize(form, run[at : at + _CHUNK])
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


def _normalize(form: Literal["NFC", "NFD", "NFKC", "NFKD"], text: str) -> str:
    normalized: str = unicodedata2.normalize(form, text)
    return normalized
