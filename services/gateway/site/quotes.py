"""Where the findings stand in the post: its text, cut so that each wrong sentence is marked in its place.

A quote whose place is not certain is marked nowhere. No character of the text is added or changed; long stretches in
which nothing was found are left out, and the page says how many words they have.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from platforms.text import normalize
from services.gateway.site.leaves import LEAF, cut, leaves, weight

WHOLE: Final = 16_000
"""Of a long text without findings, so many characters are shown."""
AROUND: Final = 500
OPENING: Final = 900
SHOWN: Final = 32_000
"""What is shown of a text weighs at most so much. Units: bytes of HTML."""
PARAGRAPH: Final = 24
"""What the marks of a paragraph weigh."""
FLOWING: Final = 700
"""Where the page's own paragraphs are not known, a sentence's end after so many characters begins a new one."""

_LOOK_AHEAD: Final = 20_000
_HEAD: Final = 40
_SURE: Final = 24
"""Fewer characters may stand anywhere; they begin a paragraph only behind the end of a sentence."""
_LOST: Final = 12
_BLOCKS: Final = 1_500
_BLOCK_END: Final = re.compile(r"\n\s*\n|\n(?=[ \t]*(?:[-*+]|\d+[.)])\s)")
_LEADING: Final = re.compile(r"^(?:\s*(?:#{1,6}\s|>\s?|[-*+]\s|\d+[.)]\s|\|\s?))+")
_LINK: Final = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*\)")
_MARKS: Final = re.compile(r"[*_`\\]+")
_ENDED: Final = re.compile(r"[.!?:。！？][\"')\]]* $")
_SENTENCE_END: Final = re.compile(r"(?<=[.!?。！？])[\"')\]]*\s+")


@dataclass(frozen=True, slots=True)
class Span:
    """A finding's place. Units: code points; `number` counts findings from 1."""

    start: int
    end: int
    number: int


@dataclass(frozen=True, slots=True)
class Run:
    """A piece of a paragraph. `number`: the finding it belongs to, 0 for none; `first`: it begins there."""

    text: str
    number: int = 0
    first: bool = False


@dataclass(frozen=True, slots=True)
class Gap:
    """Words that are left out here."""

    words: int


Paragraph = tuple[Run, ...]


def find_quote(text: str, quote: str, context: str) -> tuple[int, int] | None:
    """Where the quote stands; None if it could be either of two places, or is nowhere."""
    start = _only(text, quote)
    if start is None:
        around, inside = _only(text, context), _only(context, quote)
        if around is None or inside is None:
            return None
        start = around + inside
    return start, start + len(quote)


def _only(text: str, part: str) -> int | None:
    at = text.find(part) if part else -1
    return None if at < 0 or text.find(part, at + 1) >= 0 else at


def spans(text: str, quotes: Iterable[tuple[str, str]]) -> list[Span]:
    """The places of the quotes, given with their contexts, in the order of the text."""
    found = [
        Span(*place, number)
        for number, (quote, context) in enumerate(quotes, 1)
        if (place := find_quote(text, quote, context)) is not None
    ]
    return sorted(found, key=lambda span: (span.start, span.number))


def paragraph_starts(text: str, markdown: str | None) -> list[int]:
    """Where paragraphs begin, after the first: as on the page if its Markdown is known, else at ends of sentences.

    The text has none of its own. A block whose first words are not found begins no paragraph.
    """
    starts: list[int] = []
    at = lost = 0
    for block in _BLOCK_END.split(markdown or "", maxsplit=_BLOCKS):
        head = normalize(_MARKS.sub("", _LINK.sub(r"\1", _LEADING.sub("", block[: 8 * _HEAD]))))[:_HEAD]
        found = text.find(head, at, at + _LOOK_AHEAD) if len(head) > 2 else -1
        if found > 0 and len(head) < _SURE and not _ENDED.search(text, max(0, found - 4), found):
            continue
        if found < 0:
            lost += 1
            if lost > _LOST:
                break
            continue
        lost = 0
        if found > at:
            starts.append(found)
        at = found + 1
    return starts or _sentence_starts(text)


def _sentence_starts(text: str) -> list[int]:
    starts, previous = [], 0
    for end in sentence_ends(text):
        if end - previous >= FLOWING and end < len(text):
            starts.append(end)
            previous = end
    return starts


def sentence_ends(text: str) -> list[int]:
    """Where a sentence has ended and its white space too, as far as signs tell."""
    return [end.end() for end in _SENTENCE_END.finditer(text)]


def passage(text: str, marked: Sequence[Span], starts: Sequence[int]) -> list[Paragraph | Gap]:
    """The text in paragraphs, with marks and gaps. Shapes: without gaps, all runs together are the text."""
    shown = _shown(text, marked)
    edges = sorted({0, len(text), *starts, *(edge for piece in shown for edge in piece)}
        | {edge for span in marked for edge in (span.start, span.end)})  # fmt: skip
    breaks = set(starts)
    result: list[Paragraph | Gap] = []
    runs: list[Run] = []
    for start, end in pairwise(edges):
        visible = any(first <= start and end <= last for first, last in shown)
        if runs and (start in breaks or not visible):
            result.append(tuple(runs))
            runs = []
        if visible:
            over = [span for span in marked if span.start <= start and end <= span.end]
            number = over[-1].number if over else 0
            runs.append(Run(text[start:end], number, any(span.start == start for span in over[-1:])))
        elif result and isinstance(result[-1], Gap):
            result[-1] = Gap(result[-1].words + _words(text[start:end]))
        else:
            result.append(Gap(_words(text[start:end])))
    return [*result, tuple(runs)] if runs else result


def whole(text: str, markdown: str | None) -> list[list[str]]:
    """All of the text, page by page, in paragraphs. Shapes: all of them together are the text."""
    starts = paragraph_starts(text, markdown)
    edges = zip([0, *starts], [*starts, len(text)], strict=True)
    paragraphs = [piece for start, end in edges for piece in cut(text[start:end], LEAF // 2)]
    return leaves(paragraphs, lambda piece: weight(piece) + PARAGRAPH, LEAF)


def _words(text: str) -> int:
    return len(text.split())


def _shown(text: str, marked: Sequence[Span]) -> list[tuple[int, int]]:
    """Which stretches are shown. Shapes: in order, none touches the next."""
    if len(text) <= SHOWN and weight(text) <= SHOWN:
        return [(0, len(text))]
    opening = OPENING if marked else len(next(cut(text[:WHOLE], SHOWN)))
    wanted = [(0, opening), *((span.start - AROUND, span.end + AROUND) for span in marked)]
    pieces: list[tuple[int, int]] = []
    for start, end in ((_space(text, start), _space(text, end)) for start, end in wanted):
        if pieces and start <= pieces[-1][1] + AROUND:
            longer = [*pieces[:-1], (pieces[-1][0], max(end, pieces[-1][1]))]
        else:
            longer = [*pieces, (start, end)]
        if sum(weight(text[first:last]) for first, last in longer) > SHOWN:
            break
        pieces = longer
    return pieces or [(0, OPENING)]


def _space(text: str, near: int) -> int:
    """A place between words, or not far from there where words have no end."""
    if near <= 0 or near >= len(text):
        return max(0, min(near, len(text)))
    at = text.find(" ", near, near + 80)
    return near if at < 0 else at + 1
