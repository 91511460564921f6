"""Facts that changed at known times, and posts that say of a day what was right on another one.

Three posts come of each: what was right on its day, the same on a later day, when it is outdated, and a twin of that
with the value of the later day.
"""

from __future__ import annotations

import tomllib
from calendar import month_name
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache
from itertools import combinations, pairwise
from random import Random
from types import MappingProxyType
from typing import Final

from pydantic import BaseModel, ConfigDict

from tests.bench.casebook import Platform, Post
from tests.bench.facts import ENGLISH, FOLDER, read_languages, require_two_sources

MARGIN: Final = timedelta(days=50)
"""The least distance of a post from a change: results are confirmed late, and some changes are announced early."""

SINCE: Final[Mapping[Platform, date]] = MappingProxyType(
    {
        "WIKIPEDIA": date(2001, 1, 15),
        "X": date(2006, 7, 15),
        "LESSWRONG": date(2009, 3, 1),
        "SUBSTACK": date(2017, 10, 16),
    }
)
"""When each site opened: a post is not older than its site."""

_STANDS: Final = MappingProxyType(
    {
        "en": "This is how things stand in {month} {year}.",
        "de": "Stand: {number}/{year}.",
        "fr": "Situation en {number}/{year}.",
        "es": "Situación en {number}/{year}.",
        "it": "Situazione a {number}/{year}.",
        "nl": "Stand van {number}/{year}.",
    }
)


@dataclass(frozen=True, slots=True)
class Period:
    """A value, right from its first day and before its last. Shapes: `row` is its name, `timelines/key@first`."""

    row: str
    value: str
    first: date
    last: date

    def days(self, opened: date) -> tuple[date, date] | None:
        """The first and last day on which a post of a site opened then may state the value; None if there are none."""
        start, end = max(self.first + MARGIN, opened), self.last - MARGIN
        return (start, end) if start <= end else None


@dataclass(frozen=True, slots=True)
class Timeline:
    """Periods in the order of time, and the sentence about them by language, with `{value}` in it."""

    key: str
    said: Mapping[str, str]
    periods: Sequence[Period]


class _Given(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    key: str
    sources: tuple[str, ...]
    said: dict[str, str]
    values: tuple[tuple[str, date, date], ...]


def parse_timelines(document: str) -> tuple[Timeline, ...]:
    """Raises: ValueError: sources are missing, periods overlap, or a sentence does not state its value once."""
    given = [_Given.model_validate(each) for each in tomllib.loads(document)["timeline"]]
    if len({each.key for each in given}) != len(given):
        raise ValueError("two timelines have one key")
    return tuple(_parse(each) for each in given)


def _parse(given: _Given) -> Timeline:
    key, said = given.key, given.said
    require_two_sources(key, given.sources)
    periods = [Period(f"timelines/{key}@{first}", value, first, last) for value, first, last in given.values]
    if any(each.first >= each.last for each in periods) or any(one.last > two.first for one, two in pairwise(periods)):
        raise ValueError(f"{key}: periods follow one another")
    if len(periods) < 2 or any(one.value.casefold() == two.value.casefold() for one, two in pairwise(periods)):
        raise ValueError(f"{key}: something changes from one period to the next")
    if ENGLISH not in said or not said.keys() <= _STANDS.keys():
        raise ValueError(f"{key}: has a sentence in English, and others in known languages only")
    if any(each.count("{value}") != 1 for each in said.values()):
        raise ValueError(f"{key}: a sentence states its value once")
    return Timeline(key, said, periods)


@cache
def read_timelines() -> tuple[Timeline, ...]:
    """The timelines of `facts/timelines.toml`. Raises: ValueError."""
    return parse_timelines((FOLDER / "timelines.toml").read_text("utf-8"))


def make_outdated(number: int, random: Random) -> Iterator[Post]:
    """What was right, the same when it is outdated, and its twin. The timelines come in turn."""
    timelines = read_timelines()
    timeline = timelines[number % len(timelines)]
    platform, then, now = random.choice(list(_choices(timeline)))
    language = random.choice(sorted(timeline.said))
    before, after = random.sample(read_languages()[language]["fillers"], 2)

    def write(suffix: str, day: date, said: Period, others: Sequence[Period]) -> Post:
        stand = _STANDS[language].format(month=month_name[day.month], number=f"{day.month:02}", year=day.year)
        sentence = timeline.said[language].format(value=said.value)
        outdated = day >= said.last
        twin = said is not then
        return Post(
            kind="outdated",
            id=f"gen-outdated-{number:04}{suffix}",
            platform=platform,
            published=day,
            text=f"{before} {sentence} {stand} {after}",
            language=language,
            rows=tuple(sorted({said.row, *(other.row for other in others)})),
            wrong=(sentence,) if outdated else (),
            valid_from=None if twin else said.first,
            valid_until=None if twin else said.last,
            twin_of=f"gen-outdated-{number:04}" if twin else None,
        )

    first, second = (_draw_day(each, platform, random) for each in (then, now))
    yield write("-then", first, then, ())
    yield write("", second, then, (now,))
    yield write("-right", second, now, (then,))


def _choices(timeline: Timeline) -> Iterator[tuple[Platform, Period, Period]]:
    for platform, opened in SINCE.items():
        for then, now in combinations(timeline.periods, 2):
            if then.value.casefold() != now.value.casefold() and then.days(opened) and now.days(opened):
                yield platform, then, now


def _draw_day(period: Period, platform: Platform, random: Random) -> date:
    days = period.days(SINCE[platform])
    assert days is not None
    start, end = days
    return start + timedelta(random.randint(0, (end - start).days))
