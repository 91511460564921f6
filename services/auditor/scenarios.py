"""From the analysis of a claim to the fact and the words that hold it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from decimal import Decimal
from hashlib import sha256
from typing import Final

from analyses.claims import analysis as rules
from analyses.claims.labels import TRUTH
from analyses.claims.quotes import LookUp, join_quotes
from contracts.jobs import result as wire
from contracts.v1.assertion import AnalysedScenario, Citation, DroppedEvidence
from contracts.v1.ids import publisher_id
from services.auditor.domain import QuotedPage, parse_day

UNSCORED: Final = 0.3
"""What a source begins with that has no score yet; a model's number never counts. Source: FH-132, FH-134."""
_TITLE_CHARACTERS: Final = 200

Pages = Mapping[str, QuotedPage | None]
"""Pages by address as cited."""


def number_scenarios(found: rules.ClaimAnalysis) -> Mapping[int, int]:
    """The numbers that scenarios are published under, from 1 without gaps, by the model's own."""
    return {each.ordinal: number for number, each in enumerate(found.scenarios, 1)}


def describe_scenarios(found: rules.ClaimAnalysis) -> tuple[AnalysedScenario, ...]:
    """The scenarios as the fact has them: without words."""
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


def list_citations(found: rules.ClaimAnalysis, pages: Pages) -> tuple[Citation, ...]:
    """The sources that stand, without their words."""
    return tuple(
        Citation(
            publisher_id=publisher_id(page.domain),
            domain=page.domain,
            url_sha256=sha256(page.url.encode()).hexdigest(),
            scenario=number,
            supports=item.found.supports,
            relevance=_to_share(item.found.relevance) or 0.0,
            outcome=LookUp.FOUND.name,
            family=item.family,
        )
        for number, each in enumerate(found.scenarios, 1)
        for item, page in _with_pages((*each.supporting, *each.opposing), pages)
    )


def count_dropped(found: rules.ClaimAnalysis) -> DroppedEvidence:
    """The sources that do not stand, by reason."""
    return DroppedEvidence(**{outcome.value: count for outcome, count in found.dropped.items()})


def write_body(found: rules.ClaimAnalysis, pages: Pages, now: datetime) -> wire.AnalysisBody:
    """The words of the analysis, as results and pages show them."""
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
                    supporting=tuple(_write_items(each.supporting, pages, now)),
                    opposing=tuple(_write_items(each.opposing, pages, now)),
                ),
            )
            for number, each in enumerate(found.scenarios, 1)
        ),
        families=found.families,
    )


def _write_items(items: tuple[rules.Evidence, ...], pages: Pages, now: datetime) -> Iterator[wire.EvidenceItem]:
    for item, page in _with_pages(items, pages):
        published = parse_day(page.published, now) or parse_day(item.found.published_at, now)
        yield wire.EvidenceItem(
            text=join_quotes(item.quotes),
            source_url=page.url,
            source_title=(page.title or item.found.title or page.domain)[:_TITLE_CHARACTERS],
            credibility_score=UNSCORED,
            quotes=item.quotes,
            summary=item.found.summary,
            relevance=_to_share(item.found.relevance) or 0.0,
            published_at=published.isoformat() if published else None,
            family=item.family,
            looked_up=LookUp.FOUND.value,
        )


def _with_pages(items: tuple[rules.Evidence, ...], pages: Pages) -> Iterator[tuple[rules.Evidence, QuotedPage]]:
    for item in items:
        page = pages.get(item.found.url)
        if page is not None:  # evidence that stands has its page
            yield item, page


def _to_share(number: Decimal | None) -> float | None:
    return None if number is None else float(number)
