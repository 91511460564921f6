"""A diff says exactly what changed, can be read, is the same every time, and never takes long."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyses.diff import (
    HEAD,
    MAX_CHARACTERS,
    NO_CHANGES,
    SPACING_ONLY,
    compare,
    diff,
    mark_changes,
    sentences,
)
from analyses.sequences import match_sequences

OLD = "The tower is 300 metres tall. It was built in 1889. Many visit it every year. It is brown. The end."
NEW = "The tower is 330 metres tall. Many visit it every year. It was built in 1889. It is brown. A new word."

SIDES = {
    "=": (True, True),
    "~": (True, True),
    "-": (True, False),
    "<": (True, False),
    "+": (False, True),
    ">": (False, True),
}
"""By the sign of a line of the diff: whether its sentence is in the earlier text, and in the later one."""

words = st.lists(st.sampled_from(["One", "two", "three", "four", "five", "it's"]), min_size=1, max_size=5)
sentence = words.map(lambda chosen: " ".join(chosen) + ".")
texts = st.lists(sentence, max_size=14).map(" ".join)


def test_it_reads_like_this() -> None:
    assert diff(OLD, NEW) == (
        f"{HEAD}\n"
        "~ The tower is [-300-] {+330+} metres tall.\n"
        "< It was built in 1889.\n"
        "= Many visit it every year.\n"
        "> It was built in 1889.\n"
        "= It is brown.\n"
        "- The end.\n"
        "+ A new word."
    )


def test_equal_texts_have_no_changes() -> None:
    assert diff(OLD, OLD) == diff("", "") == NO_CHANGES
    assert diff("One. Two.", "One.  Two.") == SPACING_ONLY


def test_what_did_not_change_is_counted_and_not_repeated() -> None:
    many = " ".join(f"Sentence number {number} stays." for number in range(40))
    said = diff(f"{many} Gone.", f"{many} Come now.")
    assert "(39 unchanged)\n= Sentence number 39 stays.\n" in said
    assert len(said) < 600
    behind = diff(f"Gone. {many}", f"Come now. {many}")
    assert behind.endswith("\n+ Come now.\n= Sentence number 0 stays.\n(39 unchanged)")


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", []),
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ('He said "Stop." Then (so it seems.) nothing...', ['He said "Stop."', "Then (so it seems.)", "nothing..."]),
        ("Pi is 3.14 or so. See a.b.c", ["Pi is 3.14 or so.", "See a.b.c"]),
        ('A "quoted" word (in brackets) ends nothing.', ['A "quoted" word (in brackets) ends nothing.']),
        ("\u5929\u6c17\u3002\u96e8\u3002", ["\u5929\u6c17\u3002", "\u96e8\u3002"]),
    ],
)
def test_sentences(text: str, parts: list[str]) -> None:
    assert sentences(text) == parts


@pytest.mark.requirement("2.4.3-02")
@given(texts, texts)
def test_both_texts_can_be_read_back(old: str, new: str) -> None:
    """2.4.3-02: The difference is deterministic and by lines."""
    steps = compare(old, new)
    assert [step.old for step in steps if step.old is not None] == sentences(old)
    assert [step.new for step in steps if step.new is not None] == sentences(new)
    assert all((step.old is not None) == (step.sign in "=~-<") for step in steps)
    assert all((step.new is not None) == (step.sign in "=~+>") for step in steps)
    assert all((step.sign == "=") == (step.old == step.new) for step in steps)


@given(texts, texts)
def test_removed_means_in_the_old_text_and_not_in_the_new_one(old: str, new: str) -> None:
    steps = compare(old, new)
    taken = Counter(s.old for s in steps if s.sign in "-~")
    put = Counter(s.new for s in steps if s.sign in "+~")
    assert taken == Counter(sentences(old)) - Counter(sentences(new))
    assert put == Counter(sentences(new)) - Counter(sentences(old))
    assert Counter(s.old for s in steps if s.sign == "<") == Counter(s.new for s in steps if s.sign == ">")


@given(st.lists(st.sampled_from("abcdefgh"), max_size=12), st.lists(st.sampled_from("abcdefgh"), max_size=12))
def test_marks_in_a_changed_sentence_hold_both_of_its_forms(old: list[str], new: list[str]) -> None:
    said = mark_changes(" ".join(old), " ".join(new))
    without_new = " ".join(" ".join(part.split("+}")[-1] for part in said.split("{+")).split())
    without_old = " ".join(" ".join(part.split("-]")[-1] for part in said.split("[-")).split())
    assert without_new.replace("[-", "").replace("-]", "").split() == old
    assert without_old.replace("{+", "").replace("+}", "").split() == new


@given(st.lists(st.integers(0, 5), max_size=30), st.lists(st.integers(0, 5), max_size=30))
def test_matching_is_of_equals_and_in_order(old: list[int], new: list[int]) -> None:
    pairs = list(match_sequences(old, new))
    assert all(old[i] == new[j] for i, j in pairs)
    assert all(a < c and b < d for (a, b), (c, d) in pairwise(pairs))


HARD: dict[str, Callable[[random.Random], str]] = {
    "two letters": lambda draw: " ".join(draw.choice("ab") + "." for _ in range(33_000)),
    "full stops": lambda draw: "." * 99_999 + draw.choice("ab"),
    "quoted stops": lambda draw: '.")' * 33_000 + draw.choice("ab"),
    "one sentence": lambda draw: " ".join(str(draw.random()) for _ in range(5_000)),
    "one word": lambda draw: "a" * 99_999 + draw.choice("bc"),
    "in a circle": lambda draw: " ".join(f"s{draw.randrange(100)} k." for _ in range(14_000)),
    "shuffled": lambda draw: " ".join(f"{number}." for number in draw.sample(range(17_000), 17_000)),
    "prose": lambda draw: " ".join(draw.choice(("lorem", "ipsum", "dolor.", "sit", "amet.")) for _ in range(18_000)),
}


@pytest.mark.requirement("2.4.3-02")
@pytest.mark.parametrize("kind", HARD)
def test_the_longest_posts_take_no_long_time(kind: str) -> None:
    """2.4.3-02: The difference is deterministic and by lines."""
    old, new = HARD[kind](random.Random(1)), HARD[kind](random.Random(2))
    began = process_time()
    said = diff(old, new)
    assert process_time() - began < 10, "the bound is minutes away from what an unbounded one would take"
    assert len(said) < MAX_CHARACTERS + 1_000
    assert said == diff(old, new)
