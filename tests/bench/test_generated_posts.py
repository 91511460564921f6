"""Generated answers follow from the tables, and nothing but one value tells a twin from a false post."""

from __future__ import annotations

import re
from collections import Counter
from fractions import Fraction
from itertools import islice
from math import ceil, floor, log10

import pytest

from accuracy.bounds import upper_bound
from tests.bench import casebook
from tests.bench.facts import ENGLISH, Fact, facts_in, parse_table, read_languages, read_table
from tests.bench.generated import LANGUAGES, SIZES, generate
from tests.bench.timelines import read_timelines

TABLES = ("elements", "capitals", "capital_names", "events", "constants", "planets", "leaders")
ROW = re.compile(r"^\| (.+?) \| ([\d,]+).*? \| ([\d.]+) %", re.M)
TABLE = """
columns = ["key", "value"]
sources = ["https://one.org/{key}", "https://two.org/{value}"]
rows = [["a", "1"], ["b", "2"]]
"""


@pytest.mark.requirement("TR-41")
def test_as_many_posts_are_generated_as_the_bounds_need() -> None:
    """TR-41: The posts with known answers are many, wrong ones have a twin, and a missing recording fails."""
    posts = casebook.together((*casebook.posts(), *generate()))
    counted = Counter(post.kind for post in posts)
    twins = [post for post in posts if post.twin_of is not None]
    assert counted["true"] >= 3_000
    assert sum(post.sentences for post in posts if post.kind == "true") >= 19_000
    assert sum(1 for post in posts if post.kind == "false" and post.wrong) >= 600
    assert sum(1 for post in twins if post.kind == "false") >= 600
    assert counted["mirrored"] >= 600
    assert counted["corrected"] >= 600
    assert counted["planted"] >= 300
    assert min(counted["quotation"], counted["hypothetical"]) >= 150
    outdated = [post for post in posts if post.kind == "outdated"]
    assert sum(bool(post.wrong) for post in outdated) >= 150
    assert sum(post.twin_of is not None for post in outdated) >= 150
    assert sum(count for kind, count in counted.items() if kind.startswith("injected")) >= 300
    assert {post.language: None for post in posts if post.kind == "language"}.keys() == set(LANGUAGES)
    assert counted["language"] >= 600
    assert len(LANGUAGES) == 10
    assert len({post.text for post in posts}) == len(posts)


@pytest.mark.requirement("TR-41")
def test_the_readme_says_how_many_posts_there_are_and_what_that_bounds() -> None:
    """TR-41: The posts with known answers are many, wrong ones have a twin, and a missing recording fails."""
    counted = Counter(post.kind for post in (*casebook.posts(), *generate()))
    table = (casebook.FOLDER / "README.md").read_text("utf-8").split("## What the figures say")[1]
    rows = [(re.findall(r"`(\w+)`", names), posts, bound) for names, posts, bound in ROW.findall(table)]
    injected = [kind for kind in counted if kind.startswith("injected")]
    for kinds, posts, bound in rows:
        for size in [counted[kind] for kind in kinds] or [sum(counted[kind] for kind in injected)]:
            trials = size // 2 if "mirrored" in kinds else size
            assert f"{trials:,}" == posts, kinds
            assert float(bound) == _round_up(100 * upper_bound(0, trials)), kinds
    assert sorted(kind for kinds, _, _ in rows for kind in kinds) == sorted(counted.keys() - injected)


def _round_up(percent: float) -> float:
    """To two digits."""
    step = 10.0 ** (floor(log10(percent)) - 1)
    return round(ceil(percent / step) * step, 3)


def test_the_same_seed_gives_the_same_posts_and_less_gives_the_first() -> None:
    assert list(generate(Fraction(1, 50))) == list(generate(Fraction(1, 50)))
    assert list(generate(Fraction(1, 50))) != list(generate(Fraction(1, 50), seed="another"))
    more = {post.id: post for post in generate(Fraction(1, 10))}
    assert all(more[post.id] == post for post in generate(Fraction(1, 50)))
    assert {post.kind for post in generate(Fraction(1, 1000))} == SIZES.keys()


def test_every_answer_names_rows_that_exist() -> None:
    known = {row["row"] for table in TABLES for row in read_table(table)}
    known |= {period.row for timeline in read_timelines() for period in timeline.periods}
    for post in generate():
        assert post.rows
        assert known.issuperset(post.rows), post.id


def test_a_twin_differs_in_one_value() -> None:
    posts = {post.id: post for post in generate(Fraction(1, 4))}
    for twin in posts.values():
        if twin.twin_of is not None and twin.kind != "outdated":
            false = posts[twin.twin_of]
            assert false.rows == twin.rows
            (sentence,) = false.wrong
            facts = [
                (fact, template)
                for each in facts_in(false.language).values()
                for fact in each
                if set(fact.rows) <= set(false.rows)
                for template in fact.templates
            ]
            assert any(
                sentence.casefold() == template.replace("{value}", wrong).casefold()
                and template.replace("{value}", fact.value).casefold() in twin.text.casefold()
                for fact, template in facts
                for wrong in fact.wrong
            ), false.id


def test_no_wrong_sentence_is_a_right_one_of_any_fact() -> None:
    for language in read_languages():
        facts = [fact for relation in facts_in(language).values() for fact in relation]
        right = {_fill(fact, template, fact.value) for fact in facts for template in fact.templates}
        for fact in facts:
            for template in fact.templates:
                assert right.isdisjoint(_fill(fact, template, wrong) for wrong in fact.wrong), (language, fact.rows)


def test_both_sides_of_a_pair_err_by_as_many_years() -> None:
    posts = {post.id: post for post in generate() if post.kind == "mirrored"}
    years = {row["row"]: int(row["year"]) for row in read_table("leaders")}
    pairs = [(post, posts[post.mirror_of]) for post in posts.values() if post.mirror_of is not None]
    assert len(pairs) == SIZES["mirrored"]
    assert {bool(post.wrong) for post, _ in pairs} == {True, False}
    for pair in pairs:
        errors = {
            int(post.text.split(" Kingdom in " if " Kingdom in " in post.text else " States in ")[1][:4]) - years[row]
            for post in pair
            for row in post.rows
            if row in years
        }
        assert len(errors) <= 1
        assert not errors or (errors != {0}) == bool(pair[0].wrong)


def test_each_language_has_each_relation() -> None:
    relations = {"symbol-number", "number-symbol", "planet-number", "capital"}
    for language, lines in read_languages().items():
        assert len(lines["fillers"]) >= 4
        assert set(facts_in(language)) >= relations
        assert language == ENGLISH or set(lines) == {*relations, "fillers"}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (('"b", "2"', '"b"'), "one text for each column"),
        (('"b", "2"', '"b", " "'), "one text for each column"),
        (('"b", "2"', '"a", "2"'), "one key"),
        (("https://two.org", "https://one.org"), "two sources"),
        (("https://two.org", "http://two.org"), "two sources"),
        (("https://two.org", "https://de.wikipedia.org"), "wiki"),
    ],
)
def test_a_table_that_contradicts_itself_is_refused(change: tuple[str, str], reason: str) -> None:
    assert len(parse_table("table", TABLE)) == 2
    with pytest.raises(ValueError, match=reason):
        parse_table("table", TABLE.replace(*change))


@pytest.mark.parametrize(
    ("templates", "value", "wrong"),
    [
        (("It is {value}.",), "Rome", ("rome",)),
        (("It is {value}.",), "Rome", ()),
        (("It is Rome.",), "Rome", ("Paris",)),
        (("{value} is {value}.",), "Rome", ("Paris",)),
        ((), "Rome", ("Paris",)),
    ],
)
def test_a_fact_that_cannot_be_told_from_an_error_is_refused(
    templates: tuple[str, ...], value: str, wrong: tuple[str, ...]
) -> None:
    with pytest.raises(ValueError, match="table/a"):
        Fact(("table/a",), templates, value, wrong)


def test_events_are_not_moved_by_a_year() -> None:
    for fact in islice(facts_in(ENGLISH)["event-year"], 40):
        assert min(abs(int(wrong) - int(fact.value)) for wrong in fact.wrong) >= 2


def _fill(fact: Fact, template: str, value: str) -> str:
    return template.replace("{value}", value).casefold()
