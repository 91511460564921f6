"""The states of published findings."""

from __future__ import annotations

from datetime import datetime
from typing import Final
from uuid import UUID

from services.projector.rows.table import Table, columns_but, row


@row
class FindingState:
    """The state of a published claim, as its newest event left it."""

    claim_id: UUID
    investigation_id: UUID
    state: str
    cause: str
    note: str
    changed_at: datetime
    sequence: int


FINDING_STATES: Final = Table(
    "finding_state", FindingState, ("claim_id",), columns_but(FindingState, "claim_id", "investigation_id")
)
