"""Only evidence that stands on its page counts, and only as many sources as there are."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest

from analyses.claims.analysis import ClaimAnalysis, ReadPage, analyse_claim
from analyses.claims.answers import AnalyseAnswer, read_answer
from analyses.claims.families import SourcePage
from analyses.claims.labels import LOW_CONFIDENCE, Cap, Label
from analyses.claims.quotes import LookUp
from analyses.claims.rollup import Rollup
from analyses.kinds import InvalidAnswer
from analyses.snippets import page_text

QUOTE = "the tower is 330 metres tall"


def page(url: str, text: str) -> ReadPage:
    return ReadPage(page_text(text), SourcePage(url, None, text))


def words(name: str) -> str:
    return " ".join(f"{name}{number}" for number in range(30))


A, B, COPY, DEAD = "https://a.example/1", "https://b.test/2", "https://c.test/3", "https://d.test/4"
PAGES = {
    A: page(A, f"We measured it: {QUOTE}. {words('alpha')}"),
    B: page(B, f"Another office: {QUOTE}. {words('beta')}"),
    COPY: page(COPY, f"We measured it: {QUOTE}. {words('alpha')}"),
    DEAD: None,
}


def item(url: str, quote: str = QUOTE, *, supports: bool = True) -> dict[str, object]:
    return {"supports": supports, "url": url, "title": "T", "quotes": [quote], "relevance": 0.9}


def scenario(*items: dict[str, object], probability: float = 0.95, confidence: float = 0.97) -> dict[str, object]:
    return {"description": "d", "probability": probability, "confidence": confidence, "evidence": items}


def analyse(
    *scenarios: dict[str, object],
    recommended: int = 1,
    max_scenarios: int = 2,
    max_evidence: int = 6,
    low_confidence: Decimal = LOW_CONFIDENCE,
) -> ClaimAnalysis:
    answer = read_answer(json.dumps({"scenarios": scenarios, "recommended": recommended}), AnalyseAnswer)
    limits = {"max_scenarios": max_scenarios, "max_evidence": max_evidence}
    return analyse_claim(answer, PAGES, **limits, low_confidence=low_confidence)


@pytest.mark.requirement("FH-143")
def test_items_whose_quotes_do_not_stand_are_dropped_and_counted() -> None:
    """FH-143: Every quote stands on the page as we read it, else its item is dropped and counted."""
    found = analyse(
        scenario(
            item(A),
            item(A, QUOTE.replace("330", "331")),
            item(DEAD),
            item("https://never.test/"),
            item(B, "invented words here"),
        )
    )
    assert [each.found.url for each in found.scenarios[0].supporting] == [A]
    assert found.dropped == {LookUp.MISSING: 2, LookUp.UNAVAILABLE: 1, LookUp.NOT_LOOKED_UP: 1}


@pytest.mark.requirement("FH-148")
def test_copies_are_one_family() -> None:
    """FH-148: Sources with the same text are one family, and families limit the confidence."""
    copied = analyse(scenario(item(A), item(COPY)))
    assert copied.families == 1
    assert copied.scenarios[0].verdict.caps == (Cap.ONE_FAMILY,)
    two = analyse(scenario(item(A), item(COPY), item(B)))
    assert two.families == 2
    assert two.scenarios[0].verdict.caps == ()


@pytest.mark.requirement("FH-77", "FH-148", "FH-175")
def test_a_confident_model_without_evidence_has_no_verdict() -> None:
    """FH-77: Probability, confidence and evidence decide the label.
    FH-148: Sources with the same text are one family, and families limit the confidence.
    FH-175: A model's hints never outrank words, evidence and formulas.
    """
    found = analyse(scenario(item("https://never.test/")) | {"label": "TRUE"})
    assert found.scenarios[0].verdict.label is Label.UNSUBSTANTIATED
    assert found.rollup is Rollup.INCONCLUSIVE
    against = analyse(scenario(item(A, supports=False), item(B, supports=False)))
    assert against.scenarios[0].verdict.label is Label.UNSUBSTANTIATED


def test_evidence_against_a_claim_refutes_it() -> None:
    against = item(A, supports=False), item(B, supports=False)
    found = analyse(scenario(*against, probability=0.05))
    assert found.scenarios[0].verdict.label is Label.HIGHLY_UNLIKELY
    assert found.rollup is Rollup.REFUTED
    unsure = analyse(scenario(*against, probability=0.05), low_confidence=Decimal("0.98"))
    assert unsure.scenarios[0].verdict.label is Label.UNCLEAR


@pytest.mark.requirement("FH-75")
def test_too_much_is_cut_in_its_order() -> None:
    """FH-75: Scenarios and evidence are cut to what was asked."""
    found = analyse(
        scenario(item(A), item(B), item(COPY)), scenario(item(B)), scenario(item(A)), max_scenarios=2, max_evidence=2
    )
    assert [each.ordinal for each in found.scenarios] == [1, 2]
    assert [each.found.url for each in found.scenarios[0].supporting] == [A, B]


@pytest.mark.requirement("FH-74", "FH-75")
def test_the_recommended_scenario_is_never_cut_and_always_there() -> None:
    """FH-74: The recommended scenario exists.
    FH-75: Scenarios and evidence are cut to what was asked.
    """
    found = analyse(scenario(item(A)), scenario(item(B)), scenario(item(A)), recommended=3)
    assert [each.ordinal for each in found.scenarios] == [1, 3]
    assert found.recommended == 3
    for missing in (0, -1, 2):
        with pytest.raises(InvalidAnswer):
            analyse(scenario(item(A)), recommended=missing)
