"""Relative times become periods of the calendar."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyses.claims.anchor import find_anchor
from analyses.claims.dates import format_period, is_period, take_dates
from analyses.claims.languages import LANGUAGES, find_language
from tests.support.audit_cases import HOSTILE, Case, read_cases


class Anchored(Case):
    claim: str
    language: str
    reference_day: date
    hint: str | None
    anchor: str


CASES = read_cases("anchor", list[Anchored])
WORDS = st.sampled_from(
    sorted(
        {
            word
            for language in LANGUAGES.values()
            for words in (language.days, language.weekdays, language.near, language.near_units, language.months)
            for word in words
        }
        | {"ago", "vor", "3", "99", "9999", "a", "2020", "1990s", "5", "%", "FRıDAY", "laſt", "İn", "MÄRZ"}
    )
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.claim} ({case.reference_day})")
@pytest.mark.requirement("FH-147", "FH-174", "FH-175")
def test_the_anchor_of_a_claim(case: Anchored) -> None:
    """FH-147: A claim's time anchor is part of its guard.
    FH-174: Word lists decide only in their languages.
    FH-175: A model's hints never outrank words, evidence and formulas.
    """
    assert find_anchor(case.claim, case.language, case.reference_day, case.hint) == case.anchor


@given(HOSTILE | st.lists(WORDS, max_size=8).map(" ".join), st.sampled_from(["en", "de", "fi"]), st.dates(), HOSTILE)
@pytest.mark.requirement("FH-175")
def test_an_anchor_is_periods_in_order(claim: str, language: str, reference_day: date, hint: str) -> None:
    """FH-175: A model's hints never outrank words, evidence and formulas."""
    anchor = find_anchor(claim, language, reference_day, hint)
    periods = anchor.split(",") if anchor else []
    assert all(map(is_period, periods))
    assert periods == sorted(set(periods))


@given(st.sampled_from(["day", "week", "month", "quarter", "year"]), st.dates(), st.integers(-10_000, 10_000))
def test_a_period_is_one_of_the_calendar_or_none(unit: str, day: date, shift: int) -> None:
    match unit:
        case "day" | "week" | "month" | "quarter" | "year":
            period = format_period(unit, day, shift)
            assert period is None or is_period(period)
            assert shift or period is not None or unit == "week"  # the week of 9999-12-31 ends in the year 10000


@pytest.mark.parametrize(
    ("claim", "last_days"),
    [
        ("in 2020", ["2020-12-31"]),
        ("on 2020-02-29", ["2020-02-29"]),
        ("in 2020-02", ["2020-02-29"]),
        ("on 5 May 2019", ["2019-05-05"]),
        ("on May 5th, 2019", ["2019-05-05"]),
        ("in May 2019", ["2019-05-31"]),
        ("on 31 February 2019", ["2019-02-28"]),
        ("in the 1990s and the 2000’s", ["1999-12-31", "2009-12-31"]),
        ("in ２０２０", ["2020-12-31"]),
        ("in 2019/20 and 2020–21", ["2019-12-31", "2020-12-31"]),
        ("for $2000, 2,000 or 2000.5 or 2000 % or 1999 percent, 12020, B2020", []),
        ("from 0999 to 3000", []),
    ],
)
def test_absolute_dates(claim: str, last_days: list[str]) -> None:
    assert [day.isoformat() for day in take_dates(claim, find_language("en")).last_days] == last_days


@pytest.mark.parametrize(
    ("tag", "there"), [("en", True), ("EN-us", True), ("de-AT", True), ("fi", False), ("", False), ("../en", False)]
)
@pytest.mark.requirement("FH-174")
def test_a_list_is_found_by_the_primary_language(tag: str, there: bool) -> None:
    """FH-174: Word lists decide only in their languages."""
    assert (find_language(tag) is not None) == there
