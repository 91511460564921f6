"""A published finding that stands, as the curator sees it: without its words."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A published finding that stands. Shapes: `sequence` of its newest change, 0 without any."""

    claim_id: UUID
    investigation_id: UUID
    sequence: int
