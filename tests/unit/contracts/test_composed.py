"""Composition is the library's own, and no text makes it slow."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

import pytest
import unicodedata2
from hypothesis import given
from hypothesis import strategies as st

from contracts.composed import nfc, nfkc
from tests.support.growth import assert_linear, cpu_s

MARKS = [chr(code) for code in range(0x110000) if unicodedata2.combining(chr(code))]
# Those that decompose into marks alone, or become marks, and letters and signs with marks of their own.
ODD = "\u0344\u0f73\u0f75\u0f81\uff9e\uff9f\u037a\u1f82\u1ebf\u212b\U0001d15e\ufb2c\ud55c\u1112\u1161\u11ab\u0e33\u0dde"
pieces = st.sampled_from((*ODD, "a", " ", "\u0301\u0327", "\u0327\u0301" * 20, "\u4e2d", "\ud800")) | st.sampled_from(
    MARKS
)
texts = st.builds(lambda parts, times: "".join(parts) * times, st.lists(pieces, max_size=30), st.integers(1, 40))

HOSTILE: dict[str, Callable[[int], str]] = {
    "marks out of order": lambda n: "a" + "\u0301\u0327" * (n // 2),
    "all marks": lambda n: "a" + ("".join(reversed(MARKS)) * n)[:n],
    "marks in short runs": lambda n: ("a" + "\u0301" * 8 + "\u0327" * 7) * (n // 16),
    "marks behind marks": lambda n: "a" + "\u0301" * (n // 2) + "\u0327" * (n // 2),
    "what decomposes into marks": lambda n: "a" + "\u0344\u0f73" * (n // 2),
    "letters that become marks": lambda n: "a" + "\u0301" * (n // 2) + "\uff9e" * (n // 2),
    "letters with many marks": lambda n: "\u1f82" * n + "\u0340",
    "signs that decompose": lambda n: "\U0001d15e" * n,
    "syllables in pieces": lambda n: "\u1112\u1161\u11ab" * (n // 3),
    "no spaces": lambda n: "\u4e2d" * n,
}


@given(texts)
def test_the_result_is_the_librarys(text: str) -> None:
    assert nfc(text) == unicodedata2.normalize("NFC", text)
    assert nfkc(text) == unicodedata2.normalize("NFKC", text)


@pytest.mark.parametrize("name", HOSTILE)
def test_so_it_is_in_long_texts(name: str) -> None:
    text = HOSTILE[name](9_000)
    assert nfc(text) == unicodedata2.normalize("NFC", text)
    assert nfkc(text) == unicodedata2.normalize("NFKC", text)


@pytest.mark.parametrize("compose", [nfc, nfkc])
@pytest.mark.parametrize("name", HOSTILE)
def test_the_cost_grows_with_the_length_alone(name: str, compose: Callable[[str], str]) -> None:
    assert_linear(compose, HOSTILE[name], 25_000)


def test_half_a_megabyte_of_accents() -> None:
    # It took 39 seconds; it takes a tenth of one.
    assert cpu_s(lambda: nfc("a" + "\u0301\u0327" * 120_000), below_s=1) < 1


def test_no_mark_is_a_letter() -> None:
    """Runs of marks are looked for among what is neither letter nor digit, with Python's data or newer."""
    assert not [mark for mark in MARKS if mark.isalnum() or mark == "_"]
    assert not [mark for mark in MARKS if unicodedata.category(mark)[0] not in "MC"]


def test_only_two_letters_become_marks() -> None:
    def begins_with_mark(form: str, code: int) -> bool:
        return bool(unicodedata2.combining(unicodedata2.normalize(form, chr(code))[0]))

    becoming = {chr(code) for code in range(0x110000) if begins_with_mark("NFKD", code)}
    assert {letter for letter in becoming if letter.isalnum()} == {"\uff9e", "\uff9f"}
    assert {mark for mark in becoming - set(MARKS) if begins_with_mark("NFD", ord(mark))} == set("\u0f73\u0f75\u0f81")
