"""Appeals against results."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from services.projector.rows.table import Table, row


@row
class Appeal:
    """An appeal, whether its author is proven, and what was decided about it."""

    id: UUID
    investigation_id: UUID
    kind: str
    claims: Sequence[str]
    words: str
    links: Sequence[str]
    range_key: str
    opened_at: datetime
    sequence: int
    by_author: bool
    statement: str | None
    proof: str | None = None
    outcome: str | None = None
    reason: str | None = None
    decided_at: datetime | None = None


APPEALS: Final = Table("appeal", Appeal, ("id",), ("proof", "outcome", "reason", "decided_at"))
