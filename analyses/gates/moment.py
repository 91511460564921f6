"""Check that claim and sources are about the same time: what was true when it was written is not wrong."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from analyses.claims.anchor import find_anchor
from analyses.claims.dates import take_dates
from analyses.claims.languages import LANGUAGES
from analyses.claims.volatility import Volatility
from analyses.gates.case import Case, CitedPage, Ruling
from analyses.gates.quantities import find_new, find_quantities

_RECENT: Final = timedelta(days=31)


def check_moment(case: Case) -> Ruling:
    """Leave out pages that are about another time than the claim."""
    others = [page for page in case.pages if not _speaks_of_its_time(page, case)]
    ruling = case.leave_out(others, "SOURCE_OF_ANOTHER_TIME")
    if ruling.code is None and case.volatility is Volatility.FAST and not _is_recent(case):
        counted = case.pages if ruling.counted is None else ruling.counted
        return ruling if any(map(_years, counted)) else Ruling("MAY_HAVE_BEEN_TRUE", counted)
    return ruling


def _speaks_of_its_time(page: CitedPage, case: Case) -> bool:
    claimed, named = _claimed_years(case), _years(page)
    if claimed:
        corrected = _dates_in(case.claim.summary) - claimed
        if named:
            return bool(named & (claimed | corrected))
        return not _corrects_quantity(case)  # an amount without a year is one of today
    if case.published_at is None or not named:
        return True
    posted = case.published_at.year
    is_later = max(_find_years(page.snippet), default=posted) > posted
    return min(named) <= posted and not (is_later and _corrects_quantity(case))


def _corrects_quantity(case: Case) -> bool:
    return any(each.dimension != "year" for each in find_new(case.claim.summary, case.claim.text))


def _is_recent(case: Case) -> bool:
    if case.published_at is None or case.judged_at is None:
        return True
    return case.judged_at - case.published_at <= _RECENT


def _years(page: CitedPage) -> set[int]:
    return _find_years(page.shown)


def _find_years(text: str) -> set[int]:
    return {int(value) for each in find_quantities(text) if each.dimension == "year" for value in each.values}


def _claimed_years(case: Case) -> set[int]:
    """The years that the sentence names, directly or by words such as "last year"."""
    named = _dates_in(case.claim.text)
    if case.published_at is None:
        return named
    day = case.published_at.date()
    anchors = ",".join(find_anchor(case.claim.text, tag, day) for tag in LANGUAGES)
    return named | {int(period[:4]) for period in anchors.split(",") if period} - {day.year}


def _dates_in(text: str) -> set[int]:
    """The years of the dates in a text, by the word lists of all languages."""
    return {day.year for language in LANGUAGES.values() for day in take_dates(text, language).last_days}
