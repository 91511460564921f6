"""No text that may be shown repeats what was not published, however it is written; all others are as they were."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from services.gateway.public.redaction import LONGEST, MARK, MOST, RUN, Redactor, words

SECRET = "The Moon is made of 100% green cheese."
MINE, OTHERS = ("moon", "Käse", "vier", "1950", "は", "月"), ("sun", "cold", "tea", "seven", "日")
"""Words that candidates have, and words that they have not."""
GLUE = st.sampled_from((" ", "  ", "\n", ", ", " – ", '" ', "\u200b \u00ad", "*", "/"))


def kept_back(*quotes: str, published: tuple[str, ...] = ()) -> Redactor:
    states = [("REJECTED", each) for each in quotes] + [("APPROVED", each) for each in published]
    return Redactor((state, {"text": text, "summary": "", "sources": []}) for state, text in states)


@st.composite
def written(draw: st.DrawFn, said: list[str]) -> str:
    """The same words in other cases, with other things between them."""
    cases: st.SearchStrategy[Callable[[str], str]] = st.sampled_from((str.upper, str.lower, str.title, str))
    return "".join(draw(cases)(word) + draw(GLUE) for word in said)


def said_in(value: Any) -> list[str]:
    match value:
        case str():
            return [value]
        case dict():
            return [text for pair in value.items() for each in pair for text in said_in(each)]
        case list():
            return [text for each in value for text in said_in(each)]
    return []


def around(leaf: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """A recorded call that has the leaf somewhere in it, or in JSON in one of its texts."""
    return st.recursive(
        leaf,
        lambda inner: (
            st.lists(inner | st.just("tea"), max_size=3)
            | st.dictionaries(st.sampled_from(("query", "arguments", "x")), inner, min_size=1)
            | inner.map(lambda each: json.dumps({"input": each}))
        ),
        max_leaves=4,
    )


@given(st.data(), st.lists(st.sampled_from(MINE), min_size=1, max_size=12))
def test_what_is_shown_repeats_nothing_that_was_kept_back(data: st.DataObject, secret: list[str]) -> None:
    withheld = kept_back(" ".join(secret))
    first = data.draw(st.integers(0, max(0, len(secret) - RUN)))
    part = data.draw(written(secret[first : first + data.draw(st.integers(RUN, 12))]))
    before, after = (data.draw(written(data.draw(st.lists(st.sampled_from(OTHERS))))) for _ in range(2))
    text = f"{before} {part} {after}"
    escaped = data.draw(st.sampled_from((text, quote(text), quote_plus(text), json.dumps(text))))
    shown = withheld.without(data.draw(around(st.just(escaped))))
    assert all(not withheld.repeats(each) for each in said_in(shown))
    assert not [each for each in said_in(shown) if part.strip() in each or escaped in each]
    assert withheld.without(shown) == shown


@given(st.data(), st.lists(st.sampled_from(MINE), min_size=1))
def test_what_has_none_of_the_words_is_as_it_was(data: st.DataObject, secret: list[str]) -> None:
    recorded = data.draw(around(written(data.draw(st.lists(st.sampled_from(OTHERS))))))
    assert kept_back(" ".join(secret)).without(recorded) == recorded


@given(around(st.text() | st.none() | st.integers()))
def test_where_all_is_published_everything_is_as_it_was(recorded: Any) -> None:
    everything = kept_back(published=(SECRET,))
    assert not everything
    assert everything.without(recorded) == recorded
    assert not everything.repeats("x" * (LONGEST + 1))
    deep = json.loads("[" * 50 + "]" * 50)
    assert everything.without(deep) == deep


@given(st.lists(st.sampled_from(MINE), min_size=RUN), st.lists(st.sampled_from(OTHERS), min_size=RUN))
def test_words_of_a_published_candidate_are_not_kept_back(public: list[str], secret: list[str]) -> None:
    text = " ".join(public)
    withheld = kept_back(f"{text} {' '.join(secret)}", published=(text,))
    assert not withheld.repeats(text)
    assert withheld.repeats(" ".join(secret))


@pytest.mark.parametrize(
    "text",
    [
        SECRET,
        "is the MOON made... of “100% green” cheese, is made of 100 green?",
        quote(f"https://search.example/?q={SECRET}", safe=""),
        json.dumps({"q": "\u201cmoon is made of 100\u201d"}),
        "\uff2d\uff4f\uff4f\uff4e is made of 100",
        "mo\u00adon is made\u200b of 100",
        "x" * (LONGEST + 1),
    ],
)
def test_however_it_is_written_it_is_the_same(text: str) -> None:
    assert kept_back(SECRET).without({"action": {"query": text}}) == {"action": {"query": MARK}}


def test_words_of_ones_own_about_the_same_are_shown() -> None:
    for query in ("is the moon made of cheese", "what is the moon made of", "green cheese", ""):
        assert kept_back(SECRET).without(query) == query


def test_scripts_without_spaces_and_short_quotes_are_known_too() -> None:
    assert kept_back("月亮是奶酪做的").repeats("请问月亮是奶酪做的吗")
    assert kept_back("in 1950").repeats("born in 1950?")
    assert not kept_back("in 1950").repeats("in 19500")
    assert words("It\u2019s A_b \u0e44\u0e17\u0e22") == ("it", "s", "a", "b", "ไ", "ท", "ย")


def test_where_too_much_was_submitted_no_text_is_shown() -> None:
    withheld = kept_back(*(f"word{n} " * 4_000 for n in range(MOST // 20_000)))
    assert withheld.without(["tea", {"query": "tea"}, None]) == [MARK, {}, None]


def test_a_name_that_repeats_it_goes_with_what_it_names_and_what_is_too_deep_goes_whole() -> None:
    withheld = kept_back(SECRET)
    assert withheld.without({SECRET: 1, "x": 2}) == {"x": 2}
    deep: Any = "tea"
    for _ in range(900):
        deep = [deep]
    assert "tea" not in str(withheld.without(deep))
    assert Redactor((), [{"name": "submit_correction", "arguments": json.dumps(deep)}])


@pytest.mark.parametrize(("summary", "text"), [("It is  ROCK.", "other"), ("other", "the **Moon** is cheese")])
def test_a_submission_is_published_if_its_summary_or_its_quote_is(summary: str, text: str) -> None:
    published: tuple[str, JsonValue] = "APPROVED", {"summary": "It is rock.", "text": "The Moon is cheese."}
    arguments = json.dumps({"summary": summary, "text": text, "reasoning": "At great length."})
    calls: tuple[JsonValue, ...] = (
        {"name": "submit_correction", "arguments": arguments},
        {"name": "submit_correction", "input": json.loads(arguments)},
        {"function": {"name": "submit_correction", "arguments": arguments}},
    )
    for call in calls:
        assert not Redactor([published], [call])
        assert Redactor([], [call])
