"""Untrusted text stands between markers that do not occur in it, so no article can end its own block and speak as us.

A fixed marker would be enough to break this: an article could carry the end marker and go on with instructions. Nor may
an article carry what only looks like the marker, in other letters or spacing: a model reads, it does not compare bytes.
Letters that look alike are without number, so each message's markers hold a word made from all of its texts: whoever
writes one of them would have to know what that word is before having written it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import sha256
from itertools import count
from typing import Final

from contracts.composed import nfkc

WORD_CHARACTERS: Final = 20
"""Units: hexadecimal digits; 80 bits cannot be found by trying."""
_UNSEEN = re.compile(r"[\s\u00ad\u200b-\u200f\u2060-\u2064\ufeff]+")
CLOSING: Final = ">\ufe65\uff1e"
"""All that can be folded to the end of a marker; a text without any of it, as nearly all are, need not be folded."""


def raw_marks(tag: str, *texts: str) -> tuple[str, str]:
    """Begin and end markers that neither occur in any of the texts of a message nor look like anything in them.

    Shapes: all markers of a message share a word if they are made from the same texts, in whatever order.
    """
    taken = _numbers_taken(tag, texts)
    number = next(n for n in count(1) if n not in taken)
    name = " ".join((tag, *([str(number)] if number > 1 else []), _word(texts)))
    return f"<<<BEGIN {name}>>>", f"<<<END {name}>>>"


def raw_block(tag: str, content: str, *others: str) -> str:
    """Wrap `content` in markers that occur neither in it nor in the `others` of the same message."""
    begin, end = raw_marks(tag, content, *others)
    return f"{begin}\n{content}\n{end}"


def _word(texts: Iterable[str]) -> str:
    each = sorted(sha256(text.encode("utf-8", "surrogatepass")).digest() for text in set(texts) if text)
    return sha256(b"".join(each)).hexdigest()[:WORD_CHARACTERS]


def _numbers_taken(tag: str, texts: Iterable[str]) -> set[int]:
    """The numbers of this tag's markers that a reader could see in the texts; 1 is the marker without a number."""
    suspects = [text for text in texts if any(end in text for end in CLOSING)]
    if not suspects:
        return set()
    looks_like = re.compile(rf"(?:begin|end){re.escape(_folded(tag))}0*([0-9]{{0,9}})>")
    return {int(found or 1) for text in suspects for found in looks_like.findall(_folded(text))}


def _folded(text: str) -> str:
    return _UNSEEN.sub("", nfkc(text)).casefold()
