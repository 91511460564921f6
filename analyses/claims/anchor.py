"""Resolve the times that a claim names relative to its article: "last month" is another claim a month later.

Source: requirements A.8.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from analyses.claims.dates import format_period, is_period, take_dates
from analyses.claims.languages import Language, Unit, find_language, find_word


def find_anchor(claim: str, language: str, reference_day: date, hint: str | None = None) -> str:
    """The ISO periods that relative expressions in a claim mean on `reference_day`, sorted and joined by commas.

    A model's hint counts only if the claim has no such expression and the hint is a valid period.
    """
    words = find_language(language)
    found = set(_periods(take_dates(claim, words).text, words, reference_day)) if words is not None else set()
    if found:
        return ",".join(sorted(found))
    return hint if hint is not None and is_period(hint) else ""


def _periods(text: str, words: Language, today: date) -> Iterator[str]:
    for found in words.day_word.finditer(text):
        yield from _shifted("day", today, find_word(words.days, found["day"]))
    for found in words.weekday.finditer(text):
        weekday = find_word(words.weekdays, found["weekday"])
        yield from _shifted("day", today, None if weekday is None else -((today.weekday() - weekday) % 7))
    for found in words.near_period.finditer(text):
        yield from _shifted(words.near_units.get(found["unit"].casefold()), today, find_word(words.near, found["near"]))
    for pattern in words.past_periods:
        for found in pattern.finditer(text):
            number = int(found["n"]) if found["n"].isdecimal() else find_word(words.numbers, found["n"])
            yield from _shifted(words.units.get(found["unit"].casefold()), today, None if number is None else -number)
    for found in words.month_alone.finditer(text):
        month = find_word(words.months, found["month"])
        if month is not None and (found["before"] or _is_month(found["month"], found.start(), words)):
            yield from _shifted("month", today, -((today.month - month) % 12))


def _shifted(unit: Unit | None, today: date, shift: int | None) -> Iterator[str]:
    period = None if unit is None or shift is None else format_period(unit, today, shift)
    if period is not None:
        yield period


def _is_month(name: str, at: int, words: Language) -> bool:
    """Whether an ambiguous name ("may", "march") is a month: only if capitalised and not the claim's first word."""
    return name.casefold() not in words.ambiguous_months or (at > 0 and name[0].isupper() and not name.isupper())
