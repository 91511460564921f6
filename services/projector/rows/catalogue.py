"""Entries of the catalogue, their edits, and flags."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from services.projector.rows.table import AnyTable, Table, columns_but, row


@dataclass(kw_only=True)
class Entry:
    """A catalogue entry.

    Shapes: `wording` and `domain` return to `published_wording` and `published_domain` when the words of the newest
    edit are deleted, at `words_until`. The last three fields are sequences.
    """

    id: UUID
    assertion_id: UUID
    status: str
    version: int
    edit_count: int
    wording: str
    domain: str
    summary: str | None = None
    published_wording: str
    published_domain: str
    words_until: datetime | None = None
    reworded: bool = False
    stale: Sequence[str]
    created_by: UUID
    created_at: datetime
    updated_at: datetime
    sequence: int
    staled_sequence: int = 0
    renewed_sequence: int = 0


@row
class Edit:
    """A change of an entry; its words while they are kept."""

    id: UUID
    entry_id: UUID
    version: int
    edit_type: str
    entity_type: str
    entity_id: UUID
    fields: Sequence[str]
    hidden: bool
    made_by: UUID | None
    reason: str | None
    before_state: dict[str, str | None] | None
    after_state: dict[str, str | None] | None
    kept_until: datetime | None
    created_at: datetime


@dataclass(kw_only=True)
class Flag:
    """An objection and the decision on it."""

    id: UUID
    entity_type: str
    entity_id: UUID | None
    issue_type: str
    account_id: UUID | None
    claim_sha256: str | None
    description: str | None
    kept_until: datetime | None
    status: str = "OPEN"
    resolved_by: UUID | None = None
    note: str | None = None
    note_until: datetime | None = None
    created_at: datetime
    resolved_at: datetime | None = None


ENTRIES: Final = Table(
    "entry",
    Entry,
    ("id",),
    columns_but(Entry, "id", "assertion_id", "published_wording", "published_domain", "created_by", "created_at"),
)
EDITS: Final = Table("edit", Edit, ("id",))
FLAGS: Final = Table("flag", Flag, ("id",), ("status", "resolved_by", "note", "note_until", "resolved_at"))

CATALOGUE_TABLES: Final[tuple[AnyTable, ...]] = (ENTRIES, EDITS, FLAGS)
