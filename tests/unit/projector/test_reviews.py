"""Samples and outside reviews as rows: only of findings that are there, and the newest verdict of each reviewer."""

from __future__ import annotations

from datetime import date
from uuid import UUID

from contracts.v1 import Event, ReviewDecided, ReviewSampled
from services.projector.facts.fact import Fact
from services.projector.projections.errata import fold
from services.projector.projections.material import Material
from services.projector.rows.reviews import CLAIM_NAMES, OUTSIDE_REVIEWS, REVIEW_SAMPLES, SAMPLED_CLAIMS, ClaimName
from services.projector.rows.table import Tables
from tests.unit.projector.histories import START, uid

ONE, OTHER, ERASED = uid("one"), uid("other"), uid("erased")
DAY = date(2026, 11, 30)
SAMPLE = ReviewSampled(seed="beacon", first_day=DAY, last_day=DAY, size=5, drawn_from=3, claim_ids=(OTHER, ERASED, ONE))


def verdict(claim: UUID, said: str, reviewer: str = "A") -> ReviewDecided:
    return ReviewDecided.model_validate(
        {"claim_id": claim, "sample_id": SAMPLE.sample_id, "verdict": said, "reviewer": reviewer, "decided_on": DAY}
    )


def folded(*events: Event) -> Tables:
    tables = Tables({CLAIM_NAMES: [ClaimName(ONE), ClaimName(OTHER)]})
    fold(tables, [Fact(n, uid(f"{n}"), START, uid("c"), event) for n, event in enumerate(events, 1)], Material())
    return tables


def test_a_sample_counts_what_was_drawn_and_has_the_findings_that_are_left() -> None:
    tables = folded(SAMPLE, SAMPLE)
    (row,) = tables[REVIEW_SAMPLES].current
    assert (row.id, row.drawn, row.drawn_from, row.seed) == (SAMPLE.sample_id, 3, 3, "beacon")
    assert [(each.claim_id, each.place) for each in tables[SAMPLED_CLAIMS].current] == [(OTHER, 0), (ONE, 2)]


def test_the_newest_verdict_of_each_reviewer_counts() -> None:
    said = verdict(ONE, "RIGHT"), verdict(ONE, "PARTLY", "B"), verdict(ONE, "WRONG"), verdict(ONE, "RIGHT")
    rows = folded(SAMPLE, *said)[OUTSIDE_REVIEWS].current
    assert {(row.reviewer, row.verdict, row.sequence) for row in rows} == {("A", "RIGHT", 5), ("B", "PARTLY", 3)}


def test_a_verdict_on_what_was_not_drawn_or_was_erased_leaves_no_row() -> None:
    tables = folded(verdict(ONE, "WRONG"), SAMPLE, verdict(ERASED, "WRONG"), verdict(uid("never drawn"), "WRONG"))
    assert tables[OUTSIDE_REVIEWS].current == []
