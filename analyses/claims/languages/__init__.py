"""Words for times in each language: word lists, one file per language, compiled to patterns.

Claims in a language without a list are judged without one. The lists are read when this package is imported.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from importlib.resources import files
from types import MappingProxyType
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict

Unit = Literal["day", "week", "month", "quarter", "year"]


class Language(BaseModel):
    """The words of one language, in lower case."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    moment: tuple[str, ...]
    """Words for the present moment: a claim with one of them holds for hours."""
    moving: tuple[str, ...]
    """Quantities that change from hour to hour."""
    present: tuple[str, ...]
    articles: tuple[str, ...]
    offices: tuple[str, ...]
    states: tuple[str, ...]
    percent: tuple[str, ...]
    months: Mapping[str, int]
    ambiguous_months: tuple[str, ...]
    """Names of months that are also other words: they count as months if capitalised inside the claim, or after a word
    of `before_months`."""
    before_months: tuple[str, ...]
    weekdays: Mapping[str, int]
    days: Mapping[str, int]
    """Words for a day, with its distance from today in days."""
    near: Mapping[str, int]
    near_units: Mapping[str, Unit]
    units: Mapping[str, Unit]
    ago: tuple[str, ...]
    """Templates of "n units ago", with `{n}` and `{unit}`."""
    numbers: Mapping[str, int]

    @cached_property
    def of_the_moment(self) -> re.Pattern[str]:
        """A word for the present moment."""
        return re.compile(_any_of(self.moment), re.IGNORECASE)

    @cached_property
    def in_the_present(self) -> re.Pattern[str]:
        """A quantity that changes hourly, or a person's office or state in the present tense."""
        articles = rf"(?:{_any_of(self.articles)} ){{0,4}}"
        verb = rf"(?:(?<!\w)|(?=['’])){_alternatives(self.present)}"  # "she's": inside a word
        office = rf"{verb} (?:{articles}{_any_of(self.offices)}|{_any_of(self.states)})"
        return re.compile(f"{_any_of(self.moving)}|{office}", re.IGNORECASE)

    @cached_property
    def month_and_year(self) -> re.Pattern[str]:
        """A month with its year, and a day before or after its name. Shapes: groups day, month, day_behind, year."""
        return re.compile(
            rf"(?:(?<!\d)(?P<day>\d{{1,2}})[^\W\d]{{0,2}}\.? (?:of )?)?{_any_of(self.months, 'month')}\.?,?"
            r"(?: (?P<day_behind>\d{1,2})[^\W\d]{0,2})?,? (?:of )?(?P<year>[12]\d{3})(?!\d)",
            re.IGNORECASE,
        )

    @cached_property
    def month_alone(self) -> re.Pattern[str]:
        """The name of a month. Shapes: groups before, month."""
        before = _any_of(self.before_months)
        return re.compile(rf"(?P<before>{before} )?{_any_of(self.months, 'month')}", re.IGNORECASE)

    @cached_property
    def near_period(self) -> re.Pattern[str]:
        """ "Last week" and the like. Shapes: groups near, unit."""
        return re.compile(f"{_any_of(self.near, 'near')} {_any_of(self.near_units, 'unit')}", re.IGNORECASE)

    @cached_property
    def past_periods(self) -> tuple[re.Pattern[str], ...]:
        """ "Two weeks ago" and the like. Shapes: groups n, unit."""
        number = rf"(?<![\w.,])(?P<n>\d{{1,4}}|{_alternatives(self.numbers)})(?!\w)"
        return tuple(
            re.compile(rf"(?<!\w){each.format(n=number, unit=_any_of(self.units, 'unit'))}(?!\w)", re.IGNORECASE)
            for each in self.ago
        )

    @cached_property
    def day_word(self) -> re.Pattern[str]:
        """A word for a day. Shapes: group day."""
        return re.compile(_any_of(self.days, "day"), re.IGNORECASE)

    @cached_property
    def weekday(self) -> re.Pattern[str]:
        """A weekday. Shapes: group weekday."""
        return re.compile(_any_of(self.weekdays, "weekday"), re.IGNORECASE)


def _any_of(words: Iterable[str], group: str | None = None) -> str:
    """A pattern for any of these as whole words; without words, one that never matches."""
    name = f"?P<{group}>" if group else "?:"
    return rf"(?<!\w)({name}{_alternatives(words)})(?!\w)"


def _alternatives(words: Iterable[str]) -> str:
    longest_first = sorted(words, key=lambda each: (-len(each), each))
    return f"(?:{'|'.join(map(re.escape, longest_first)) or '(?!)'})"


LANGUAGES: Final[Mapping[str, Language]] = MappingProxyType(
    {name: Language.model_validate_json((files(__name__) / f"{name}.json").read_bytes()) for name in ("de", "en")}
)
"""The word lists by primary language subtag."""


def find_language(tag: str) -> Language | None:
    """The word lists for a BCP 47 language tag; None if there are none."""
    return LANGUAGES.get(tag.split("-", 1)[0].lower())


def find_word(words: Mapping[str, int], found: str) -> int | None:
    """The value of a word that a pattern found, in any case; patterns also match a dotless i for an i."""
    return words.get(found.casefold().replace("ı", "i"))
