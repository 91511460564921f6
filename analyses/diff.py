"""What changed between two versions of a text, sentence by sentence, as a model can read it.

The same two texts always give the same words, so a run can be looked at again; and the work is bounded, because both
texts come from strangers. Nothing is guessed about meaning: sentences are equal or they are not.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from analyses.sequences import matching

NO_CHANGES: Final = "The text is the same in both versions."
SPACING_ONLY: Final = "The two versions differ in spacing alone."
HEAD: Final = """\
Sentence by sentence, earlier version against this one. Each line begins with its sign:
"-" only in the earlier version; "+" only in this version; "~" changed, with words taken out in [-...-] and words put \
in in {+...+}; "<" was here and now stands elsewhere; ">" stood elsewhere and is here now; "=" in both, for orientation.
"""
MAX_CHARACTERS: Final = 60_000
"""Of the rendered diff; the article itself is in the message anyway."""

_END = re.compile(r"(?<![.!?\"')\]])([.!?\"')\]]++)(?=\s)|[\u3002\uff01\uff1f]")
"""Possessive and behind a guard, or a page of full stops would take minutes."""
_ALIKE: Final = 0.5
_REACH: Final = 20
_HEAD_WORDS: Final = 12


@dataclass(frozen=True, slots=True)
class Kept:
    """In both, in the same order."""

    sentence: str


@dataclass(frozen=True, slots=True)
class Removed:
    """Only in the earlier text."""

    sentence: str


@dataclass(frozen=True, slots=True)
class Added:
    """Only in the later text."""

    sentence: str


@dataclass(frozen=True, slots=True)
class Changed:
    """One sentence in place of another that has most of its words."""

    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Left:
    """Stood here, and now stands where `Arrived` is."""

    sentence: str


@dataclass(frozen=True, slots=True)
class Arrived:
    """Stands here, and stood where `Left` is."""

    sentence: str


Step = Kept | Removed | Added | Changed | Left | Arrived


def sentences(text: str) -> list[str]:
    """The text's sentences, roughly: an abbreviation ends one too, which does no harm here."""
    ends = [found.end() for found in _END.finditer(text) if found[1] is None or any(c in ".!?" for c in found[1])]
    pieces = (text[start:end].strip() for start, end in zip([0, *ends], [*ends, len(text)], strict=True))
    return [piece for piece in pieces if piece]


def compare(old: str, new: str) -> list[Step]:
    """Every sentence of both texts, once.

    Shapes: the steps' old sides in order are the sentences of `old`, their new sides those of `new`. A sentence counts
    as removed or added only as often as one text has it more often than the other.
    """
    before, after = sentences(old), sentences(new)
    hunks = list(_hunks(before, after))
    moved = Counter(s for hunk in hunks for s in hunk.old) & Counter(s for hunk in hunks for s in hunk.new)
    leaving, arriving = Counter(moved), Counter(moved)
    steps: list[Step] = []
    for hunk in hunks:
        steps += map(Kept, hunk.kept)
        steps += _arranged(_taken(hunk.old, leaving), _taken(hunk.new, arriving))
    return steps


def diff(old: str, new: str) -> str:
    """The changes as text, with a sentence of orientation around each; never empty."""
    if old == new:
        return NO_CHANGES
    steps = compare(old, new)
    if all(isinstance(step, Kept) for step in steps):
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
    """A stretch of equal sentences, then one in which the texts differ."""

    kept: Sequence[str]
    old: Sequence[str]
    new: Sequence[str]


def _hunks(old: Sequence[str], new: Sequence[str]) -> Iterator[_Hunk]:
    kept: list[str] = []
    i = j = 0
    for at_old, at_new in (*matching(old, new), (len(old), len(new))):
        if (at_old, at_new) != (i, j):
            yield _Hunk(kept, old[i:at_old], new[j:at_new])
            kept = []
        kept += old[at_old : at_old + 1]
        i, j = at_old + 1, at_new + 1
    yield _Hunk(kept, (), ())


@dataclass(frozen=True, slots=True)
class _Place:
    """One sentence of a stretch; `moved`: it is in the other text too, at another place."""

    sentence: str
    moved: bool


def _taken(stretch: Sequence[str], left: Counter[str]) -> list[_Place]:
    places: list[_Place] = []
    for sentence in stretch:
        moved = left[sentence] > 0
        left[sentence] -= moved
        places.append(_Place(sentence, moved))
    return places


def _arranged(old: Sequence[_Place], new: Sequence[_Place]) -> Iterator[Step]:
    i = j = 0
    for at_old, at_new in (*_pairs(old, new), (len(old), len(new))):
        yield from (Left(p.sentence) if p.moved else Removed(p.sentence) for p in old[i:at_old])
        yield from (Arrived(p.sentence) if p.moved else Added(p.sentence) for p in new[j:at_new])
        if at_old < len(old):
            yield Changed(old[at_old].sentence, new[at_new].sentence)
        i, j = at_old + 1, at_new + 1


def _pairs(old: Sequence[_Place], new: Sequence[_Place]) -> Iterator[tuple[int, int]]:
    """Which sentence became which: each is given the nearest later one that has most of its words."""
    words = [Counter(place.sentence.split()) for place in new]
    first = 0
    for i, place in enumerate(old):
        if place.moved:
            continue
        mine = Counter(place.sentence.split())
        reach = range(first, min(first + _REACH, len(new)))
        alike = [(_likeness(mine, words[j]), -j) for j in reach if not new[j].moved]
        best, minus_j = max(alike, default=(0.0, 0))
        if best >= _ALIKE:
            yield i, -minus_j
            first = 1 - minus_j


def _likeness(one: Counter[str], other: Counter[str]) -> float:
    """Dice's coefficient over words."""
    return 2 * (one & other).total() / (one.total() + other.total())


def _lines(steps: Sequence[Step]) -> Iterator[str]:
    unsaid: list[str] = []
    begun = False
    for step in steps:
        if isinstance(step, Kept):
            unsaid.append(step.sentence)
            continue
        yield from _orientation(unsaid, after=begun, before=True)
        unsaid, begun = [], True
        yield _line(step)
    yield from _orientation(unsaid, after=True, before=False)


def _orientation(unsaid: Sequence[str], *, after: bool, before: bool) -> Iterator[str]:
    shown = [*unsaid[: 1 if after else 0]]
    last = [*unsaid[len(shown) :][-1:]] if before else []
    left_out = len(unsaid) - len(shown) - len(last)
    yield from (f"= {_head(sentence)}" for sentence in shown)
    if left_out:
        yield f"({left_out} unchanged)"
    yield from (f"= {_head(sentence)}" for sentence in last)


def _line(step: Step) -> str:
    match step:
        case Removed(sentence):
            return f"- {sentence}"
        case Added(sentence):
            return f"+ {sentence}"
        case Changed(old, new):
            return f"~ {marked(old, new)}"
        case Left(sentence):
            return f"< {_head(sentence)}"
        case Arrived(sentence):
            return f"> {sentence}"
        case Kept(sentence):
            return f"= {_head(sentence)}"


def marked(old: str, new: str) -> str:
    """A changed sentence, with the words taken out and put in marked."""
    before, after = old.split(), new.split()
    said: list[str] = []
    for hunk in _hunks(before, after):
        said += hunk.kept
        if hunk.old:
            said.append(f"[-{' '.join(hunk.old)}-]")
        if hunk.new:
            said.append(f"{{+{' '.join(hunk.new)}+}}")
    return " ".join(said)


def _head(sentence: str) -> str:
    words = sentence.split(maxsplit=_HEAD_WORDS)
    return sentence if len(words) <= _HEAD_WORDS else f"{' '.join(words[:_HEAD_WORDS])} ..."


__all__ = [
    "NO_CHANGES", "SPACING_ONLY", "Added", "Arrived", "Changed", "Kept", "Left", "Removed", "Step", "compare", "diff",
    "marked", "sentences",
]  # fmt: skip
