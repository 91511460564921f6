"""What a model hands to its research tools is read strictly."""

from __future__ import annotations

import json

import pytest

from analyses.kinds import InvalidSubmission
from analyses.research import MAX_POSTS, parse_author_history, parse_fetch_url


def test_an_address_is_read_without_the_spaces_around_it() -> None:
    assert parse_fetch_url(json.dumps({"url": " https://a.example/b \n"})) == "https://a.example/b"


@pytest.mark.parametrize(
    "arguments", ["", "[]", "{}", '{"url": 1}', '{"url": " "}', '{"url": "a", "b": 1}', f'{{"url": "{"a" * 9_000}"}}']
)
def test_what_is_no_address_is_refused_without_being_repeated(arguments: str) -> None:
    with pytest.raises(InvalidSubmission, match=r"url|arguments|b:") as raised:
        parse_fetch_url(arguments)
    assert raised.value.__context__ is None


def test_a_number_of_posts_is_read() -> None:
    assert [parse_author_history(json.dumps({"posts": count})) for count in (1, MAX_POSTS)] == [1, MAX_POSTS]


@pytest.mark.parametrize("arguments", ["{}", '{"posts": 0}', '{"posts": 21}', '{"posts": "5"}', '{"posts": 1.5}', "x"])
def test_another_number_of_posts_is_refused(arguments: str) -> None:
    with pytest.raises(InvalidSubmission):
        parse_author_history(arguments)
