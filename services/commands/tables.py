"""Columns for a terminal: aligned, without lines, and without trailing blanks."""

from __future__ import annotations

from collections.abc import Collection, Sequence


def table(head: Sequence[str], rows: Sequence[Sequence[str]], *, right: Collection[int] = ()) -> str:
    """The rows under a head, which may be empty. Shapes: `right` are the columns that end at one edge."""
    lines = [list(map(_one_line, row)) for row in ([head, *rows] if head else rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if place in right else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def _one_line(cell: str) -> str:
    """What strangers wrote must not move the cursor."""
    return "".join(character if character.isprintable() else "�" for character in cell)
