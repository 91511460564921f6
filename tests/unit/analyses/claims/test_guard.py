"""What a key loses, the guard keeps."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from analyses.claims.guard import Guard, make_guard, simplify
from analyses.claims.normalise import NORMATIVE, VERSIONS, make_key
from tests.support.audit_cases import HOSTILE, Case, read_cases


class Guards(Case):
    guards: list[tuple[str, tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], str]]]
    equal_in_all: list[tuple[str, str]]
    equal_in_two: list[tuple[str, str]]
    joined: list[tuple[str, str]]


CASES = read_cases("guard", Guards)


@pytest.mark.parametrize(("text", "parts"), CASES.guards)
@pytest.mark.requirement("FH-66")
def test_the_printed_guards(text: str, parts: tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], str]) -> None:
    """FH-66: A hit needs the same guard, so that lost numbers, symbols and accents keep claims apart."""
    assert make_guard(text, "") == parts


@pytest.mark.parametrize(("one", "other"), CASES.equal_in_all + CASES.equal_in_two)
@pytest.mark.requirement("FH-66")
def test_claims_that_share_a_key_have_different_guards(one: str, other: str) -> None:
    """FH-66: A hit needs the same guard, so that lost numbers, symbols and accents keep claims apart."""
    assert make_key(one, "en") == make_key(other, "en")
    assert make_guard(one, "") != make_guard(other, "")


@pytest.mark.parametrize(("one", "other"), CASES.equal_in_all)
def test_collisions_of_every_variant(one: str, other: str) -> None:
    assert all(normalise(one, "en") == normalise(other, "en") for normalise in VERSIONS.values())


@pytest.mark.parametrize(("one", "other"), CASES.equal_in_two)
def test_collisions_of_the_later_variants(one: str, other: str) -> None:
    same = {version for version, normalise in VERSIONS.items() if normalise(one, "en") == normalise(other, "en")}
    assert same == {NORMATIVE, "v1norm1-2016"}


@pytest.mark.parametrize(("one", "other"), CASES.joined)
def test_claims_that_mean_the_same_stay_joined(one: str, other: str) -> None:
    assert make_key(one, "en") == make_key(other, "en")
    assert make_guard(one, "") == make_guard(other, "")


@pytest.mark.requirement("FH-66", "FH-147")
def test_the_anchor_is_part_of_the_guard() -> None:
    """FH-66: A hit needs the same guard, so that lost numbers, symbols and accents keep claims apart.
    FH-147: A claim's time anchor is part of its guard.
    """
    assert make_guard("It rose last month", "2026-10") != make_guard("It rose last month", "2026-11")


@pytest.mark.parametrize(
    ("text", "numbers", "symbols"),
    [
        ("from 5 to -3", ["5", "-3"], []),
        ("(+4) and $-5", ["+4", "-5"], ["$"]),
        ("A+5 is 7-3", ["5", "7-3"], ["+"]),
        ("well-known 1,000.50 at 10:30", ["1,000.50", "10:30"], []),
        ("5 % or 5 percent or a percentage", ["5", "5"], ["%", "%", "%"]),
        ("٣٫٥ and ३", ["3", "5", "3"], []),
        ("5 - 3 = 2 ≠ 4", ["5", "3", "2", "4"], ["-", "=", "≠"]),
        ("ends with 5.", ["5"], []),
        ("a 5- x", ["5"], []),
        ("5- x -5 - x", ["5", "-5"], ["-"]),
    ],
)
def test_numbers_and_symbols(text: str, numbers: list[str], symbols: list[str]) -> None:
    guard = make_guard(text, "")
    assert list(guard.numbers) == numbers
    assert list(guard.symbols) == symbols


@given(HOSTILE)
def test_every_text_has_a_guard_that_can_be_hashed(text: str) -> None:
    guard = make_guard(text, "2026")
    numbers, symbols, words, anchor = json.loads(guard.canonical_json().encode())
    assert Guard(tuple(numbers), tuple(symbols), tuple(words), anchor) == guard
    assert make_guard(simplify(text), "2026") == guard
