"""Publishers of cited sources: the newest score and the newest rating of each count, and all are stored."""

from __future__ import annotations

from typing import Final

from contracts.v1 import PublisherEpochClosed, PublisherRated, PublisherScored
from services.projector.facts.fact import Fact
from services.projector.projections.material import Material
from services.projector.projections.rules import rows_by
from services.projector.rows import publishers as rows
from services.projector.rows.table import Tables

_PUBLISHER: Final = rows.PUBLISHERS.by()

keys: Final = rows_by((_PUBLISHER, "publisher_id"))


def score(tables: Tables, fact: Fact, event: PublisherScored, material: Material) -> None:
    """A publisher was scored for an epoch."""
    row = _edit(tables, fact, event)
    if row.sequence < fact.sequence:
        row.sequence, row.last_updated = fact.sequence, max(row.last_updated, fact.at)
        row.epoch, row.track_record_score, row.why = event.epoch, event.score, event.why
        row.accuracy, row.correct, row.total = event.accuracy, event.correct, event.total
        row.correct_weight, row.total_weight = event.correct_weight, event.total_weight
        row.total_citations, row.claim_count = event.citations, event.claims
    tables[rows.PUBLISHER_SCORES].add(
        rows.PublisherScore(
            event.publisher_id,
            event.epoch,
            event.score,
            event.accuracy,
            event.correct,
            event.total,
            event.why,
            fact.at,
        )
    )


def rate(tables: Tables, fact: Fact, event: PublisherRated, material: Material) -> None:
    """A publisher was rated."""
    row = _edit(tables, fact, event)
    if row.rated_sequence < fact.sequence:
        row.rated_sequence, row.last_updated = fact.sequence, max(row.last_updated, fact.at)
        row.name, row.type, row.set_score = event.name, event.type, event.score
        row.correction_policy, row.editorial_standards = event.correction_policy, event.editorial_standards
        row.bias_transparency, row.longevity = event.bias_transparency, event.longevity
        row.corrections_count, row.correction_frequency = event.corrections_count, event.correction_frequency
    tables[rows.PUBLISHER_RATINGS].add(
        rows.PublisherRating(
            event.publisher_id,
            fact.sequence,
            event.type,
            event.correction_policy,
            event.editorial_standards,
            event.bias_transparency,
            event.longevity,
            event.score,
            event.reason,
            event.by,
            fact.at,
        )
    )


def close(tables: Tables, fact: Fact, event: PublisherEpochClosed, material: Material) -> None:
    """All scores of an epoch are stored."""
    tables[rows.SCORE_EPOCHS].add(rows.ScoreEpoch(event.epoch, event.publishers, fact.at, fact.sequence))


def _edit(tables: Tables, fact: Fact, event: PublisherScored | PublisherRated) -> rows.Publisher:
    row = tables[rows.PUBLISHERS].edit(event.publisher_id)
    if row is None:
        row = rows.Publisher(id=event.publisher_id, domain=event.domain, last_updated=fact.at)
        tables[rows.PUBLISHERS].put(row)
    return row
