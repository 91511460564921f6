"""Assertions and their analyses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from services.projector.rows.table import AnyTable, Table, columns_but, row


@dataclass(kw_only=True)
class Assertion:
    """An assertion. Shapes: `sequence` is of its newest request; `canonical` is set while its words are kept."""

    id: UUID
    published_key: str
    norm_version: str
    language: str
    canonical_sha256: str
    guard_sha256: str
    volatility: str
    requests: int = 0
    requested_at: datetime
    sequence: int = 0
    canonical: str | None = None
    kept_until: datetime | None = None


@row
class Sample:
    """A claim as an article words it."""

    assertion_id: UUID
    place: int
    text: str
    said_at: datetime
    kept_until: datetime


@dataclass(kw_only=True)
class Analysis:
    """An analysis of an assertion. Shapes: `kept_until` is set while its words are stored."""

    id: UUID
    assertion_id: UUID
    scenarios: int
    evidence: int
    depth: str
    volatility: str
    rollup: str
    recommended: int
    missing: int
    unavailable: int
    not_looked_up: int
    score_epoch: int
    model: str
    analysed_at: datetime
    expires_at: datetime
    invalidated_at: datetime | None = None
    invalidated_why: str | None = None
    kept_until: datetime | None = None


@row
class Scenario:
    """One reading of a claim."""

    id: UUID
    analysis_id: UUID
    ordinal: int
    description: str | None
    assumptions: Sequence[str] | None


@row
class Verdict:
    """The estimate for a scenario."""

    scenario_id: UUID
    label: str
    probability: float | None
    confidence: float
    supporting: int
    opposing: int
    families: int
    explanation: str | None
    uncertainty_factors: Sequence[str] | None


@row
class Evidence:
    """A source of a scenario with its quotes."""

    id: UUID
    analysis_id: UUID
    scenario_id: UUID
    place: int
    supports: bool
    text: str
    source_url: str
    source_title: str
    quotes: Sequence[str]
    summary: str | None
    relevance: float
    credibility_score: float
    published_at: str | None
    family: int
    kept_until: datetime


@row
class Citation:
    """A citation of a source by an analysis."""

    analysis_id: UUID
    place: int
    publisher_id: UUID
    domain: str
    url_sha256: str
    scenario: int
    supports: bool
    relevance: float
    outcome: str
    score: float | None
    family: int
    cited_at: datetime


ASSERTIONS: Final = Table(
    "assertion",
    Assertion,
    ("id",),
    ("volatility", "requests", "requested_at", "sequence", "canonical", "kept_until"),
)
SAMPLES: Final = Table("assertion_sample", Sample, ("assertion_id", "place"), columns_but(Sample, "assertion_id"))
ANALYSES: Final = Table("analysis", Analysis, ("id",), ("invalidated_at", "invalidated_why"))
SCENARIOS: Final = Table("scenario", Scenario, ("id",))
VERDICTS: Final = Table("verdict", Verdict, ("scenario_id",))
EVIDENCE: Final = Table("evidence", Evidence, ("id",))
CITATIONS: Final = Table("citation", Citation, ("analysis_id", "place"))

ASSERTION_TABLES: Final[tuple[AnyTable, ...]] = (
    ASSERTIONS,
    SAMPLES,
    ANALYSES,
    SCENARIOS,
    VERDICTS,
    EVIDENCE,
    CITATIONS,
)
