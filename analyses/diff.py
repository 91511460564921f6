"""The diff between two versions of a text, by sentences, formatted for models.

It is deterministic, so that runs can be replayed, and its cost is bounded, since both texts are untrusted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from analyses.sequences import match_sequences

NO_CHANGES: Final = "The text is the same in both versions."
SPACING_ONLY: Final = "The two versions differ in spacing alone."
HEAD: Final = """\
Sentence by sentence, earlier version against this one. Each line begins with its sign:
"-" only in the earlier version; "+" only in this version; "~" changed, with words taken out in [-...-] and words put \
in in {+...+}; "<" was here and now stands elsewhere; ">" stood elsewhere and is here now; "=" in both, for orientation.
"""
MAX_CHARACTERS: Final = 60_000
"""Longest rendered diff; the article itself is in the message anyway."""

_END = re.compile(r"(?<![.!?\"')\]])([.!?\"')\]]++)(?=\s)|[\u3002\uff01\uff1f]")
"""Possessive and after a lookbehind, since otherwise a page of full stops would take minutes."""
_MIN_SIMILARITY: Final = 0.5
_REACH: Final = 20
_HEAD_WORDS: Final = 12


class Step(NamedTuple):
    """A sentence with one of the signs that `HEAD` explains.

    Shapes: `old` is the sentence at this place of the earlier text, `new` that of the later one; None if it has none.
    """

    sign: Literal["=", "-", "+", "~", "<", ">"]
    old: str | None = None
    new: str | None = None


def sentences(text: str) -> list[str]:
    """Split into sentences, roughly: an abbreviation ends a sentence too, which is harmless here."""
    ends = [found.end() for found in _END.finditer(text) if found[1] is None or any(c in ".!?" for c in found[1])]
    pieces = (text[start:end].strip() for start, end in zip([0, *ends], [*ends, len(text)], strict=True))
    return [piece for piece in pieces if piece]


def compare(old: str, new: str) -> list[Step]:
    """The steps from one text to the other, with every sentence of both texts once.

    Shapes: the `old` sides of the steps are the sentences of `old` in order, their `new` sides those of `new`. Of a
    sentence that both texts have, only the surplus in one of them counts as removed or added.
    """
    before, after = sentences(old), sentences(new)
    hunks = list(_hunks(before, after))
    moved = Counter(s for hunk in hunks for s in hunk.old) & Counter(s for hunk in hunks for s in hunk.new)
    leaving, arriving = Counter(moved), Counter(moved)
    steps: list[Step] = []
    for hunk in hunks:
        steps += (Step("=", same, same) for same in hunk.unchanged)
        steps += _arrange(_mark_moved(hunk.old, leaving), _mark_moved(hunk.new, arriving))
    return steps


def diff(old: str, new: str) -> str:
    """The changes as text, each with an unchanged sentence around it; never empty."""
    if old == new:
        return NO_CHANGES
    steps = compare(old, new)
    if all(step.sign == "=" for step in steps):
        return SPACING_ONLY
    lines: list[str] = [HEAD]
    room = MAX_CHARACTERS
    for line in _lines(steps):
        lines.append(line[:room])
        if len(line) >= room:
            lines.append("(The rest is left out: too much has changed. Compare with the article.)")
            break
        room -= len(line) + 1
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class _Hunk:
    """A run of equal sentences, and the run after it in which the texts differ."""

    unchanged: Sequence[str]
    old: Sequence[str]
    new: Sequence[str]


def _hunks(old: Sequence[str], new: Sequence[str]) -> Iterator[_Hunk]:
    unchanged: list[str] = []
    i = j = 0
    for old_index, new_index in (*match_sequences(old, new), (len(old), len(new))):
        if (old_index, new_index) != (i, j):
            yield _Hunk(unchanged, old[i:old_index], new[j:new_index])
            unchanged = []
        unchanged += old[old_index : old_index + 1]
        i, j = old_index + 1, new_index + 1
    yield _Hunk(unchanged, (), ())


@dataclass(frozen=True, slots=True)
class _Place:
    """One sentence; `moved`: the other text has it too, at another place."""

    sentence: str
    moved: bool


def _mark_moved(segment: Sequence[str], left: Counter[str]) -> list[_Place]:
    places: list[_Place] = []
    for sentence in segment:
        moved = left[sentence] > 0
        left[sentence] -= moved
        places.append(_Place(sentence, moved))
    return places


def _arrange(old: Sequence[_Place], new: Sequence[_Place]) -> Iterator[Step]:
    i = j = 0
    for old_index, new_index in (*_pairs(old, new), (len(old), len(new))):
        yield from (Step("<" if p.moved else "-", old=p.sentence) for p in old[i:old_index])
        yield from (Step(">" if p.moved else "+", new=p.sentence) for p in new[j:new_index])
        if old_index < len(old):
            yield Step("~", old[old_index].sentence, new[new_index].sentence)
        i, j = old_index + 1, new_index + 1


def _pairs(old: Sequence[_Place], new: Sequence[_Place]) -> Iterator[tuple[int, int]]:
    """Pairs of indices of an old sentence and the most similar one of the next new ones, if it is similar enough."""
    words = [Counter(place.sentence.split()) for place in new]
    totals = [each.total() for each in words]
    first = 0
    for i, place in enumerate(old):
        if place.moved:
            continue
        mine = Counter(place.sentence.split())
        reach = range(first, min(first + _REACH, len(new)))
        count = mine.total()
        similar = [(_similarity(mine, words[j], count + totals[j]), -j) for j in reach if not new[j].moved]
        best, minus_j = max(similar, default=(0.0, 0))
        if best >= _MIN_SIMILARITY:
            yield i, -minus_j
            first = 1 - minus_j


def _similarity(one: Counter[str], other: Counter[str], both: int) -> float:
    """Dice's coefficient over words. `both` is the number of words of both, passed so that only `one` is iterated."""
    return 2 * (one & other).total() / both


def _lines(steps: Sequence[Step]) -> Iterator[str]:
    skipped: list[str] = []
    begun = False
    for step in steps:
        if step.sign == "=":
            skipped.append(step.new or "")
            continue
        yield from _orientation(skipped, after=begun, before=True)
        skipped, begun = [], True
        yield _line(step)
    yield from _orientation(skipped, after=True, before=False)


def _orientation(skipped: Sequence[str], *, after: bool, before: bool) -> Iterator[str]:
    shown = [*skipped[: 1 if after else 0]]
    last = [*skipped[len(shown) :][-1:]] if before else []
    left_out = len(skipped) - len(shown) - len(last)
    yield from (f"= {_head(sentence)}" for sentence in shown)
    if left_out:
        yield f"({left_out} unchanged)"
    yield from (f"= {_head(sentence)}" for sentence in last)


def _line(step: Step) -> str:
    old, new = step.old or "", step.new or ""
    match step.sign:
        case "~":
            said = mark_changes(old, new)
        case "<":
            said = _head(old)
        case _:
            said = old or new
    return f"{step.sign} {said}"


def mark_changes(old: str, new: str) -> str:
    """A changed sentence with its removed and added words marked."""
    before, after = old.split(), new.split()
    pieces: list[str] = []
    for hunk in _hunks(before, after):
        pieces += hunk.unchanged
        if hunk.old:
            pieces.append(f"[-{' '.join(hunk.old)}-]")
        if hunk.new:
            pieces.append(f"{{+{' '.join(hunk.new)}+}}")
    return " ".join(pieces)


def _head(sentence: str) -> str:
    words = sentence.split(maxsplit=_HEAD_WORDS)
    return sentence if len(words) <= _HEAD_WORDS else f"{' '.join(words[:_HEAD_WORDS])} ..."
