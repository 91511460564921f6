"""The post's text with its findings marked.

A quote whose place is ambiguous is not marked. No character of the text is changed; long segments without findings are
replaced by gaps with their number of words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from platforms.text import normalize
from services.gateway.public.site.pagination import LEAF, cut, paginate, weight

WHOLE: Final = 16_000
"""How many characters of a long text without findings are shown."""
AROUND: Final = 500
OPENING: Final = 900
SHOWN: Final = 32_000
"""The largest shown part of a text. Units: bytes of HTML."""
PARAGRAPH: Final = 24
"""The size of a paragraph's tags."""
FLOWING: Final = 700
"""Without known paragraphs, a new one begins at a sentence's end after this many characters."""

_LOOK_AHEAD: Final = 20_000
_HEAD: Final = 40
_SURE: Final = 24
"""Shorter heads are ambiguous; they begin a paragraph only after the end of a sentence."""
_LOST: Final = 12
_BLOCKS: Final = 1_500
_BLOCK_END: Final = re.compile(r"\n\s*\n|\n(?=[ \t]*(?:[-*+]|\d+[.)])\s)")
_LEADING: Final = re.compile(r"^(?:\s*(?:#{1,6}\s|>\s?|[-*+]\s|\d+[.)]\s|\|\s?))+")
_LINK: Final = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*\)")
_MARKS: Final = re.compile(r"[*_`\\]+")
_ENDED: Final = re.compile(r"[.!?:。！？][\"')\]]* $")
_SENTENCE_END: Final = re.compile(r"[.!?。！？][\"')\]]*\s+")


@dataclass(frozen=True, slots=True)
class Span:
    """A finding's place. Units: code points; `number` counts findings from 1."""

    start: int
    end: int
    number: int


@dataclass(frozen=True, slots=True)
class Run:
    """A piece of a paragraph. `number`: its finding, 0 for none; `first`: the finding begins here."""

    text: str
    number: int = 0
    first: bool = False


@dataclass(frozen=True, slots=True)
class Gap:
    """Omitted words."""

    words: int


Paragraph = tuple[Run, ...]


def find_quote(text: str, quote: str, context: str) -> tuple[int, int] | None:
    """The place of the quote; None if it is ambiguous or not in the text."""
    start = _find_unique(text, quote)
    if start is None:
        around, inside = _find_unique(text, context), _find_unique(context, quote)
        if around is None or inside is None:
            return None
        start = around + inside
    return start, start + len(quote)


def _find_unique(text: str, part: str) -> int | None:
    at = text.find(part) if part else -1
    return None if at < 0 or text.find(part, at + 1) >= 0 else at


def find_spans(text: str, quotes: Iterable[tuple[str, str]]) -> list[Span]:
    """The places of (quote, context) pairs, in the order of the text."""
    found = [
        Span(*place, number)
        for number, (quote, context) in enumerate(quotes, 1)
        if (place := find_quote(text, quote, context)) is not None
    ]
    return sorted(found, key=lambda span: (span.start, span.number))


def paragraph_starts(text: str, markdown: str | None) -> list[int]:
    """The offsets of paragraphs after the first: as in the Markdown if there is any, else at ends of sentences.

    A block whose first words are not found begins no paragraph.
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


def sentence_ends(text: str) -> Iterator[int]:
    """The offsets after each sentence and its white space, by punctuation."""
    return (end.end() for end in _SENTENCE_END.finditer(text))


def cut_passage(text: str, marked: Sequence[Span], starts: Sequence[int]) -> list[Paragraph | Gap]:
    """Cut the text into paragraphs with marks and gaps. Shapes: without gaps, all runs joined are the text."""
    shown = _visible_segments(text, marked)
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


def paginate_text(text: str, markdown: str | None) -> list[list[str]]:
    """The whole text in pages of paragraphs. Shapes: all of them joined are the text."""
    starts = paragraph_starts(text, markdown)
    edges = zip([0, *starts], [*starts, len(text)], strict=True)
    paragraphs = [piece for start, end in edges for piece in cut(text[start:end], LEAF // 2)]
    return paginate(paragraphs, lambda piece: weight(piece) + PARAGRAPH, LEAF)


def _words(text: str) -> int:
    return len(text.split())


def _visible_segments(text: str, marked: Sequence[Span]) -> list[tuple[int, int]]:
    """The shown segments. Shapes: in order, disjoint."""
    if len(text) <= SHOWN and weight(text) <= SHOWN:
        return [(0, len(text))]
    opening = OPENING if marked else len(next(cut(text[:WHOLE], SHOWN)))
    segments = [(0, opening), *((span.start - AROUND, span.end + AROUND) for span in marked)]
    pieces: list[tuple[int, int]] = []
    for start, end in ((_snap_to_space(text, start), _snap_to_space(text, end)) for start, end in segments):
        if pieces and start <= pieces[-1][1] + AROUND:
            longer = [*pieces[:-1], (pieces[-1][0], max(end, pieces[-1][1]))]
        else:
            longer = [*pieces, (start, end)]
        if sum(weight(text[first:last]) for first, last in longer) > SHOWN:
            break
        pieces = longer
    return pieces or [(0, OPENING)]


def _snap_to_space(text: str, near: int) -> int:
    """The next offset between words, or the given one if there is none nearby."""
    if near <= 0 or near >= len(text):
        return max(0, min(near, len(text)))
    at = text.find(" ", near, near + 80)
    return near if at < 0 else at + 1
