"""Answers are read where they are whole, and never repaired by guessing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, JsonValue

from analyses.claims.answers import AnalyseAnswer, AssessAnswer, ExtractAnswer, read_answer
from analyses.claims.labels import Label
from analyses.claims.scoring import Fallacy, Severity
from analyses.kinds import InvalidAnswer
from tests.support.audit_cases import HOSTILE

REASONING: JsonValue = {
    "evidence_strength": "low",
    "logical_coherence": "high",
    "transparency": "medium",
    "nuance": "low",
}
ASSESSMENT: dict[str, JsonValue] = {
    "summary": "It holds.",
    "thesis_follows": True,
    "missing_context": False,
    "reasoning_quality": REASONING,
}


def extract(*claims: Mapping[str, str] | str | int, **more: JsonValue) -> ExtractAnswer:
    return read_answer(json.dumps({"claims": claims, **more}), ExtractAnswer)


@pytest.mark.parametrize(
    "answer",
    [
        '{"claims": []}',
        'Here it is:\n```json\n{"claims": []}\n```\nAs you asked {really}.',
        'The answer is {"claims": []}.',
        '\n\ufeff{"claims": []}',
    ],
)
def test_prose_around_an_answer_is_passed_over(answer: str) -> None:
    assert read_answer(answer, ExtractAnswer).claims == ()


@pytest.mark.parametrize(
    "answer",
    ["", "no", "{", "}{", "[]", '{"claims": [', "{}", "[" * 100_000, '{"a":' * 50_000, "```" + "\n" * 100_000 + "{"],
)
def test_what_is_no_answer_is_invalid(answer: str) -> None:
    with pytest.raises(InvalidAnswer):
        read_answer(answer, ExtractAnswer)


@given(HOSTILE, st.sampled_from([ExtractAnswer, AnalyseAnswer, AssessAnswer]))
def test_any_text_is_an_answer_or_invalid(text: str, shape: type[BaseModel]) -> None:
    for answer in (text, json.dumps({"claims": [{"text": text}], "scenarios": [text], "recommended": text})):
        with suppress(InvalidAnswer):
            read_answer(answer, shape)


def test_items_that_do_not_fit_are_dropped_and_long_ones_cut() -> None:
    answer = extract("no", {"text": ""}, {"text": "x" * 5_000}, 7, {"text": " A\x00b ", "claim_type": "Cause & effect"})
    assert [claim.text for claim in answer.claims] == ["x" * 2_000, "A b"]
    assert [claim.claim_type for claim in answer.claims] == ["other", "other"]
    assert len(extract(*({"text": f"claim {number}"} for number in range(99))).claims) == 60


@pytest.mark.parametrize(("said", "language"), [("en", "en"), ("EN-us", "en"), ("English", "und"), ("../x", "und")])
def test_the_language_is_a_primary_subtag(said: str, language: str) -> None:
    assert extract(language=said).language == language


def test_words_of_a_claim_are_codes() -> None:
    (claim,) = extract(
        {"text": "a", "claim_type": " Statistical", "domain": "Public health", "evaluability": "Not-Evaluable"}
    ).claims
    assert (claim.claim_type, claim.domain, claim.evaluability) == ("statistical", "public_health", "not_evaluable")


def test_tiers_classes_and_levels_are_read_in_any_case() -> None:
    (claim,) = extract({"text": "a", "risk_tier": " c", "volatility": "Fast"}).claims
    assert (claim.risk_tier, claim.volatility) == ("C", "FAST")
    said: JsonValue = dict.fromkeys(("evidence_strength", "logical_coherence", "transparency", "nuance"), "High ")
    answer = read_answer(json.dumps(ASSESSMENT | {"reasoning_quality": said}), AssessAnswer)
    assert {*answer.reasoning_quality.model_dump().values()} == {"high"}


@pytest.mark.requirement("FH-79", "FH-175")
def test_numbers_and_labels_are_read_as_far_as_they_are_some() -> None:
    """FH-79: A label is read in either vocabulary, in any case.
    FH-175: A model's hints never outrank words, evidence and formulas.
    """
    scenario: dict[str, JsonValue] = {"description": "d", "probability": 1.7, "confidence": True, "label": "FALSE"}
    answer = read_answer(json.dumps({"scenarios": [scenario], "recommended": 1}), AnalyseAnswer)
    (found,) = answer.scenarios
    assert found.probability == Decimal(1)
    assert found.confidence is None
    assert found.label is Label.HIGHLY_UNLIKELY


def test_a_model_that_gives_only_text_has_given_a_quote() -> None:
    items: list[JsonValue] = [
        {"supports": True, "url": "https://a.example/", "text": "words"},
        {"supports": True, "url": "https://a.example/", "text": "words", "quotes": ["other", " ", 5]},
        {"supports": True, "url": "https://a.example/"},
        {"supports": "perhaps", "url": "https://a.example/"},
    ]
    scenario: JsonValue = {"description": "d", "evidence": items}
    answer = read_answer(json.dumps({"scenarios": [scenario], "recommended": 1}), AnalyseAnswer)
    assert [item.quoted for item in answer.scenarios[0].evidence] == [("words",), ("other",), ()]


@pytest.mark.requirement("FH-88")
def test_fallacies_and_qualities_are_those_that_are_looked_for() -> None:
    """FH-88: Seven fallacies and four qualities of reasoning are looked for."""
    fallacies: JsonValue = [
        {"type": "Straw man", "location": "end", "why": "w", "severity": "Severe"},
        {"type": "whataboutism", "location": "end", "why": "w", "severity": "severe"},
    ]
    answer = read_answer(json.dumps(ASSESSMENT | {"fallacies": fallacies}), AssessAnswer)
    assert [(each.type, each.severity) for each in answer.fallacies] == [(Fallacy.STRAW_MAN, Severity.SEVERE)]
    with pytest.raises(InvalidAnswer, match="reasoning_quality"):
        read_answer(json.dumps(ASSESSMENT | {"reasoning_quality": {"nuance": "great"}}), AssessAnswer)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (r"a \ud83d b", "a \ufffd b"),
        (r"a \uDE00\uD83D b", "a \ufffd\ufffd b"),
        (r"a \ud83d\ud83d\ude00 b", "a \ufffd\U0001f600 b"),
        ("a \ud83d b", "a \ufffd b"),
        ("a \ud83d\ude00 b", "a \U0001f600 b"),
        (r"a \ud83d\u00e9 b", "a \ufffd\xe9 b"),
        (r"C:\\ud83d", r"C:\ud83d"),
        (r"C:\\\ud83d", "C:\\\ufffd"),
    ],
)
def test_half_a_surrogate_pair_becomes_a_mark_and_costs_no_claim(written: str, read: str) -> None:
    found = read_answer(f'{{"claims": [{{"text": "{written}"}}, {{"text": "whole"}}]}}', ExtractAnswer)
    assert [each.text for each in found.claims] == [read, "whole"]


@given(st.text(st.characters(), max_size=20))
def test_whatever_a_claim_says_can_be_stored(text: str) -> None:
    for written in (json.dumps(text), json.dumps(text, ensure_ascii=False)):
        for claim in read_answer(f'{{"claims": [{{"text": {written}}}]}}', ExtractAnswer).claims:
            claim.model_dump_json().encode()
