"""Numbers and evidence decide a label; a model's word only fills a gap."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyses.claims.labels import (
    ONE_FAMILY,
    TRUTH,
    Cap,
    Label,
    TruthLabel,
    derive_label,
    format_range,
    give_verdict,
    read_label,
    read_share,
)
from tests.support.audit_cases import HOSTILE, Case, read_cases


class Labelled(Case):
    probability: Decimal | None
    confidence: Decimal
    families: int
    label: Label


SHARES = st.decimals(0, 1, places=6)
FAMILIES = st.frozensets(st.integers(1, 4), max_size=3)


@pytest.mark.parametrize("case", read_cases("labels", list[Labelled]), ids=str)
@pytest.mark.requirement("FH-76", "FH-77")
def test_the_label_of_stored_numbers(case: Labelled) -> None:
    """FH-76: Six scenario labels have their ranges.
    FH-77: Probability, confidence and evidence decide the label.
    """
    assert derive_label(case.probability, case.confidence, case.families) is case.label


@pytest.mark.requirement("FH-77")
def test_the_least_confidence_is_a_setting() -> None:
    """FH-77: Probability, confidence and evidence decide the label."""
    assert derive_label(Decimal(1), Decimal("0.3"), 2, low_confidence=Decimal("0.3")) is Label.HIGHLY_LIKELY
    assert derive_label(Decimal(1), Decimal("0.6"), 2, low_confidence=Decimal("0.7")) is Label.UNCLEAR


@pytest.mark.parametrize("label", Label)
@pytest.mark.requirement("FH-76", "FH-78", "FH-79")
def test_both_vocabularies_name_the_same_label(label: Label) -> None:
    """FH-76: Six scenario labels have their ranges.
    FH-78: Truth labels correspond to scenario labels one to one.
    FH-79: A label is read in either vocabulary, in any case.
    """
    truth = TRUTH[label]
    for word in (label.value, truth.value):
        for spelt in (word, word.lower(), word.upper(), word.replace(" ", "_"), word.replace("_", " "), f" {word}\n"):
            assert read_label(spelt) is label


@pytest.mark.requirement("FH-78")
def test_truth_labels_are_one_to_one() -> None:
    """FH-78: Truth labels correspond to scenario labels one to one."""
    assert {label.value: truth.value for label, truth in TRUTH.items()} == {
        "Highly Likely": "TRUE",
        "Likely": "PARTIALLY_TRUE",
        "Unclear": "DISPUTED",
        "Unlikely": "UNSUPPORTED",
        "Highly Unlikely": "FALSE",
        "Unsubstantiated": "UNVERIFIABLE",
    }
    assert set(TRUTH.values()) == set(TruthLabel)


@given(HOSTILE)
def test_other_words_are_no_label(text: str) -> None:
    assert read_label(f"not {text}") is None


@pytest.mark.parametrize(
    ("label", "probability"),
    [
        (Label.HIGHLY_LIKELY, "0.925"),
        (Label.LIKELY, "0.75"),
        (Label.UNCLEAR, "0.5"),
        (Label.UNLIKELY, "0.25"),
        (Label.HIGHLY_UNLIKELY, "0.075"),
    ],
)
@pytest.mark.requirement("FH-76")
def test_a_label_alone_stands_for_the_middle_of_its_range(label: Label, probability: str) -> None:
    """FH-76: Six scenario labels have their ranges."""
    verdict = give_verdict(None, label, Decimal("0.8"), {1, 2}, {1, 2})
    assert verdict.probability == Decimal(probability)
    assert verdict.label is label


@given(SHARES, st.sampled_from(Label), SHARES, FAMILIES, FAMILIES)
@pytest.mark.requirement("FH-148", "FH-175")
def test_a_verdict_follows_from_its_numbers(
    probability: Decimal, label: Label, confidence: Decimal, supporting: frozenset[int], opposing: frozenset[int]
) -> None:
    """FH-148: Sources with the same text are one family, and families limit the confidence.
    FH-175: A model's hints never outrank words, evidence and formulas.
    """
    verdict = give_verdict(probability, label, confidence, supporting, opposing)
    assert verdict == give_verdict(probability, None, confidence, supporting, opposing)
    assert verdict.label is derive_label(verdict.probability, verdict.confidence, verdict.families)
    assert verdict.model_confidence == confidence
    assert verdict.confidence <= confidence
    assert (verdict.confidence < confidence) == (Cap.ONE_FAMILY in verdict.caps)
    if not supporting and not opposing:
        assert verdict.label is Label.UNSUBSTANTIATED


@pytest.mark.requirement("FH-148")
def test_families_on_the_verdict_s_side_limit_the_confidence() -> None:
    """FH-148: Sources with the same text are one family, and families limit the confidence."""
    likely, sure = Decimal("0.9"), Decimal("0.97")
    none = give_verdict(likely, None, sure, frozenset(), {1, 2})
    assert (none.label, none.caps) == (Label.UNSUBSTANTIATED, (Cap.NO_FAMILY,))
    one = give_verdict(likely, None, sure, {1}, {2})
    assert (one.label, one.confidence, one.caps) == (Label.HIGHLY_LIKELY, ONE_FAMILY, (Cap.ONE_FAMILY,))
    two = give_verdict(likely, None, sure, {1, 2}, frozenset())
    assert (two.label, two.confidence, two.caps) == (Label.HIGHLY_LIKELY, sure, ())
    against = give_verdict(Decimal("0.1"), None, sure, frozenset(), {1, 2})
    assert (against.label, against.families) == (Label.HIGHLY_UNLIKELY, 2)
    both = give_verdict(Decimal("0.5"), None, sure, {1}, {1, 2})
    assert (both.label, both.families) == (Label.UNCLEAR, 2)
    unsure = give_verdict(likely, None, Decimal("0.4"), {1, 2}, frozenset())
    assert (unsure.label, unsure.caps) == (Label.UNCLEAR, (Cap.LOW_CONFIDENCE,))
    undecided = give_verdict(Decimal("0.5"), None, Decimal("0.4"), {1, 2}, frozenset())
    assert (undecided.label, undecided.caps) == (Label.UNCLEAR, ()), "it is Unclear whatever the confidence"


@pytest.mark.parametrize(
    ("probability", "confidence", "label", "text"),
    [
        ("0.9", "0.9", Label.HIGHLY_LIKELY, "0.85-0.95 (very likely true)"),
        ("0.95", "0.8", Label.HIGHLY_LIKELY, "0.85-1.00 (very likely true)"),
        ("0.7", "1", Label.LIKELY, "0.70-0.70 (likely true)"),
        ("0.5", "0", Label.UNCLEAR, "0.00-1.00 (uncertain)"),
        ("0.3", "0.8", Label.UNLIKELY, "0.20-0.40 (likely false)"),
        ("0.02", "0.9", Label.HIGHLY_UNLIKELY, "0.00-0.07 (very likely false)"),
        (None, "0.9", Label.UNSUBSTANTIATED, "0.00-1.00 (not substantiated)"),
    ],
)
def test_the_range_for_readers(probability: str | None, confidence: str, label: Label, text: str) -> None:
    assert format_range(None if probability is None else Decimal(probability), Decimal(confidence), label) == text


@given(st.floats() | st.integers() | st.booleans() | st.decimals())
def test_any_number_is_a_share_or_none(number: float | Decimal) -> None:
    share = read_share(number)
    assert share is None or 0 <= share <= 1


def test_a_share_is_as_exact_as_it_was_written() -> None:
    assert read_share(0.1) == Decimal("0.1")
    assert read_share(1.5) == 1
    assert read_share(-3) == 0
    assert read_share(float("nan")) is read_share(float("inf")) is read_share(Decimal("sNaN")) is None
