"""Splits long content into pages of bounded size. Units: bytes of HTML."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeVar

from markupsafe import escape

Item = TypeVar("Item")

LEAF: Final = 72_000
"""The text on one page of a whole text."""
_WORD: Final = 80


def weight(text: str) -> int:
    """The size of an escaped text."""
    return len(str(escape(text)).encode("utf-8", "replace"))


def paginate(
    items: Sequence[Item], weigh: Callable[[Item], int], limit: int, most: int | None = None
) -> list[list[Item]]:
    """Group items into pages, in order. Shapes: at least one page; none is empty unless there are no items."""
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
    """Split a text into pieces of at most `limit`, between words where possible. Shapes: joined they are the text."""
    size = max(1, limit // 6)  # no character weighs more: six bytes of markup, or four of its own
    while len(text) > size and weight(text) > limit:
        end = text.rfind(" ", size - _WORD, size) + 1 or size
        yield text[:end]
        text = text[end:]
    yield text
