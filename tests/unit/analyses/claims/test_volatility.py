"""How soon an answer may change is decided by a claim's words; a hint can only shorten it."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyses.claims.volatility import Volatility, classify, more_volatile
from tests.support.audit_cases import HOSTILE, Case, read_cases

DAY = date(2026, 11, 15)
SECOND = timedelta(seconds=1)


class Classified(Case):
    claim: str
    language: str
    hint: str | None
    volatility: Volatility


CASES = read_cases("volatility", list[Classified])


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.claim} ({case.hint})")
@pytest.mark.requirement("FH-145", "FH-174")
def test_the_class_of_a_claim(case: Classified) -> None:
    """FH-145: Each claim has a class of volatility, computed from its words and a hint.
    FH-174: Word lists decide only in their languages.
    """
    assert classify(case.claim, case.language, case.hint, DAY) is case.volatility


@given(HOSTILE, st.sampled_from(["en", "de", "fi"]), st.none() | st.sampled_from(Volatility) | HOSTILE, st.dates())
@pytest.mark.requirement("FH-145", "FH-175")
def test_a_hint_never_makes_a_claim_less_volatile_than_its_words(
    claim: str, language: str, hint: str | None, day: date
) -> None:
    """FH-145: Each claim has a class of volatility, computed from its words and a hint.
    FH-175: A model's hints never outrank words, evidence and formulas.
    """
    least = classify(claim, language, Volatility.TIMELESS, day)
    found = classify(claim, language, hint, day)
    assert more_volatile(found, least) is found
    assert classify(claim, language, Volatility.FAST, day) is Volatility.FAST


@given(HOSTILE)
@pytest.mark.requirement("FH-174")
def test_without_a_list_and_a_date_a_claim_is_slow(claim: str) -> None:
    """FH-174: Word lists decide only in their languages."""
    words = "".join(each for each in claim if not each.isnumeric())
    for hint in (None, "TIMELESS", "DATED", "SLOW"):
        assert classify(words, "fi", hint, DAY) is Volatility.SLOW
