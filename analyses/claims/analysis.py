"""Make the analysis of a claim from a model's scenarios and the pages that were read.

Source: requirements FH-74, FH-75, FH-143, FH-148.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

from analyses.claims.answers import AnalyseAnswer, EvidenceAnswer, ScenarioAnswer
from analyses.claims.families import SourcePage, number_families
from analyses.claims.labels import LOW_CONFIDENCE, Verdict, give_verdict
from analyses.claims.quotes import LookUp, check_quotes
from analyses.claims.rollup import Rollup, roll_up
from analyses.kinds import InvalidAnswer
from analyses.snippets import PageText


class ReadPage(NamedTuple):
    """A page as we read it: its words folded for look-ups, and the page as a source."""

    words: PageText
    source: SourcePage


@dataclass(frozen=True, slots=True)
class Evidence:
    """An item of evidence whose quotes are on its page."""

    found: EvidenceAnswer
    quotes: tuple[str, ...]
    family: int


@dataclass(frozen=True, slots=True)
class Scenario:
    """A scenario with the evidence that was kept. Shapes: `ordinal` is the model's number, from 1."""

    ordinal: int
    found: ScenarioAnswer
    verdict: Verdict
    supporting: tuple[Evidence, ...]
    opposing: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True)
class ClaimAnalysis:
    """The analysis of a claim. Shapes: `recommended` is an ordinal; `dropped` counts items by reason, never `found`."""

    scenarios: tuple[Scenario, ...]
    recommended: int
    rollup: Rollup
    dropped: Mapping[LookUp, int]
    families: int


def list_cited(answer: AnalyseAnswer, max_scenarios: int) -> tuple[str, ...]:
    """The distinct addresses that the kept scenarios cite. Raises: InvalidAnswer."""
    kept = _choose(answer, max_scenarios)
    return tuple(dict.fromkeys(item.url for _, scenario in kept for item in scenario.evidence))


def analyse_claim(
    answer: AnalyseAnswer,
    pages: Mapping[str, ReadPage | None],
    *,
    max_scenarios: int,
    max_evidence: int,
    low_confidence: Decimal = LOW_CONFIDENCE,
) -> ClaimAnalysis:
    """Check, cut and judge a model's answer.

    Shapes: `pages` has every address that the model searched or fetched in this run, None if we could not read it. If
    there are too many scenarios, the last ones are cut, but never the recommended one. Raises: InvalidAnswer.
    """
    kept = _choose(answer, max_scenarios)
    dropped: Counter[LookUp] = Counter()
    stands: dict[int, list[tuple[EvidenceAnswer, tuple[str, ...]]]] = {ordinal: [] for ordinal, _ in kept}
    for ordinal, scenario in kept:
        for item in scenario.evidence:
            page = pages.get(item.url)
            checked = check_quotes(item.quoted, page.words if page else None, looked_up=item.url in pages)
            if checked.outcome is not LookUp.FOUND:
                dropped[checked.outcome] += 1
            elif len(stands[ordinal]) < max_evidence:
                stands[ordinal].append((item, checked.quotes))
    families = _number_pages([item.url for items in stands.values() for item, _ in items], pages)
    scenarios = tuple(
        _judge(
            ordinal,
            scenario,
            [Evidence(item, quotes, families[item.url]) for item, quotes in stands[ordinal]],
            low_confidence,
        )
        for ordinal, scenario in kept
    )
    return ClaimAnalysis(
        scenarios,
        answer.recommended,
        roll_up([each.verdict.label for each in scenarios]),
        dict(dropped),
        len(set(families.values())),
    )


def _choose(answer: AnalyseAnswer, most: int) -> list[tuple[int, ScenarioAnswer]]:
    numbered = list(enumerate(answer.scenarios, 1))
    if not 1 <= answer.recommended <= len(numbered):
        raise InvalidAnswer("The recommended scenario does not exist.")
    first = numbered[:most]
    return first if answer.recommended <= most else [*first[:-1], numbered[answer.recommended - 1]]


def _number_pages(urls: Sequence[str], pages: Mapping[str, ReadPage | None]) -> dict[str, int]:
    read = {url: page.source for url in urls if (page := pages.get(url)) is not None}
    return dict(zip(read, number_families(list(read.values())), strict=True))


def _judge(ordinal: int, scenario: ScenarioAnswer, evidence: Sequence[Evidence], low_confidence: Decimal) -> Scenario:
    supporting = tuple(each for each in evidence if each.found.supports)
    opposing = tuple(each for each in evidence if not each.found.supports)
    verdict = give_verdict(
        scenario.probability,
        scenario.label,
        scenario.confidence if scenario.confidence is not None else Decimal(0),
        {each.family for each in supporting},
        {each.family for each in opposing},
        low_confidence=low_confidence,
    )
    return Scenario(ordinal, scenario, verdict, supporting, opposing)
