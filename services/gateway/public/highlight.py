"""Highlights matches in the passages of a search result.

Characters are compared in lower case, as in the index; the parts of a passage joined are the passage.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Final

from services.gateway.record.investigations import Passage

SHOWN: Final = 240
WORD: Final = 40
"""Where no word ends within this many characters, a word is cut."""


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a passage. `matches`: it is one of the search terms."""

    text: str
    matches: bool


@dataclass(frozen=True, slots=True)
class Highlight:
    """A passage of one field; the parts joined are the passage."""

    field: str
    parts: tuple[Part, ...]


def _lower(text: str) -> str:
    """Lower case of the same length, so that offsets are those of the text."""
    return "".join(small if len(small := letter.lower()) == 1 else letter for letter in text)


def mark_matches(passage: str, terms: Iterable[str]) -> tuple[Part, ...]:
    """Split a passage at its matches. Shapes: no part is empty; neighbours differ in `matches`."""
    lowered, marks = _lower(passage), [False] * len(passage)
    for term in {_lower(term) for term in terms if term}:
        at = lowered.find(term)
        while at >= 0:
            marks[at : at + len(term)] = [True] * len(term)
            at = lowered.find(term, at + len(term))
    runs = groupby(zip(passage, marks, strict=True), key=itemgetter(1))
    return tuple(Part("".join(letter for letter, _ in run), marked) for marked, run in runs)


def find_highlights(passage: Passage, query: str) -> list[Highlight]:
    """The passages of one result that contain the query, or its single words if none contains the whole."""
    claims = [said for claim in passage.claims for said in (claim.text, claim.summary, claim.reasoning)]
    fields = [
        ("TITLE", passage.title),
        ("AUTHOR", passage.author_name),
        ("URL", passage.url),
        *(("CLAIM", said) for said in claims),
        ("TEXT", clip(passage.text, before=passage.begins_before, after=passage.goes_on)),
    ]
    for terms in ([query], query.split()):
        cuts = (Highlight(field, mark_matches(_around(text, terms), terms)) for field, text in fields if text)
        found = [each for each in cuts if any(part.matches for part in each.parts)]
        if found:
            return found
    return []


def _around(passage: str, terms: list[str]) -> str:
    if len(passage) <= SHOWN:
        return passage
    lowered = _lower(passage)
    places = [at for term in terms if (at := lowered.find(_lower(term))) >= 0]
    start = max(0, min(places, default=0) - SHOWN // 3)
    return clip(passage[start : start + SHOWN], before=start > 0, after=start + SHOWN < len(passage))


def clip(piece: str, *, before: bool, after: bool) -> str:
    """Trim partial words at the ends of a piece, where the text continues `before` or `after` it."""
    start, end = piece.find(" ", 0, WORD), piece.rfind(" ", len(piece) - WORD)
    if after:
        piece = piece[:end].rstrip() + " …" if end > 0 else piece + "…"
    if before:
        piece = "… " + piece[start:].lstrip() if start >= 0 else "…" + piece
    return piece
