"""What changed at known times is right on its days and outdated after them, in every language that says it."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.bench import casebook
from tests.bench.generated import generate
from tests.bench.timelines import MARGIN, SINCE, Timeline, make_outdated, parse_timelines, read_timelines

KNOWN: Final = {period.row: (timeline, period) for timeline in read_timelines() for period in timeline.periods}
TIMELINE: Final = """
[[timeline]]
key = "members"
sources = ["https://one.org/members", "https://two.org/members"]
values = [["9", 2001-01-01, 2004-01-01], ["10", 2004-01-01, 2009-01-01], ["9", 2010-01-01, 2012-01-01]]
[timeline.said]
en = "The club has {value} members."
de = "Der Verein hat {value} Mitglieder."
"""


def test_there_are_timelines_for_posts_that_differ() -> None:
    timelines = read_timelines()
    assert len(timelines) >= 40
    assert len(KNOWN) >= 200
    assert {language for timeline in timelines for language in timeline.said} == {"en", "de", "fr", "es", "it", "nl"}


@given(st.integers(0, 10_000), st.integers())
def test_a_post_says_what_was_right_and_is_outdated_later(number: int, seed: int) -> None:
    then, false, twin = made = casebook.together(list(make_outdated(number, Random(seed))))
    timeline, said = KNOWN[then.rows[0]]
    (other,) = {KNOWN[row][1] for row in false.rows} - {said}
    assert (then.wrong, twin.wrong) == ((), ())
    assert false.wrong == (timeline.said[false.language].replace("{value}", said.value),)
    assert false.wrong[0] in then.text
    assert timeline.said[false.language].replace("{value}", other.value) in twin.text
    assert twin.twin_of == false.id
    assert said.first + MARGIN <= then.published <= said.last - MARGIN
    assert other.first + MARGIN <= false.published == twin.published <= other.last - MARGIN
    assert all(str(post.published.year) in post.text for post in made)
    assert all(post.published >= SINCE[post.platform] for post in made)


def test_no_day_has_two_answers() -> None:
    """An outdated sentence is not that of the day, though values come back."""
    for post in generate(Fraction(1, 2)):
        if post.kind == "outdated" and post.wrong:
            timeline = KNOWN[post.rows[0]][0]
            (of_the_day,) = [each for each in timeline.periods if each.first <= post.published < each.last]
            assert timeline.said[post.language].replace("{value}", of_the_day.value) not in post.text


def test_a_good_timeline_is_read() -> None:
    (timeline,) = parse_timelines(TIMELINE)
    assert isinstance(timeline, Timeline)
    assert [period.row for period in timeline.periods] == [
        "timelines/members@2001-01-01",
        "timelines/members@2004-01-01",
        "timelines/members@2010-01-01",
    ]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (("https://two.org", "https://one.org"), "two sources"),
        (("2004-01-01, 2009", "2003-12-31, 2009"), "follow one another"),
        (("2001-01-01, 2004-01-01", "2001-01-01, 2001-01-01"), "follow one another"),
        (('"10"', '"9"'), "something changes"),
        ((', ["10", 2004-01-01, 2009-01-01], ["9", 2010-01-01, 2012-01-01]', ""), "something changes"),
        (("en = ", "xx = "), "in English"),
        (("de = ", "xx = "), "known languages"),
        (("hat {value} ", "hat "), "states its value once"),
        (("2012-01-01", '"now"'), "date"),
        (('key = "members"', 'key = "members"\nmore = 1'), "more"),
        (("[[timeline]]", f"{TIMELINE}\n[[timeline]]"), "one key"),
    ],
)
def test_a_timeline_that_contradicts_itself_is_refused(change: tuple[str, str], reason: str) -> None:
    assert change[0] in TIMELINE
    with pytest.raises(ValueError, match=reason):
        parse_timelines(TIMELINE.replace(*change, 1))
