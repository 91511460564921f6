"""What an exported table and its columns are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Kind = Literal["id", "text", "number", "time"]

LISTED: Final = (
    "(SELECT s.* FROM search_document s JOIN post p ON p.id = s.post_id "
    "WHERE NOT EXISTS (SELECT FROM author w WHERE w.id = p.author_id AND w.hidden_at IS NOT NULL)) d"
)
"""Investigations that lists show: those of authors who ask not to be shown are left out, as on pages."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column. `source` is SQL; `null`: the value may be missing."""

    name: str
    kind: Kind
    meaning: str
    source: str
    null: bool = False


@dataclass(frozen=True, slots=True)
class ExportedTable:
    """One table. `key` names the columns that identify a row; rows come in their order."""

    name: str
    meaning: str
    key: tuple[str, ...]
    origin: str
    columns: tuple[Column, ...]

    @property
    def query(self) -> str:
        """The whole table as one statement."""
        chosen = ", ".join(f"{column.source} AS {column.name}" for column in self.columns)
        return f"SELECT {chosen} {self.origin} ORDER BY {', '.join(self.key)}"
