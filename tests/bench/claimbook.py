"""Claims whose truth follows from `facts`: single ones, the same in other words, and mirrored ones, in many languages.

The same seed gives the same claims, and a smaller size the first of a larger one. Nothing of it is committed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from random import Random
from types import MappingProxyType
from typing import Final, Literal

from tests.bench.facts import ENGLISH, facts_in
from tests.bench.generated import FIRST_DAY, LANGUAGES, list_sides, took_office, with_capital

SEED: Final = "openerrata/claims/1"
ClaimKind = Literal["single", "neutral", "mirrored", "language"]
SIZES: Final[Mapping[ClaimKind, int]] = MappingProxyType(
    {"single": 600, "neutral": 300, "mirrored": 300, "language": 300}
)
"""Claims; pairs for `neutral` and `mirrored`."""
_ERRORS: Final = (-5, -3, -2, 2, 3, 5)


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim that is true or false, by the rows of `facts` that say so.

    Shapes: `other` is the claim of the same pair that comes before it. A neutral pair says one thing in two ways; a
    mirrored one says the same of two politicians of opposed parties, and is right or wrong about both.
    """

    kind: ClaimKind
    id: str
    text: str
    is_true: bool
    rows: tuple[str, ...]
    language: str = ENGLISH
    other: str | None = None


def generate(share: Fraction = Fraction(1), seed: str = SEED) -> Iterator[Claim]:
    """This share of all that `SIZES` names, at least one of each."""
    for kind, size in SIZES.items():
        for number in range(max(1, ceil(size * share))):
            yield from _make(kind, number, Random(f"{seed}/{kind}/{number}"))


def _make(kind: ClaimKind, number: int, random: Random) -> Iterator[Claim]:
    id_, is_true = f"{kind}-{number:04}", random.random() < 0.5
    language = LANGUAGES[number % len(LANGUAGES)] if kind == "language" else ENGLISH
    if kind == "mirrored":
        said = _say_of_both_sides(number, random, 0 if is_true else random.choice(_ERRORS))
    else:
        said = _say(random, language, 2 if kind == "neutral" else 1, is_true=is_true)
    for place, (text, rows) in enumerate(said):
        name, other = (f"{id_}-other", id_) if place else (id_, None)
        yield Claim(kind, name, text, is_true, rows, language, other)


def _say(random: Random, language: str, wordings: int, *, is_true: bool) -> list[tuple[str, tuple[str, ...]]]:
    """One fact in this many wordings, with its rows; each relation that has as many wordings is equally likely."""
    known = facts_in(language)
    relations = sorted(each for each, facts in known.items() if len(facts[0].templates) >= wordings)
    fact = random.choice(known[random.choice(relations)])
    value = fact.value if is_true else random.choice(fact.wrong)
    return [
        (with_capital(each.replace("{value}", value)), fact.rows) for each in random.sample(fact.templates, wordings)
    ]


def _say_of_both_sides(number: int, random: Random, error: int) -> list[tuple[str, tuple[str, ...]]]:
    sides = list_sides()[number % len(list_sides())]
    if max(int(side["year"]) for side in sides) + error >= FIRST_DAY.year:
        error = -error  # a year in the future would be no term of office
    return [(took_office(side, error), (side["row"],)) for side in random.sample(sides, 2)]
