"""Metrics and patterns of errors."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from services.projector.rows.table import AnyTable, Table, columns_but, row


@row
class QualityMetric:
    """A metric at the beginning of an hour."""

    type: str
    category: str
    hour: datetime
    value: float
    target: float | None
    at_most: bool
    n: int


@dataclass(kw_only=True)
class ErrorPattern:
    """A cause of errors as its newest week left it."""

    id: UUID
    category: str
    root_cause: str
    claim_id: UUID | None = None
    frequency: int = 0
    epoch: int = 0
    status: str = "OPEN"
    created_at: datetime
    fixed_at: datetime | None = None
    sequence: int = 0


QUALITY_METRICS: Final = Table("quality_metric", QualityMetric, ("type", "category", "hour"))
ERROR_PATTERNS: Final = Table(
    "error_pattern",
    ErrorPattern,
    ("id",),
    columns_but(ErrorPattern, "id", "category", "root_cause", "created_at"),
)

QUALITY_TABLES: Final[tuple[AnyTable, ...]] = (QUALITY_METRICS, ERROR_PATTERNS)
