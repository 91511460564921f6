"""Metrics of each hour, and causes of errors as their newest week leaves them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from contracts.v1 import MetricSampled, PatternRecorded
from contracts.v1.ids import pattern_id
from services.projector.facts.fact import Fact
from services.projector.projections.material import Material
from services.projector.rows import quality as rows
from services.projector.rows.table import RowKey, Tables

_HOUR: Final = "%Y-%m-%dT%H"
_PATTERN: Final = rows.ERROR_PATTERNS.by()


def pattern_keys(event: PatternRecorded) -> Sequence[RowKey]:
    """The row of a cause."""
    return ((_PATTERN, pattern_id(event.category, event.cause)),)


def sample(tables: Tables, fact: Fact, event: MetricSampled, material: Material) -> None:
    """A metric was computed for an hour."""
    hour = datetime.strptime(event.slot, _HOUR).replace(tzinfo=UTC)
    tables[rows.QUALITY_METRICS].add(
        rows.QualityMetric(event.type, event.category, hour, event.value, event.target, event.at_most, event.n)
    )


def record(tables: Tables, fact: Fact, event: PatternRecorded, material: Material) -> None:
    """A week's cases were counted."""
    id_ = pattern_id(event.category, event.cause)
    row = tables[rows.ERROR_PATTERNS].edit(id_)
    if row is None:
        row = rows.ErrorPattern(id=id_, category=event.category, root_cause=event.cause, created_at=fact.at)
        tables[rows.ERROR_PATTERNS].put(row)
    if row.sequence < fact.sequence:
        row.sequence, row.epoch = fact.sequence, event.epoch
        row.frequency, row.claim_id = event.frequency, event.claim_id or row.claim_id
        row.status, row.fixed_at = event.status, fact.at if event.status == "FIXED" else None
