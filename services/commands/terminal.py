"""Text for a terminal: aligned columns, and text of third parties without control characters."""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Sequence

import click


def format_table(head: Sequence[str], rows: Sequence[Sequence[str]], *, right: Collection[int] = ()) -> str:
    """Align columns. Shapes: `head` may be empty; `right` are the indexes of right-aligned columns."""
    lines = [list(map(clean, row)) for row in ([head, *rows] if head else rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if place in right else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def format_count(number: int, noun: str) -> str:
    """A number of things whose plural ends in s."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def show_progress(what: str, done: int, of: int) -> None:
    """Say on a terminal how far a long task is, in one line."""
    if sys.stderr.isatty():
        click.echo(f"\r{what}: {done:,} of {of:,}", err=True, nl=done >= of)


def clean(text: str) -> str:
    """Text on one line without control characters: white space becomes blanks, others become U+FFFD."""
    return "".join(each if each.isprintable() else " " if each.isspace() else "\ufffd" for each in text)


def clean_text(text: str) -> str:
    """Text whose control characters become U+FFFD, except line breaks and tabs."""
    return "".join(each if each.isprintable() or each in "\n\t" else "\ufffd" for each in text)


def escape_json(document: str) -> str:
    """The same document of JSON, whose strings hold what a terminal would obey as escapes."""
    return "".join(each if each.isprintable() or each in "\r\n\t" else json.dumps(each)[1:-1] for each in document)
