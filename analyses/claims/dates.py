"""Find absolute dates in a claim's words, and format calendar periods as in ISO 8601."""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import date, timedelta
from typing import Final, NamedTuple

from analyses.claims.guard import is_currency, simplify
from analyses.claims.languages import Language, Unit, find_word

_ISO: Final = re.compile(r"(?<![\d.,])([12]\d{3})-(0[1-9]|1[0-2])(?:-(0[1-9]|[12]\d|3[01]))?(?![\d-])")
_DECADE: Final = re.compile(r"(?<![\w.,])([12]\d{2}0)['’]?s(?!\w)")
_YEAR: Final = re.compile(r"(?<![\dA-Za-z.,])([12]\d{3})(?![\dA-Za-z%]|[.,]\d| %)")
_PERIOD: Final = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d))?|-W(\d\d)|-Q[1-4])?", re.ASCII)


class Dated(NamedTuple):
    """A claim's words without its absolute dates, and the last day of each date."""

    text: str
    last_days: tuple[date, ...]


def take_dates(claim: str, language: Language | None) -> Dated:
    """Find dates, months with a year, decades and years from 1000 to 2999.

    A bare number of four digits is a year unless it is an amount of money or a percentage.
    """
    text = " ".join(simplify(claim).split())
    found: list[date] = []

    def keep(year: str, month: int | None = None, day: str | None = None) -> str:
        found.append(_last_day(int(year), month, int(day) if day else None))
        return "|"

    if language is not None:
        months = language.months
        text = language.month_and_year.sub(
            lambda it: keep(it["year"], find_word(months, it["month"]), it["day"] or it["day_behind"]), text
        )
    text = _ISO.sub(lambda it: keep(it[1], int(it[2]), it[3]), text)
    text = _DECADE.sub(lambda it: keep(str(int(it[1]) + 9)), text)
    percent = language.percent if language is not None else ()

    def keep_year(it: re.Match[str]) -> str:
        before, behind = text[max(0, it.start() - 2) : it.start()].strip(" ")[-1:], text[it.end() : it.end() + 20]
        is_amount = is_currency(before) or behind.strip(" ").casefold().startswith(percent)
        return it[0] if is_amount else keep(it[1])

    return Dated(_YEAR.sub(keep_year, text), tuple(found))


def format_period(unit: Unit, day: date, shift: int) -> str | None:
    """The calendar period around a day, `shift` units later; None outside the years 1 to 9999."""
    try:
        match unit:
            case "day":
                return (day + timedelta(days=shift)).isoformat()
            case "week":
                year, week, _ = (day + timedelta(weeks=shift)).isocalendar()
                return f"{year:04d}-W{week:02d}"
            case "month":
                year, month = divmod(day.year * 12 + day.month - 1 + shift, 12)
                return date(year, month + 1, 1).isoformat()[:7]
            case "quarter":
                year, quarter = divmod(day.year * 4 + (day.month - 1) // 3 + shift, 4)
                return f"{date(year, 1, 1).isoformat()[:4]}-Q{quarter + 1}"
            case "year":
                return date(day.year + shift, 1, 1).isoformat()[:4]
    except (OverflowError, ValueError):
        return None


def is_period(text: str) -> bool:
    """Whether a text is an ISO day, week, month, quarter or year that exists."""
    found = _PERIOD.fullmatch(text)
    if found is None:
        return False
    year, month, day, week = found.groups()
    try:
        if week:
            date.fromisocalendar(int(year), int(week), 1)
        else:
            date(int(year), int(month or 1), int(day or 1))
    except ValueError:
        return False
    return True


def _last_day(year: int, month: int | None, day: int | None) -> date:
    if month is None:
        return date(year, 12, 31)
    last = monthrange(year, month)[1]
    return date(year, month, min(day or last, last))
