"""Assertions and their analyses: what events say stays, their words only while they are kept.

Only the words themselves depend on whether words could be read; so a rebuild, which finds fewer of them, ends with the
same rows once they have been purged in both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from contracts.jobs.result import AnalysisBody, EvidenceItem
from contracts.jobs.result import Scenario as Reading
from contracts.jobs.words import ClaimWords
from contracts.v1 import AssertionAnalysed, AssertionAnalysisRequested, AssertionInvalidated
from contracts.v1.ids import evidence_id, scenario_id
from services.projector.facts.fact import Fact
from services.projector.projections import catalogue, runs
from services.projector.projections.material import Material, read_words
from services.projector.projections.rules import rows_by
from services.projector.rows import assertions as rows
from services.projector.rows.table import RowKey, Tables

MAX_SAMPLES: Final = 5
_ASSERTION: Final = rows.ASSERTIONS.by()
_SAMPLES: Final = rows.SAMPLES.by("assertion_id")
_ANALYSIS: Final = rows.ANALYSES.by()
_OF_ASSERTION: Final = rows.ANALYSES.by("assertion_id")

request_keys: Final = rows_by((_ASSERTION, "assertion_id"), (_SAMPLES, "assertion_id"))


def analysis_keys(event: AssertionAnalysed) -> Sequence[RowKey]:
    """An assertion, its analysis, its entry, and the attempt that ends with this."""
    own = (_ASSERTION, event.assertion_id), (_ANALYSIS, event.analysis_id)
    return *own, *catalogue.analysis_keys(event), *runs.end_keys(event.end)


def invalidation_keys(event: AssertionInvalidated) -> Sequence[RowKey]:
    """The invalidated analysis, or the assertion and all its analyses."""
    if event.analysis_id is None:
        return (_ASSERTION, event.assertion_id), (_OF_ASSERTION, event.assertion_id)
    return ((_ANALYSIS, event.analysis_id),)


def request(tables: Tables, fact: Fact, event: AssertionAnalysisRequested, material: Material) -> None:
    """An analysis was requested; each request brings the claim in an article's words."""
    row = tables[rows.ASSERTIONS].edit(event.assertion_id)
    if row is None:
        row = rows.Assertion(
            id=event.assertion_id,
            published_key=event.published_key,
            norm_version=event.norm_version,
            language=event.language,
            canonical_sha256=event.canonical_sha256,
            guard_sha256=event.guard_sha256,
            volatility=event.volatility,
            requested_at=fact.at,
        )
        tables[rows.ASSERTIONS].put(row)
    if row.sequence >= fact.sequence:
        return
    row.sequence, row.requested_at, row.volatility = fact.sequence, fact.at, event.volatility
    place = row.requests % MAX_SAMPLES + 1
    row.requests += 1
    words = read_words(ClaimWords, event.words, material)
    if words is None:
        tables[rows.SAMPLES].remove((row.id, place))
        return
    row.canonical, row.kept_until = words.canonical, max(row.kept_until or event.words.until, event.words.until)
    tables[rows.SAMPLES].put(rows.Sample(row.id, place, words.text, fact.at, event.words.until))


def analyse(tables: Tables, fact: Fact, event: AssertionAnalysed, material: Material) -> None:
    runs.end(tables, fact, event.end)
    catalogue.renew(tables, fact, event, material)
    if tables[rows.ANALYSES].get(event.analysis_id) is not None:
        return
    body = read_words(AnalysisBody, event.body, material)
    until = event.body.until
    tables[rows.ANALYSES].put(
        rows.Analysis(
            id=event.analysis_id,
            assertion_id=event.assertion_id,
            **vars(event.shape),
            **vars(event.dropped),
            volatility=event.volatility,
            rollup=event.rollup,
            recommended=event.recommended,
            score_epoch=event.score_epoch,
            model=event.end.model,
            analysed_at=fact.at,
            expires_at=event.expires_at,
            kept_until=None if body is None else until,
        )
    )
    readings = {} if body is None else {each.scenario_id: each for each in body.scenarios}
    for estimate in event.scenarios:
        id_, reading = scenario_id(event.analysis_id, estimate.ordinal), readings.get(f"s{estimate.ordinal}")
        tables[rows.SCENARIOS].add(
            rows.Scenario(
                id_,
                event.analysis_id,
                estimate.ordinal,
                None if reading is None else reading.description,
                None if reading is None else list(reading.assumptions),
            )
        )
        tables[rows.VERDICTS].add(
            rows.Verdict(
                id_,
                estimate.label,
                estimate.probability,
                estimate.confidence,
                estimate.supporting,
                estimate.opposing,
                estimate.families,
                None if reading is None else reading.verdict.explanation,
                None if reading is None else list(reading.verdict.uncertainty_factors),
            )
        )
        for place, (supports, item) in enumerate(_list_evidence(reading), 1):
            tables[rows.EVIDENCE].add(_make_evidence(event.analysis_id, id_, place, supports, item, until))
    for place, citation in enumerate(event.citations, 1):
        tables[rows.CITATIONS].add(rows.Citation(event.analysis_id, place, **vars(citation), cited_at=fact.at))


def invalidate(tables: Tables, fact: Fact, event: AssertionInvalidated, material: Material) -> None:
    """One analysis, or each so far, is no longer used; withdrawn quotes replace any other reason."""
    for analysis in tables[rows.ANALYSES].current:
        if analysis.assertion_id != event.assertion_id or event.analysis_id not in (None, analysis.id):
            continue
        row = tables[rows.ANALYSES].edit(analysis.id)
        assert row is not None
        row.invalidated_at = row.invalidated_at or fact.at
        row.invalidated_why = event.why if event.why == "RIGHTS" else row.invalidated_why or event.why


def _list_evidence(reading: Reading | None) -> Iterator[tuple[bool, EvidenceItem]]:
    """The sources of a scenario, and whether each supports it."""
    if reading is not None:
        yield from ((True, item) for item in reading.evidence.supporting)
        yield from ((False, item) for item in reading.evidence.opposing)


def _make_evidence(
    analysis: UUID, scenario: UUID, place: int, supports: bool, item: EvidenceItem, until: datetime
) -> rows.Evidence:
    return rows.Evidence(
        evidence_id(scenario, place),
        analysis,
        scenario,
        place,
        supports,
        item.text,
        item.source_url,
        item.source_title,
        list(item.quotes),
        item.summary,
        item.relevance,
        item.credibility_score,
        item.published_at,
        item.family,
        until,
    )
