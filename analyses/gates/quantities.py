"""Find the quantities in a text (numbers with their units, and years), compared by value, not by spelling."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from importlib.resources import files
from types import MappingProxyType
from typing import Final

from pydantic import BaseModel, ConfigDict

from analyses.claims.guard import is_currency, simplify

TOLERANCE: Final = Decimal("0.005")
"""The relative difference that is ignored, since sources round and convert units."""

_FIRST_YEAR, _LAST_YEAR = 1000, 2999
_NUMBER: Final = re.compile(r"(?<![\w.,])[+-]?\d{1,3}(?:[ .,'’]\d{3})+(?:[.,]\d+)?(?!\w)|(?<![\w])[+-]?\d+(?:[.,]\d+)?")
_GROUPED: Final = re.compile(r"[+-]?\d{1,3}(?:([ .,'’])\d{3})(?:\1\d{3})*")
_AFTER: Final = re.compile(r"[ \-]?([^\W\d_]+(?:²|³)?|[%‰°]\s?[CFK]?|[€$£])\.?(?: ([^\W\d_]+))?")

_OF_DECADE: Final = re.compile(r"['’]?s\b")
"""The `s` of a decade such as 1980s, which does not mean seconds."""


class _Words(BaseModel):
    """The data file. Shapes: `units` has, by dimension and name, the factor to the base unit and what to add then."""

    model_config = ConfigDict(strict=False, extra="forbid", frozen=True)

    numbers: Mapping[str, int]
    scales: Mapping[str, int]
    units: Mapping[str, Mapping[str, tuple[Decimal, Decimal]]]


_WORDS: Final = _Words.model_validate_json((files(__package__) / "quantities.json").read_bytes())
_UNITS: Final = MappingProxyType(
    {name: (kind, *how) for kind, names in _WORDS.units.items() for name, how in names.items()}
)
_SPELLED: Final = re.compile(
    rf"(?<![\w-])(?:{'|'.join(sorted(map(re.escape, _WORDS.numbers), key=len, reverse=True))})(?![\w-])", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with the values that it may have: `1.234` may have two.

    Shapes: `dimension` is None for a number without a known unit; values are in the dimension's base unit.
    """

    values: frozenset[Decimal]
    dimension: str | None

    def same(self, other: Quantity) -> bool:
        """Whether both may have the same value; a year must be equal, also to a number without a unit."""
        dimensions = {self.dimension, other.dimension}
        if "year" in dimensions:
            return dimensions <= {"year", None} and bool(self.values & other.values)
        if len(dimensions) > 1:
            return False
        return any(_is_close(one, two) for one in self.values for two in other.values)


def find_quantities(text: str) -> list[Quantity]:
    """All quantities in the order of the text, also number words up to a dozen."""
    text = simplify(text)
    digits = [(each.start(), _read(each[0]), each.end(), each[0]) for each in _NUMBER.finditer(text)]
    spelled = [
        (each.start(), frozenset({Decimal(_WORDS.numbers[each[0].casefold()])}), each.end(), "")
        for each in _SPELLED.finditer(text)
    ]
    return [
        _with_unit(
            values,
            text[end : end + 40],
            written,
            is_money=is_currency(text[max(0, start - 2) : start].rstrip(" ")[-1:]),
        )
        for start, values, end, written in sorted(digits + spelled)
    ]


def find_new(text: str, than: str) -> list[Quantity]:
    """The quantities of `text` that `than` does not have."""
    known = find_quantities(than)
    return [each for each in find_quantities(text) if not is_among(each, known)]


def is_among(one: Quantity, others: Sequence[Quantity]) -> bool:
    """Whether one of `others` may be the same as `one`."""
    return any(one.same(each) for each in others)


def _read(written: str) -> frozenset[Decimal]:
    """The values that a number may have: a single mark before three digits groups them, or begins a fraction."""
    bare = written.replace("’", "'")
    grouped = _GROUPED.match(bare)
    if grouped and grouped[0] == bare:
        mark = grouped[1]
        whole = Decimal(bare.replace(mark, ""))
        return frozenset(
            {whole, Decimal(bare.replace(",", "."))} if mark in ".," and bare.count(mark) == 1 else {whole}
        )
    if grouped:
        return frozenset({Decimal(re.sub(r"[ .,']", "", grouped[0]) + bare[grouped.end() :].replace(",", "."))})
    return frozenset({Decimal(bare.replace(",", "."))})


def _with_unit(values: frozenset[Decimal], behind: str, written: str, *, is_money: bool) -> Quantity:
    is_year = re.fullmatch(r"\d{4}", written) is not None and _FIRST_YEAR <= int(written) <= _LAST_YEAR
    if is_year and _OF_DECADE.match(behind):
        return Quantity(values, "year")
    found = _AFTER.match(behind)
    factor = Decimal(1)
    name = found[1] if found else ""
    if name == "M" or (name == "m" and is_money):  # a million, not a metre
        name = "million"
    if scale := _WORDS.scales.get(name.casefold()):
        factor, name = Decimal(scale), (found[2] or "") if found else ""
    whole = f"{found[1]} {found[2]}" if found else ""
    kind = next((_UNITS[each] for each in _spellings(name, whole) if each in _UNITS), None)
    if kind is not None:
        dimension, times, plus = kind
        return Quantity(frozenset(each * factor * times + plus for each in values), dimension)
    if factor == 1 and is_year:
        return Quantity(values, "year")
    return Quantity(frozenset(each * factor for each in values), None)


def _spellings(name: str, whole: str) -> tuple[str, ...]:
    """The spellings under which a unit may be listed, that of two words first."""
    return whole.casefold(), name.replace(" ", ""), name.replace(" ", "").casefold()


def _is_close(one: Decimal, other: Decimal) -> bool:
    return abs(one - other) <= TOLERANCE * max(abs(one), abs(other))
