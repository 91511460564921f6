"""Posts that only people can write: there are enough, each says why its answer is right, and none is there twice."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from typing import Final

import pytest

from tests.bench import casebook
from tests.bench.casebook import Kind, Post

WRITTEN: Final = casebook.posts()
SHARED_AT_MOST: Final = 0.25
"""The share of runs of three words that two posts of a kind may have in common."""

SATIRE: Final = """
[[post]]
id = "a-joke"
platform = "X"
published = 2024-04-01
sign = "said a fish"
text = "The pond is closed, said a fish."
"""
DISPUTE: Final = """
[[post]]
id = "a-dispute"
platform = "X"
published = 2024-04-01
positions = ["It is one.", "It is two."]
sources = ["https://one.org/a", "https://two.org/b"]
text = "I say that it is one."
"""
OUTDATED: Final = """
[[post]]
id = "an-old-one"
platform = "X"
published = 2020-01-01
valid_from = 2010-01-01
valid_until = 2020-01-01
wrong = ["It is one."]
sources = ["https://one.org/a", "https://two.org/b"]
text = "We counted. It is one."
"""


@pytest.mark.requirement("TR-41")
def test_what_only_people_can_write_is_not_left_to_a_handful() -> None:
    """TR-41: The posts with known answers are many, wrong ones have a twin, and a missing recording fails."""
    counted = Counter(post.kind for post in WRITTEN)
    for kind in ("satire", "opinion", "hyperbole"):
        assert counted[kind] >= 150
        spoken = Counter(post.language for post in WRITTEN if post.kind == kind)
        assert len(spoken) >= 10
        assert counted[kind] - spoken["en"] >= 20
    assert counted["disputed"] >= 150
    disputes = {frozenset(post.positions) for post in WRITTEN if post.kind == "disputed"}
    assert len(disputes) >= 100, "posts about one dispute are not as many trials"
    assert counted["outdated"] >= 150
    for kind in ("satire", "opinion", "hyperbole", "disputed"):
        assert sum(len(post.text) >= 400 for post in WRITTEN if post.kind == kind) >= 5, "not only short ones"
    outdated = [post for post in WRITTEN if post.kind == "outdated"]
    assert sum(bool(post.wrong) for post in outdated) >= 50


@pytest.mark.parametrize("kind", ["satire", "opinion", "hyperbole", "disputed"])
def test_no_post_is_another_one_in_a_few_other_words(kind: Kind) -> None:
    runs = {post.id: set(_runs(post.text)) for post in WRITTEN if post.kind == kind}
    near = [
        (one, other)
        for one, other in combinations(runs, 2)
        if len(runs[one] & runs[other]) > SHARED_AT_MOST * min(len(runs[one]), len(runs[other]))
    ]
    assert near == []


def _runs(text: str) -> Iterator[tuple[str, ...]]:
    words = re.findall(r"\w+", text.casefold())
    return zip(words, words[1:], words[2:], strict=False)


@pytest.mark.parametrize(
    ("kind", "document", "change", "reason"),
    [
        ("satire", SATIRE, ("closed", "shut"), None),
        ("satire", SATIRE, ('sign = "said a fish"\n', ""), "have a sign"),
        ("satire", SATIRE, ('sign = "said', 'sign = "says'), "stand in the text"),
        ("quotation", SATIRE, ("closed", "shut"), "no others do"),
        ("disputed", DISPUTE, ("I say", "I think"), None),
        ("disputed", DISPUTE, (', "It is two."', ""), "two positions"),
        ("disputed", DISPUTE, ("It is two.", "it is one."), "two positions"),
        ("disputed", DISPUTE, ('sources = ["https://one.org/a", "https://two.org/b"]\n', ""), "two sources"),
        ("true", DISPUTE, ("I say", "I think"), "no others do"),
        ("outdated", OUTDATED, ("We", "They"), None),
        ("outdated", OUTDATED, ("valid_from = 2010-01-01\nvalid_until = 2020-01-01\n", ""), "from when"),
        ("outdated", OUTDATED, ("valid_until = 2020-01-01\n", ""), "two ends"),
        ("outdated", OUTDATED, ("published = 2020-01-01", "published = 2009-01-01"), "not right yet"),
        ("outdated", OUTDATED, ("valid_from = 2010", "valid_from = 2020"), "or never"),
        ("outdated", OUTDATED, ("published = 2020-01-01", "published = 2019-12-31"), "wrong exactly from"),
        ("outdated", OUTDATED, ('wrong = ["It is one."]\n', ""), "wrong exactly from"),
        ("false", OUTDATED, ("We", "They"), "no others do"),
    ],
)
def test_a_post_says_why_its_answer_is_right(
    kind: str, document: str, change: tuple[str, str], reason: str | None
) -> None:
    assert change[0] in document
    changed = document.replace(*change)
    if reason is None:
        assert len(casebook.parse(kind, changed)) == 1
        return
    with pytest.raises(ValueError, match=reason):
        casebook.parse(kind, changed)


def test_a_text_that_stands_twice_is_refused() -> None:
    (one,) = casebook.parse("satire", SATIRE)
    other: Post = one.model_copy(update={"id": "again", "text": one.text.upper()})
    with pytest.raises(ValueError, match="a-joke, again"):
        casebook.together([one, other])


def test_an_outdated_post_has_a_twin() -> None:
    (one,) = casebook.parse("outdated", OUTDATED)
    twin = one.model_copy(
        update={"id": "a-twin", "text": "We counted. It is two.", "wrong": (), "twin_of": one.id, "valid_from": None}
    )
    assert casebook.together([one, twin]) == (one, twin)
    with pytest.raises(ValueError, match="has one twin"):
        casebook.together([one])
