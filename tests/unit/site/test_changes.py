"""What is said to have changed has: taking away what was added gives the old text, and the other way round."""

from __future__ import annotations

from itertools import pairwise
from time import process_time

from hypothesis import example, given
from hypothesis import strategies as st

from services.gateway.public.site.changes import SHOWN, Edit, compare, compare_texts, sentences, shared_ends

pieces = st.lists(st.sampled_from("abc"), max_size=14)


@given(pieces, pieces, st.integers(0, 10))
def test_both_texts_are_in_the_comparison(old: list[str], new: list[str], limit: int) -> None:
    edits = compare(old, new, limit)
    assert "".join(edit.text for edit in edits if edit.kind != "added") == "".join(old)
    assert "".join(edit.text for edit in edits if edit.kind != "removed") == "".join(new)
    assert all(one.kind != other.kind for one, other in pairwise(edits))


@given(pieces, pieces)
def test_it_is_the_shortest_there_is(old: list[str], new: list[str]) -> None:
    kept = [[0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for i, a in enumerate(old):
        for j, b in enumerate(new):
            kept[i + 1][j + 1] = kept[i][j] + 1 if a == b else max(kept[i][j + 1], kept[i + 1][j])
    edits = compare(old, new, 100)
    assert sum(len(edit.text) for edit in edits if edit.kind == "same") == kept[-1][-1]


@given(st.text(alphabet="ab .!?)\n", max_size=60))
def test_sentences_are_all_of_the_text(text: str) -> None:
    assert "".join(sentences(text)) == text


texts = st.text(alphabet="ab .!?)\n", max_size=40)


@given(texts, texts, texts, texts, st.integers(1, 50))
@example("a", "", "b", "?  b", 2)  # white space goes on where the search ends
def test_shared_ends_are_whole_sentences_of_both_texts(
    beginning: str, one: str, other: str, ending: str, near: int
) -> None:
    old, new = beginning + one + ending, beginning + other + ending
    start, end = shared_ends(old, new, near)
    assert old[:start] == new[:start]
    assert old[len(old) - end :] == new[len(new) - end :]
    for text in (old, new):
        parts = text[:start], text[start : len(text) - end], text[len(text) - end :]
        assert "".join(parts) == text, "they do not overlap"
        assert [each for part in parts for each in sentences(part)] == sentences(text)


def test_a_long_beginning_and_end_are_shared() -> None:
    half = "It is said. " * 300
    assert shared_ends(f"{half}So it is. {half}", f"{half}So it was. {half}") == (len(half), len(half))


def test_one_word_is_shown_in_its_sentence() -> None:
    found = compare_texts(
        "First it rained. The tower is 300 m high. Then the sun came.",
        "First it rained. The tower is 330 m high. Then the sun came.",
    )
    assert found.shown == (
        (
            Edit("same", "First it rained. "),
            Edit("same", "The tower is "),
            Edit("removed", "300 "),
            Edit("added", "330 "),
            Edit("same", "m high. "),
            Edit("same", "Then the sun came."),
        ),
    )
    assert (found.removed_words, found.added_words, found.more) == (1, 1, 0)


def test_equal_texts_have_no_changes() -> None:
    assert compare_texts("The same. Words.", "The same. Words.").shown == ()


def test_many_changes_are_counted_and_the_first_are_shown() -> None:
    old = " ".join(f"Line {n} stays. Line {n} goes." for n in range(50))
    found = compare_texts(old, old.replace("goes", "went"))
    assert (len(found.shown), found.more) == (SHOWN, 50 - SHOWN)
    assert (found.removed_words, found.added_words) == (50, 50)


def test_texts_that_share_nothing_cost_little() -> None:
    began = process_time()
    for old, new in (
        ("a. b. " * 20_000, "b. a. c. " * 20_000),
        (" ".join(f"x{n}." for n in range(10_000)), " ".join(f"y{n}." for n in range(10_000))),
        (" ".join(f"x{n}" for n in range(20_000)), " ".join(f"y{n}" for n in range(20_000))),
        ("x " * 250_000, "x " * 249_000 + "y " * 1_000),  # all one sentence
        ("x. " * 160_000, "y. " * 160_000),
        (". ".join("a b" * 700 for _ in range(300)), ". ".join("a c" * 700 for _ in range(300))),
    ):
        found = compare_texts(old, new)
        assert sum(len(edit.text) for change in found.shown for edit in change) < 100_000
    assert process_time() - began < 5
