"""A snippet is found where its very words stand, whatever their typography, and nowhere else."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from analyses.snippets import AROUND, MAX_CHARACTERS, MAX_GAP, find, fold, is_too_short, page_text

INVISIBLE: Final[list[dict[str, Any]]] = json.loads(
    (Path(__file__).parents[2] / "cases" / "invisible.json").read_text(encoding="utf-8")
)

PAGE = (
    "Mount Everest\n\nThe summit was first reached on 29 May 1953, by Edmund Hillary and Tenzing Norgay.[12] "
    "They weren’t the first to try: “seven expeditions” had failed – some close to the top. It is 8,848.86 m high.\n"
    "It is illegal to climb without a permit. Ten per cent of non-profit groups can't pay; fees rose by 5%."
)


def found(snippet: str, page: str = PAGE) -> bool:
    return find(snippet, page_text(page)) is not None


@pytest.mark.parametrize(
    "snippet",
    [
        "The summit was first reached on 29 May 1953",
        '"The summit was first reached on 29 May 1953"',
        "“seven expeditions” had failed",
        '"seven expeditions" had failed - some close',
        "had failed — some close to the top",
        "They weren't the first\n  to try",
        "Tenzing Norgay. They weren't the first",
        "Tenzing Norgay.[12] They",
        "The sum\u00admit was\u00a0first\u200b reached",
        "The summit was first reached ... by Edmund Hillary and Tenzing Norgay",
        "…first reached on 29 May 1953, […] They weren’t the first to try",
        "8,848.86 m high",
        "Mount Everest The summit",
    ],
)
@pytest.mark.requirement("2.12-06")
def test_typography_does_not_matter(snippet: str) -> None:
    """2.12-06: Source snapshots with hash and retrieval time."""
    assert found(snippet)


@pytest.mark.parametrize(
    "snippet",
    [
        "The summit was first reached on 29 May 1963",
        "the summit was first reached on 29 May 1953",
        "The summit was reached on 29 May 1953",
        "The summit was first reached on 29 May 195",
        "first on reached",
        "It is legal to climb",
        "legal to climb without a permit",
        "profit groups can't pay",
        "Ten per cent of non-profit groups can",
        "48.86 m high",
        "848.86 m high",
        "It is 8,848",
        "fees rose by 5",
        "by Edmund Hillary ... The summit was first",
        "They were the first to try",
        "The mountain [Everest] was first reached",
    ],
)
def test_another_word_number_or_order_is_not_found(snippet: str) -> None:
    assert not is_too_short(snippet)
    assert not found(snippet)


@pytest.mark.parametrize(
    ("snippet", "page"),
    [
        ("-5 degrees on that cold day", "It was 15 degrees on that cold day."),
        ("5 degrees on that cold day", "It was -5 degrees on that cold day."),
        ("849 metres high by the survey", "It is 8 849 metres high by the survey."),
        ("By the survey it is 8", "By the survey it is 8 849 metres high."),
        ("10² units of the old kind", "It has 102 units of the old kind."),
        ('6" tall when he was young', "He is 6' tall when he was young."),
        ("10 million people live in the city", "10 billion people live in the city"),
        ("costs 5 euro in every shop here", "costs 5 dollars in every shop here"),
    ],
)
def test_a_sign_a_unit_or_a_group_of_digits_matters(snippet: str, page: str) -> None:
    assert not is_too_short(snippet)
    assert not found(snippet, page)
    assert found(page, page)


@pytest.mark.parametrize(
    ("snippet", "page"),
    [
        ("849 metres high by the survey", "In it 849 metres high by the survey are shown."),
        ("It was said in a word", "It was said in a word,5 and that was all."),
    ],
)
def test_what_stands_beside_a_number_or_mark_is_whole(snippet: str, page: str) -> None:
    assert found(snippet, page)


@pytest.mark.parametrize(
    "snippet",
    [
        "",
        " … ",
        "...",
        "“”",
        "the",
        "a ... summit was first",
        "-",
        "1 m",
        "Everest",
        "Mount Everest",
        "it is a",
        "1953",
    ],
)
def test_what_is_too_short_to_be_a_quotation_is_not_found(snippet: str) -> None:
    assert not found(snippet, f"{PAGE} the a - 1 m it is a 1953")


def test_words_far_apart_are_not_one_quotation() -> None:
    apart = "It is not true " + "x" * (MAX_GAP - 20)
    assert found("It is not true … that cats bark", f"{apart} that cats bark")
    assert not found("It is not true … that cats bark", f"{apart} {'y' * 40} that cats bark")
    again = f"It is not true {'z' * 2_000} {apart} that cats bark"
    assert found("It is not true … that cats bark", again), "the nearest beginning counts"


@pytest.mark.parametrize(
    ("broken", "snippet"),
    [
        ("a demon-\nstration of it", "a demonstration of it"),
        ("a well-\n  known fact here", "a well-known fact here"),
        ("nineteenth-\nand twentieth-century", "nineteenth- and twentieth-century"),
        ("a demon\u00ad\nstration of it", "a demonstration of it"),
        ("the first\nof\r\nMay", "the first of May"),
        ("the of\ufb01ce was e\ufb03cient", "the office was efficient"),
        ("« mot » et « chose »", '"mot" et "chose"'),
        ("cafe\u0301 au lait", "café au lait"),
    ],
)
def test_how_a_page_breaks_its_lines_does_not_matter(broken: str, snippet: str) -> None:
    assert found(snippet, broken)


def test_scripts_without_spaces() -> None:
    assert found("地球は太陽の周り", "もちろん地球は太陽の周りを回る。")
    assert not found("太陽は地球の周り", "もちろん地球は太陽の周りを回る。")


def test_the_words_around_are_shown_and_bounded() -> None:
    page = f"{'before ' * 200}The Moon is rock, they deny.{' after' * 200}"
    around = find("Moon is rock", page_text(page))
    assert around is not None
    assert "The Moon is rock, they deny." in around
    assert around.startswith("before ")
    assert around.endswith(" after")
    assert len(around) <= 2 * AROUND + len("Moon is rock")
    long = "word " * 2_000
    held = find(long, page_text(long))
    assert held is not None
    assert len(held) == MAX_CHARACTERS


@pytest.mark.parametrize("case", INVISIBLE, ids=lambda case: case["name"])
def test_what_readers_cannot_see_is_ignored_as_it_is_in_the_extension(case: dict[str, Any]) -> None:
    plain, marked = "tea 地", "te{0}a 地{0}".format(case["character"])
    assert (fold(marked) == fold(plain)) is case["ignored"]


words = st.text("abcdeß éØ019'-—…”«»[]()., \n\u00ad\u200b\u202f\u2066ﬁ地", max_size=80)


@given(words)
def test_folding_twice_changes_nothing_more(text: str) -> None:
    assert fold(fold(text)) == fold(text)


plain = st.lists(st.text("abcdefgh", min_size=1, max_size=6), min_size=3, max_size=30)


@given(plain, st.data())
def test_every_run_of_whole_words_is_found_in_any_typography(page: list[str], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(page) - 1))
    end = data.draw(st.integers(start + 1, len(page)))
    spaces = st.sampled_from([" ", "\n", "\u00a0", " \u200b ", "\t\t"])
    snippet = "".join(f"{word}{data.draw(spaces)}" for word in page[start:end])
    assume(sum(map(len, page[start:end])) >= 8)
    assume(end - start >= 3)
    assert found(f"“{snippet}”", " ".join(page))


@given(plain, st.data())
def test_a_run_with_one_word_changed_is_found_only_if_it_is_there(page: list[str], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(page) - 1))
    other = data.draw(st.text("abcdefgh", min_size=1, max_size=6))
    changed = [*page[:place], other, *page[place + 1 :]]
    expected = re.search(rf"(?<!\w){' '.join(changed)}(?!\w)", " ".join(page)) is not None
    assume(sum(map(len, changed)) >= 8)
    assert found(" ".join(changed), " ".join(page)) is expected


@given(words, words)
def test_nothing_makes_it_fail(snippet: str, page: str) -> None:
    around = find(snippet, page_text("title", page))
    assert around is None or len(around) <= MAX_CHARACTERS


@pytest.mark.parametrize(
    "page", ["a" * 5_000_000, "abcd " * 1_000_000, "-\n" * 2_500_000, "[1]" * 1_600_000, " " * 5_000_000, "a- " * 10**6]
)
def test_a_large_and_hostile_page_takes_bounded_time(page: str) -> None:
    began = time.process_time()
    read = page_text(page)
    find("aaaa … aaaa … abcd … abcd abcd", read)
    find("abcd " * 100 + "x", read)
    assert time.process_time() - began < 30
