"""The diff between two versions of a post for pages, by sentences, then by words.

The cost is bounded: segments that differ too much are shown as removed and added as a whole.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Literal

from services.gateway.public.site.quotes import sentence_ends

SENTENCE_EDITS: Final = 120
WORD_EDITS: Final = 60
SENTENCES: Final = 8_000
"""If more differ, old and new together, they are not compared."""
WORDS: Final = 16_000
"""How many words are compared, old and new together, in all changed sentences."""
SHOWN: Final = 30
CONTEXT: Final = 90
NEAR: Final = 1_000
LONGEST: Final = 1_500

_WORDS: Final = re.compile(r"\A\s+|\S+\s*")

Kind = Literal["same", "removed", "added"]


@dataclass(frozen=True, slots=True)
class Edit:
    """A piece of text and its kind of change."""

    kind: Kind
    text: str


Change = tuple[Edit, ...]


@dataclass(frozen=True, slots=True)
class Changes:
    """The places that differ, the first SHOWN of them, and how many more there are."""

    shown: tuple[Change, ...]
    more: int
    added_words: int
    removed_words: int


def compare_texts(old: str, new: str) -> Changes:
    """Compare two texts."""
    start, end = shared_ends(old, new)
    middle = sentences(old[start : len(old) - end]), sentences(new[start : len(new) - end])
    beginning, ending = Edit("same", old[:start]), Edit("same", old[len(old) - end :])
    edits = _merge([beginning, *compare(*middle, SENTENCE_EDITS, SENTENCES), ending])
    found: list[Change] = []
    added = removed = 0
    left = WORDS
    before = ""
    position = 0
    while position < len(edits):
        edit = edits[position]
        if edit.kind == "same":
            before = edit.text
            position += 1
            continue
        old_text, new_text = "", ""
        while position < len(edits) and edits[position].kind != "same":
            old_text += edits[position].text if edits[position].kind == "removed" else ""
            new_text += edits[position].text if edits[position].kind == "added" else ""
            position += 1
        after = edits[position].text if position < len(edits) else ""
        words = _WORDS.findall(old_text), _WORDS.findall(new_text)
        inside = compare(*words, WORD_EDITS, left)
        left = max(0, left - sum(map(len, words)))
        added += sum(len(each.text.split()) for each in inside if each.kind == "added")
        removed += sum(len(each.text.split()) for each in inside if each.kind == "removed")
        found.append(_in_context(before, inside, after))
    return Changes(tuple(found[:SHOWN]), max(0, len(found) - SHOWN), added, removed)


def shared_ends(old: str, new: str, near: int = NEAR) -> tuple[int, int]:
    """How many characters of whole sentences both texts begin and end with, found without splitting all of them.

    Edges are looked for at most `near` characters from the difference. Shapes: at both edges sentences of both texts
    begin, and the two parts do not overlap.
    """
    shared = _count_equal(lambda size: old[:size] == new[:size], min(len(old), len(new)))
    left = max(0, shared - near)
    # A sentence that ends where the texts begin to differ may go on with white space in one of them.
    starts = [left + at for at in sentence_ends(old[left:shared]) if left + at < shared]
    start = starts[-1] if starts else 0
    shared = _count_equal(
        lambda size: old[len(old) - size :] == new[len(new) - size :], min(len(old), len(new)) - start
    )
    behind = old[len(old) - shared :][:near]
    return start, next((shared - at for at in sentence_ends(behind) if at < len(behind)), 0)


def _count_equal(is_equal: Callable[[int], bool], most: int) -> int:
    """The largest size up to `most` that is equal, where all smaller ones are."""
    return bisect_left(range(1, most + 1), x=True, key=lambda size: not is_equal(size))


def sentences(text: str) -> list[str]:
    """Split a text after each sentence. Shapes: all pieces joined are the text."""
    edges = [0, *sentence_ends(text), len(text)]
    return [text[start:end] for start, end in pairwise(edges) if start < end]


def _in_context(before: str, inside: Sequence[Edit], after: str) -> Change:
    edits = [Edit("same", _tail(before)), *(_shorten(each) for each in inside), Edit("same", _head(after))]
    return tuple(edit for edit in edits if edit.text)


def _tail(text: str) -> str:
    return text if len(text) <= CONTEXT else "…" + text[-CONTEXT:]


def _head(text: str) -> str:
    return text if len(text) <= CONTEXT else text[:CONTEXT] + "…"


def _shorten(edit: Edit) -> Edit:
    limit = 2 * CONTEXT + 40 if edit.kind == "same" else LONGEST
    if len(edit.text) <= limit:
        return edit
    return Edit(edit.kind, edit.text[: limit // 2] + " … " + edit.text[-limit // 2 :])


def compare(old: Sequence[str], new: Sequence[str], limit: int, most: int = SENTENCES) -> list[Edit]:
    """A shortest edit script, if it has at most `limit` edits in at most `most` differing pieces; else the whole middle
    is removed and added.

    Shapes: neighbours differ in kind; without the added edits, the texts joined are the old text, without the removed
    ones the new text. Source: E. Myers, An O(ND) difference algorithm and its variations, 1986.
    """
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    a, b = old[start : len(old) - end], new[start : len(new) - end]
    middle = _shortest_edits(a, b, limit) if len(a) + len(b) <= most else None
    if middle is None:
        middle = [Edit("removed", "".join(a)), Edit("added", "".join(b))]
    before, after = "".join(old[:start]), "".join(old[len(old) - end :])
    return _merge([Edit("same", before), *middle, Edit("same", after)])


def _shortest_edits(a: Sequence[str], b: Sequence[str], limit: int) -> list[Edit] | None:
    reach: dict[int, int] = {1: 0}
    trail: list[dict[int, int]] = []
    for edits in range(min(limit, len(a) + len(b)) + 1):
        trail.append(dict(reach))
        for diagonal in range(-edits, edits + 1, 2):
            down = diagonal == -edits or (diagonal != edits and reach[diagonal - 1] < reach[diagonal + 1])
            x = reach[diagonal + 1] if down else reach[diagonal - 1] + 1
            y = x - diagonal
            while x < len(a) and y < len(b) and a[x] == b[y]:
                x, y = x + 1, y + 1
            reach[diagonal] = x
            if x >= len(a) and y >= len(b):
                return _backtrack(a, b, trail)
    return None


def _backtrack(a: Sequence[str], b: Sequence[str], trail: Sequence[dict[int, int]]) -> list[Edit]:
    x, y = len(a), len(b)
    backwards: list[Edit] = []
    for edits in range(len(trail) - 1, -1, -1):
        reach, diagonal = trail[edits], x - y
        down = diagonal == -edits or (diagonal != edits and reach[diagonal - 1] < reach[diagonal + 1])
        from_diagonal = diagonal + 1 if down else diagonal - 1
        from_x = reach[from_diagonal]
        from_y = from_x - from_diagonal
        while x > from_x and y > from_y:
            x, y = x - 1, y - 1
            backwards.append(Edit("same", a[x]))
        if edits:
            backwards.append(Edit("added", b[from_y]) if down else Edit("removed", a[from_x]))
        x, y = from_x, from_y
    return backwards[::-1]


def _merge(edits: Sequence[Edit]) -> list[Edit]:
    joined: list[Edit] = []
    same: list[str] = []
    old_text: list[str] = []
    new_text: list[str] = []

    def flush(*kinds: tuple[Kind, list[str]]) -> None:
        for kind, pieces in kinds:
            if text := "".join(pieces):
                joined.append(Edit(kind, text))
            pieces.clear()

    for edit in edits:
        if not edit.text:
            continue
        if edit.kind == "same":
            flush(("removed", old_text), ("added", new_text))
            same.append(edit.text)
        else:
            flush(("same", same))
            (old_text if edit.kind == "removed" else new_text).append(edit.text)
    flush(("same", same), ("removed", old_text), ("added", new_text))
    return joined
