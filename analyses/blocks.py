"""Untrusted text stands between markers that do not occur in it, so no article can end its own block and speak as us.

A fixed marker would be enough to break this: an article could carry the end marker and go on with instructions. Nor may
an article carry what only looks like the marker, in other letters or spacing: a model reads, it does not compare bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import count

from contracts.composed import nfkc

_UNSEEN = re.compile(r"[\s\u00ad\u200b-\u200f\u2060-\u2064\ufeff]+")


def raw_marks(tag: str, *texts: str) -> tuple[str, str]:
    """Begin and end markers that neither occur in any of the texts of a message nor look like anything in them."""
    taken = _numbers_taken(tag, texts)
    number = next(n for n in count(1) if n not in taken)
    name = tag if number == 1 else f"{tag} {number}"
    return f"<<<BEGIN {name}>>>", f"<<<END {name}>>>"


def raw_block(tag: str, content: str, *others: str) -> str:
    """Wrap `content` in markers that occur neither in it nor in the `others` of the same message."""
    begin, end = raw_marks(tag, content, *others)
    return f"{begin}\n{content}\n{end}"


def _numbers_taken(tag: str, texts: Iterable[str]) -> set[int]:
    """The numbers of this tag's markers that a reader could see in the texts; 1 is the marker without a number."""
    looks_like = re.compile(rf"(?:begin|end){re.escape(_folded(tag))}0*([0-9]{{0,9}})>")
    return {int(found or 1) for text in texts for found in looks_like.findall(_folded(text))}


def _folded(text: str) -> str:
    return _UNSEEN.sub("", nfkc(text)).casefold()
