"""Sentence matching of the demo model.

Two sentences match if their words are equal, ignoring case, punctuation, articles and the spelling of numbers. There is
no similarity threshold, since only equality prevents the flagging of a true sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

SENTENCE = re.compile(r"[^.!?]+(?:\.(?=\w)[^.!?]+)*(?:[.!?]+[\"')\]]*|$)")
_PLAIN = re.compile(r"(?=[^\W_a-z])(?:[\w ,;%\u00b0-]|(?<=\w)'(?=\w))+[.!]?")
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*|%")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}\b)")
_QUOTATION_MARK = re.compile(r"[\"\u00ab\u00bb\u201e]")
_SINGLE_OPEN = re.compile(r"(?<![\w'])'(?=\w)")
_SINGLE_CLOSE = re.compile(r"[\w.,!?]'(?!\w)")
_SINGLE_QUOTE_REACH = 600
LONGEST_SENTENCE = 200
"""Units: characters. No phrasing is longer, so a longer sentence is not even folded."""

_IGNORED = frozenset({"a", "an", "the", "actually", "really", "simply", "literally", "basically", "famously"})
_SAME = {
    "zero": "0", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8",
    "nine": "9", "ten": "10", "twelve": "12", "twenty": "20", "fifty": "50", "ninety": "90", "%": "percent",
    "it's": "it is", "there's": "there is", "that's": "that is", "cannot": "can not", "can't": "can not", "won't":
    "will not",
}  # fmt: skip
_LEAD = re.compile(
    r"(?:in fact|indeed|of course|also|and|moreover|interestingly|surprisingly|amazingly|every(?:one|body) knows that|"
    r"as everyone knows|as we all know|we all know that|it is (?:well known|(?:well known )?fact) that|remember that) "
)
"""Openings that add no meaning, in folded form."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A plain sentence outside any quotation. Units: `start` and `end` are code points of the text."""

    start: int
    end: int
    words: str


def fold(sentence: str) -> str:
    """The words by which a sentence is compared with another."""
    lowered = _THOUSANDS.sub("", sentence.lower().replace("\u2019", "'").replace("per cent", "percent"))
    folded = " ".join(_plain_word(word) for word in _WORD.findall(lowered) if word not in _IGNORED)
    return _LEAD.sub("", folded, count=1) if _LEAD.match(folded) else folded


def _plain_word(word: str) -> str:
    same = _SAME.get(word)
    if same is not None or "'" not in word:
        return same or word
    return word.replace("n't", " not").replace("'", "")


def plain_sentences(text: str) -> Iterator[Sentence]:
    """Sentences that could be plain statements, in order; questions and sentences with marked words are left out."""
    for found in SENTENCE.finditer(text):
        words = found.group().strip()
        if len(words) <= LONGEST_SENTENCE and _PLAIN.fullmatch(words):
            start = text.index(words[0], found.start())
            yield Sentence(start, start + len(words), fold(words))


def quotations(text: str) -> list[tuple[int, int]]:
    """Spans inside double quotation marks. A mark opens after white space and closes after a letter, as writers do."""
    spans: list[tuple[int, int]] = []
    opened: int | None = None
    for found in _QUOTATION_MARK.finditer(text):
        place, mark = found.start(), found.group()
        opens = mark in "\u00ab\u201e" or (mark == '"' and (place == 0 or text[place - 1] in " ([-"))
        if opens and opened is None:
            opened = place
        elif not opens and opened is not None:
            spans.append((opened, place))
            opened = None
    if opened is not None:
        spans.append((opened, len(text)))
    return spans


def between_single_quotes(text: str, start: int, end: int) -> bool:
    """Whether a single quotation mark could open before the span and close after it; apostrophes count, for safety."""
    before, after = text[max(0, start - _SINGLE_QUOTE_REACH) : start], text[end : end + _SINGLE_QUOTE_REACH]
    return bool(_SINGLE_OPEN.search(before) and _SINGLE_CLOSE.search(after))
