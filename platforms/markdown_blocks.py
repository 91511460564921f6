"""The block structure of Markdown: prefixes of list items and quotations, and empty lines between blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

MAX_DEPTH = 8
"""Deeper blocks are written at this depth, or the prefixes could be a thousand times longer than the page."""


@dataclass
class _Container:
    """A list item, quotation or heading. `first` is the prefix of its first line, `rest` that of the others."""

    id: int
    first: str
    rest: str
    list_id: int | None
    begun: bool = False


class Blocks:
    """A writer of blocks: the lines so far, and the open containers."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._containers: list[_Container] = []
        self._last_lists: set[int] = set()
        self._last_row_of: int | None = None

    def open(self, container_id: int, first: str, rest: str, *, list_id: int | None = None) -> None:
        """Open a container. Shapes: `list_id` is the list of a list item."""
        if len(self._containers) < MAX_DEPTH:
            self._containers.append(_Container(container_id, first, rest, list_id))

    def close(self, container_id: int) -> None:
        """Close the innermost container if it has this id."""
        if self._containers and self._containers[-1].id == container_id:
            self._containers.pop()

    def write(self, lines: Sequence[str], *, row_of: int | None = None) -> None:
        """Add a block. Shapes: `row_of` is the table of a table row."""
        if self._lines and not self._continues(row_of):
            begun = "".join(container.rest for container in self._containers if container.begun)
            self._lines.append(begun.rstrip())
        for line in lines:
            self._lines.append((self._prefix() + line).rstrip())
        self._last_lists = {container.list_id for container in self._containers if container.list_id is not None}
        self._last_row_of = row_of

    def text(self) -> str:
        """The Markdown written so far."""
        return "\n".join(self._lines)

    def _continues(self, row_of: int | None) -> bool:
        """Whether the next block follows without an empty line: another row or item, or a list in an item."""
        before: _Container | None = None
        for container in self._containers:
            if not container.begun:
                within_item = before is not None and before.list_id is not None
                return container.list_id is not None and (container.list_id in self._last_lists or within_item)
            before = container
        return row_of is not None and row_of == self._last_row_of

    def _prefix(self) -> str:
        prefix = ""
        for container in self._containers:
            prefix += container.rest if container.begun else container.first
            container.begun = True
        return prefix
