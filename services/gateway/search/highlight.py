"""Which words of a passage were found, so that a reader sees why a result is one; a cut passage says so with dots.

Letters are compared one by one in lower case, as the index does; a passage put together from its parts is the passage.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

SHOWN: Final = 240
WORD: Final = 40
"""Where no word ends within so many characters, words are cut."""


def _lowered(text: str) -> str:
    """Lower case of the same length, so that places in it are places in the text."""
    return "".join(small if len(small := letter.lower()) == 1 else letter for letter in text)


def parts(passage: str, terms: Iterable[str]) -> list[dict[str, Any]]:
    """The passage cut at what was found. Shapes: no part is empty; neighbours differ in `matches`."""
    lowered, marks = _lowered(passage), [False] * len(passage)
    for term in {_lowered(term) for term in terms if term}:
        at = lowered.find(term)
        while at >= 0:
            marks[at : at + len(term)] = [True] * len(term)
            at = lowered.find(term, at + len(term))
    cut: list[dict[str, Any]] = []
    for letter, marked in zip(passage, marks, strict=True):
        if cut and cut[-1]["matches"] is marked:
            cut[-1]["text"] += letter
        else:
            cut.append({"text": letter, "matches": marked})
    return cut


def highlights(passages: Mapping[str, Any], sought: str) -> list[dict[str, Any]]:
    """The passages of one result that say it; its words one by one only where the whole is nowhere."""
    fields = [
        ("TITLE", passages["title"]),
        ("AUTHOR", passages["author_name"]),
        ("URL", passages["url"]),
        *(("CLAIM", claim[part]) for claim in passages["claims"] for part in ("text", "summary", "reasoning")),
        ("TEXT", clipped(passages["text"], before=passages["begins_before"], after=passages["goes_on"])),
    ]
    for terms in ([sought], sought.split()):
        cuts = [(field, parts(_around(passage, terms), terms)) for field, passage in fields if passage]
        found = [{"field": field, "parts": cut} for field, cut in cuts if any(part["matches"] for part in cut)]
        if found:
            return found
    return []


def _around(passage: str, terms: list[str]) -> str:
    if len(passage) <= SHOWN:
        return passage
    lowered = _lowered(passage)
    places = [at for term in terms if (at := lowered.find(_lowered(term))) >= 0]
    start = max(0, min(places, default=0) - SHOWN // 3)
    return clipped(passage[start : start + SHOWN], before=start > 0, after=start + SHOWN < len(passage))


def clipped(piece: str, *, before: bool, after: bool) -> str:
    """A piece of a text without the halves of words at its ends, where the text goes `before` or `after` it."""
    start, end = piece.find(" ", 0, WORD), piece.rfind(" ", len(piece) - WORD)
    if after:
        piece = piece[:end].rstrip() + " …" if end > 0 else piece + "…"
    if before:
        piece = "… " + piece[start:].lstrip() if start >= 0 else "…" + piece
    return piece
