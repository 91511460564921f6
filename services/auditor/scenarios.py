"""Writes the analysis of a claim as an event without words and as the body with them. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from decimal import Decimal
from hashlib import sha256
from typing import Final
from uuid import UUID

from analyses.claims import analysis as rules
from analyses.claims.labels import TRUTH
from analyses.claims.quotes import LookUp, join_quotes
from contracts.jobs import result as wire
from contracts.v1.assertion import AnalysedScenario, Citation, DroppedEvidence
from contracts.v1.ids import publisher_id
from lifecycle.audits.scores import INITIAL, UNKNOWN, compute_credibility, weigh_relevance
from services.auditor.domain import QuotedPage, parse_day

_TITLE_CHARACTERS: Final = 200

Pages = Mapping[str, QuotedPage | None]
"""Pages by address as cited."""
Scores = Mapping[UUID, float]
"""Scores of publishers, from 0 to 100; a publisher without one counts as unknown."""


def number_scenarios(found: rules.ClaimAnalysis) -> Mapping[int, int]:
    """The published numbers of scenarios, from 1 without gaps, by the model's own numbers."""
    return {each.ordinal: number for number, each in enumerate(found.scenarios, 1)}


def describe_scenarios(found: rules.ClaimAnalysis) -> tuple[AnalysedScenario, ...]:
    """The scenarios as the event has them: without words."""
    return tuple(
        AnalysedScenario(
            ordinal=number,
            probability=_to_share(each.verdict.probability),
            confidence=float(each.verdict.confidence),
            supporting=len(each.supporting),
            opposing=len(each.opposing),
            families=each.verdict.families,
            label=each.verdict.label.name,
        )
        for number, each in enumerate(found.scenarios, 1)
    )


def list_citations(found: rules.ClaimAnalysis, pages: Pages, scores: Scores) -> tuple[Citation, ...]:
    """The confirmed sources without their words, the weightiest first."""
    return tuple(
        Citation(
            publisher_id=publisher_id(page.domain),
            domain=page.domain,
            url_sha256=sha256(page.url.encode()).hexdigest(),
            scenario=number,
            supports=item.found.supports,
            relevance=_to_share(item.found.relevance) or 0.0,
            outcome=LookUp.FOUND.name,
            score=_to_share(compute_credibility(_score(page, scores))),
            family=item.family,
        )
        for number, each in enumerate(found.scenarios, 1)
        for items in (each.supporting, each.opposing)
        for item, page in _with_pages(items, pages, scores)
    )


def count_dropped(found: rules.ClaimAnalysis) -> DroppedEvidence:
    """The numbers of sources that were dropped, by reason."""
    return DroppedEvidence(**{outcome.value: count for outcome, count in found.dropped.items()})


def write_body(found: rules.ClaimAnalysis, pages: Pages, scores: Scores, now: datetime) -> wire.AnalysisBody:
    """The words of the analysis, as results and pages show them. A model's number for a source never counts."""
    return wire.AnalysisBody(
        scenarios=tuple(
            wire.Scenario(
                scenario_id=f"s{number}",
                description=each.found.description,
                assumptions=each.found.assumptions,
                verdict=wire.Verdict(
                    label=each.verdict.label.value,
                    truth_label=TRUTH[each.verdict.label].value,
                    probability=_to_share(each.verdict.probability),
                    confidence=float(each.verdict.confidence),
                    model_confidence=float(each.verdict.model_confidence),
                    explanation=each.found.explanation,
                    caps_applied=tuple(cap.value for cap in each.verdict.caps),
                    uncertainty_factors=each.found.uncertainty_factors,
                ),
                evidence=wire.Evidence(
                    supporting=tuple(_write_items(each.supporting, pages, scores, now)),
                    opposing=tuple(_write_items(each.opposing, pages, scores, now)),
                ),
            )
            for number, each in enumerate(found.scenarios, 1)
        ),
        families=found.families,
    )


def _write_items(
    items: tuple[rules.Evidence, ...], pages: Pages, scores: Scores, now: datetime
) -> Iterator[wire.EvidenceItem]:
    for item, page in _with_pages(items, pages, scores):
        published = parse_day(page.published, now) or parse_day(item.found.published_at, now)
        yield wire.EvidenceItem(
            text=join_quotes(item.quotes),
            source_url=page.url,
            source_title=(page.title or item.found.title or page.domain)[:_TITLE_CHARACTERS],
            credibility_score=float(compute_credibility(_score(page, scores))),
            quotes=item.quotes,
            summary=item.found.summary,
            relevance=_to_share(item.found.relevance) or 0.0,
            published_at=published.isoformat() if published else None,
            family=item.family,
            looked_up=LookUp.FOUND.value,
        )


def _with_pages(
    items: tuple[rules.Evidence, ...], pages: Pages, scores: Scores
) -> list[tuple[rules.Evidence, QuotedPage]]:
    """Confirmed evidence with its page, sorted by relevance weighed with the publisher's score, highest first."""
    found = [(item, page) for item in items if (page := pages.get(item.found.url)) is not None]
    return sorted(found, key=lambda each: -_weigh(each[0], each[1], scores))


def _weigh(item: rules.Evidence, page: QuotedPage, scores: Scores) -> Decimal:
    return weigh_relevance(item.found.relevance or Decimal(0), _score(page, scores))


def _score(page: QuotedPage, scores: Scores) -> Decimal:
    score = scores.get(publisher_id(page.domain))
    return Decimal(INITIAL[UNKNOWN]) if score is None else Decimal(str(score))


def _to_share(number: Decimal | None) -> float | None:
    return None if number is None else float(number)
