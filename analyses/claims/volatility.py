"""Classify how soon a claim's answer may change. Source: requirements A.7."""

from __future__ import annotations

from datetime import date
from enum import StrEnum
from typing import Final

from analyses.claims.dates import take_dates
from analyses.claims.languages import find_language


class Volatility(StrEnum):
    """The classes, the least volatile one first."""

    TIMELESS = "TIMELESS"
    DATED = "DATED"
    SLOW = "SLOW"
    FAST = "FAST"


_ORDER: Final = tuple(Volatility)


def classify(claim: str, language: str, hint: str | None, reference_day: date) -> Volatility:
    """The class of a claim: the more volatile one of those by its words and by a model's hint."""
    words = find_language(language)
    text, last_days = take_dates(claim, words)
    by_words: Volatility | None = None
    if (words is not None and words.of_the_moment.search(text)) or (
        words is not None and not last_days and words.in_the_present.search(text)
    ):
        by_words = Volatility.FAST
    elif last_days and all(day < reference_day for day in last_days):
        by_words = Volatility.DATED
    elif not last_days and any(map(str.isdecimal, text)):
        by_words = Volatility.SLOW

    by_hint = Volatility(hint) if hint in _ORDER else Volatility.SLOW
    if not last_days and (by_hint is Volatility.DATED or (by_hint is Volatility.TIMELESS and words is None)):
        by_hint = Volatility.SLOW
    return by_hint if by_words is None else more_volatile(by_words, by_hint)


def more_volatile(one: Volatility, other: Volatility) -> Volatility:
    """The more volatile one of two classes."""
    return max(one, other, key=_ORDER.index)
