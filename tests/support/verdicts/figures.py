"""Exact numbers and dates in a text, a second time; the original is extension/src/verdict/figures.ts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import Final

from analyses.surrogates import well_formed
from tests.support.verdicts.given import LIMITS

_GAP: Final = "[ \u00a0\u202f]+"
_YEAR: Final = "(?P<year>[12][0-9]{3})(?![0-9])"
_DAY: Final = "(?P<day>[0-9]{1,2})"
_MONTHS: Final = {name: number for number, names in enumerate(LIMITS["months"], 1) for name in names}
_MONTH: Final = f"(?P<month>{'|'.join(sorted(_MONTHS, key=len, reverse=True))})"
_ORDINAL: Final = "(?:st|nd|rd|th)?"
_DATES: Final = tuple(
    map(
        re.compile,
        (
            "(?<![0-9.,])(?P<year>[12][0-9]{3})-(?P<month>[0-9]{1,2})-(?P<day>[0-9]{1,2})(?![0-9])",
            rf"(?<![0-9.,/])(?P<first>[0-9]{{1,2}})(?P<mark>[./])(?P<second>[0-9]{{1,2}})(?P=mark){_YEAR}",
            rf"(?<![a-z0-9]){_MONTH}\.?{_GAP}{_DAY}{_ORDINAL},?{_GAP}{_YEAR}",
            rf"(?<![0-9.,]){_DAY}(?:st|nd|rd|th|\.)?{_GAP}(?:of{_GAP})?{_MONTH}\.?,?{_GAP}{_YEAR}",
        ),
    )
)
_SIGN: Final = "[$¢-¥฿\u20a0-\u20cf]"
_NUMBER: Final = re.compile(
    rf"(?<![0-9])(?<![0-9][.,])(?P<before>{_SIGN} ?)?"
    r"(?P<number>[0-9]{1,3}(?P<gap>[ .,'’\u00a0\u202f])[0-9]{3}(?:(?P=gap)[0-9]{3})*(?:[.,][0-9]+)?(?![0-9])"
    rf"|[0-9]+(?:[.,][0-9]+)?)(?P<behind>[ \u00a0\u202f]?(?:[%‰]|{_SIGN}))?"
)


@dataclass(frozen=True)
class Figures:
    """Each figure by its readings, all readings, and the last day of each date and year."""

    exact: tuple[frozenset[str], ...]
    every: frozenset[str]
    last_days: tuple[str, ...]


def find_figures(raw: str) -> Figures:
    """Find numbers and dates."""
    text = well_formed(raw).lower()
    dates: list[frozenset[str]] = []
    for pattern in _DATES:

        def take(found: re.Match[str]) -> str:
            if days := frozenset(filter(is_day, _days(found.groupdict()))):
                dates.append(days)
                return "|"
            return found[0]

        text = pattern.sub(take, text)
    numbers = [(found, frozenset(_readings(found["number"], found["gap"]))) for found in _NUMBER.finditer(text)]
    plain = [found["number"] for found, _ in numbers if not (found["before"] or found["behind"])]
    exact = [
        readings
        for found, readings in numbers
        if found["before"] or found["behind"] or len(re.sub("[^0-9]", "", found["number"])) >= 2
    ]
    return Figures(
        (*dates, *exact),
        frozenset().union(*dates, *(readings for _, readings in numbers)),
        (*map(max, dates), *(f"{number}-12-31" for number in plain if re.fullmatch("[12][0-9]{3}", number))),
    )


def is_day(text: str) -> bool:
    """Whether the calendar has the day."""
    if not re.fullmatch("[12][0-9]{3}-[0-9]{2}-[0-9]{2}", text):
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _days(parts: dict[str, str]) -> Iterator[str]:
    if "first" in parts:
        yield f"{parts['year']}-{parts['second']:0>2}-{parts['first']:0>2}"
        if parts["mark"] == "/":
            yield f"{parts['year']}-{parts['first']:0>2}-{parts['second']:0>2}"
    else:
        month = _MONTHS.get(parts["month"], parts["month"])
        yield f"{parts['year']}-{month:0>2}-{parts['day']:0>2}"


def _readings(number: str, gap: str | None) -> Iterator[str]:
    if gap is None:
        yield _plain(number.replace(",", "."))
        return
    groups = number.split(gap)
    last = groups[-1]
    if len(groups) > 2 and last.isdigit() and len(last) != 3:
        yield _plain("".join(groups[:-1]) + "." + last)
        return
    yield _plain("".join(groups).replace(",", "."))
    if len(groups) == 2 and gap in ".," and len(last) == 3:
        yield _plain(".".join(groups))


def _plain(number: str) -> str:
    whole, _, fraction = number.partition(".")
    fraction = fraction.rstrip("0")
    return (whole.lstrip("0") or "0") + (f".{fraction}" if fraction else "")
