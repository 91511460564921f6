"""Labels on posts."""

from __future__ import annotations

from datetime import datetime
from typing import Final
from uuid import UUID

from services.projector.rows.table import Table, columns_but, row


@row
class Label:
    """A value on a pinned record, as its newest event left it."""

    id: UUID
    uri: str
    cid: str
    val: str
    neg: bool
    cts: datetime
    exp: datetime
    post_id: UUID
    investigation_id: UUID
    why: str
    sequence: int


LABELS: Final = Table("label", Label, ("id",), columns_but(Label, "id", "uri", "cid", "val"))
