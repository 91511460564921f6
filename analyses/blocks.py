"""Wrap untrusted text in markers that do not occur in it, so no article can end its block and inject instructions.

A text must not contain the end marker, nor anything that a model could mistake for it, with other letters or spacing.
Letters that look alike cannot be enumerated, so each message's markers have a hash of all its texts, which the author
of one of them cannot know in advance.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import sha256
from itertools import count
from typing import Final

from contracts.composed import nfkc

WORD_CHARACTERS: Final = 20
"""Units: hexadecimal digits; 80 bits resist brute force."""
_INVISIBLE = re.compile(r"[\s\u00ad\u200b-\u200f\u2060-\u2064\ufeff]+")
CLOSING: Final = ">\ufe65\uff1e"
"""All characters that fold to the end of a marker; texts without one (nearly all) need not be folded."""


def make_markers(tag: str, *texts: str) -> tuple[str, str]:
    """Begin and end markers that do not occur in any text of a message, nor resemble anything in one.

    Shapes: markers made from the same texts, in any order, share their hash.
    """
    used = _used_numbers(tag, texts)
    number = next(n for n in count(1) if n not in used)
    name = " ".join((tag, *([str(number)] if number > 1 else []), _word(texts)))
    return f"<<<BEGIN {name}>>>", f"<<<END {name}>>>"


def wrap_block(tag: str, content: str, *others: str) -> str:
    """Wrap `content` in markers made from it and the `others` of the same message."""
    begin, end = make_markers(tag, content, *others)
    return f"{begin}\n{content}\n{end}"


def _word(texts: Iterable[str]) -> str:
    each = sorted(sha256(text.encode("utf-8", "surrogatepass")).digest() for text in set(texts) if text)
    return sha256(b"".join(each)).hexdigest()[:WORD_CHARACTERS]


def _used_numbers(tag: str, texts: Iterable[str]) -> set[int]:
    """The numbers of this tag's markers that occur in the texts; 1 is the marker without a number."""
    suspects = [text for text in texts if any(end in text for end in CLOSING)]
    if not suspects:
        return set()
    looks_like = re.compile(rf"(?:begin|end){re.escape(_fold(tag))}0*([0-9]{{0,9}})>")
    return {int(found or 1) for text in suspects for found in looks_like.findall(_fold(text))}


def _fold(text: str) -> str:
    return _INVISIBLE.sub("", nfkc(text)).casefold()
