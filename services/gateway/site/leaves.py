"""How much one page holds: what is longer goes on, on the next. Units: bytes of HTML.

A page that grows with what it shows is slow for whoever reads it on a phone, and the longest post decides how slow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeVar

from markupsafe import escape

Item = TypeVar("Item")

LEAF: Final = 72_000
"""The text on one page of a whole text."""
_WORD: Final = 80


def weight(text: str) -> int:
    """What a text weighs on a page."""
    return len(str(escape(text)).encode("utf-8", "replace"))


def leaves(
    items: Sequence[Item], weigh: Callable[[Item], int], limit: int, most: int | None = None
) -> list[list[Item]]:
    """Put items together until a page is full. Shapes: in their order; none is empty, but there is always one."""
    found: list[list[Item]] = [[]]
    load = 0
    for item in items:
        heavy = weigh(item)
        if found[-1] and (load + heavy > limit or (most is not None and len(found[-1]) >= most)):
            found.append([])
            load = 0
        found[-1].append(item)
        load += heavy
    return found


def cut(text: str, limit: int) -> Iterator[str]:
    """A text in pieces that weigh at most so much, cut between words where there are any. Shapes: together the text."""
    size = max(1, limit // 6)  # no character weighs more: six bytes of markup, or four of its own
    while len(text) > size and weight(text) > limit:
        end = text.rfind(" ", size - _WORD, size) + 1 or size
        yield text[:end]
        text = text[end:]
    yield text
