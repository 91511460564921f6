"""Numbers are compared by what they mean."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyses.gates.quantities import find_new, find_quantities, is_among

SAME = [
    ("330 m", "1,083 ft"),
    ("8,848.86 m", "8.849 km"),
    ("5.1 million people", "5 100 000 people"),
    ("1.234 Einwohner", "1,234 inhabitants"),
    ("1.234 Einwohner", "1.234 inhabitants"),
    ("100 °C", "212 °F"),
    ("0 °C", "273.15 K"),
    ("10 percent", "10%"),
    ("£5m", "£5 million"),
    ("67 millions d'habitants", "67.000.000 habitantes"),
    ("5 miliardi di euro", "5 milliards d'euros"),
    ("5M users", "5 million users"),
    ("10 per cent", "10 %"),
    ("the 1980s", "die 1980er"),
    ("three seconds", "3 s"),
    ("zwölf Monate", "12 months"),
    ("42 km", "26.2 miles"),
    ("in 1969", "of 1969"),
    ("2 Mrd. Menschen", "2 billion people"),
]
OTHER = [
    ("330 m", "330 km"),
    ("330 m", "324 m"),
    ("10 percent", "10 km"),
    ("in 1969", "in 1970"),
    ("5 million people", "5 billion people"),
    ("£5m", "5 m"),
    ("the 2000s", "the 2010s"),
    ("three seconds", "three minutes"),
    ("1.5 m", "15 m"),
    ("-5 °C", "5 °C"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_the_same(one: str, other: str) -> None:
    (first,), (second,) = find_quantities(one), find_quantities(other)
    assert first.same(second)
    assert second.same(first)


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_others(one: str, other: str) -> None:
    (first,), (second,) = find_quantities(one)[:1], find_quantities(other)[:1]
    assert not first.same(second)
    assert not second.same(first)


@given(st.integers(min_value=0, max_value=10**12))
def test_a_number_is_the_same_however_it_is_grouped(number: int) -> None:
    plain, *spellings = str(number), f"{number:,}", f"{number:,}".replace(",", " "), f"{number:,}".replace(",", ".")
    for each in spellings:
        assert is_among(find_quantities(f"{each} people")[0], find_quantities(f"{plain} people"))


@given(st.text(max_size=200))
def test_any_text_is_read_and_has_nothing_new_beside_itself(text: str) -> None:
    assert find_new(text, text) == []
