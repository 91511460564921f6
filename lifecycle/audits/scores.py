"""The track records of publishers of cited sources, computed from what later analyses found. Pure.

A citation is judged by the next analysis of its claim, never by the one that cites the source, so a score does not
confirm itself. Source: requirements FH-129 to FH-135.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from decimal import ROUND_HALF_UP, Decimal
from enum import StrEnum
from typing import Final, Literal
from uuid import UUID

UNKNOWN: Final = "unknown"
INITIAL: Final[Mapping[str, int]] = {"journal": 70, UNKNOWN: 30}
"""The initial score by type of publisher; an unlisted type has that of an unknown one."""
PARTS: Final[Mapping[str, int]] = {
    "accuracy": 50,
    "correction_policy": 20,
    "editorial_standards": 15,
    "bias_transparency": 10,
    "longevity": 5,
}
"""The weight of each part of the score in per cent. Accuracy is computed each week, people rate the others."""
CENTRAL: Final = 2
"""The weight of a claim that is central to an article; other claims have weight 1."""
_DIRECTIONS: Final[Mapping[str, bool]] = {"SUPPORTED": True, "REFUTED": False}
_HALF: Final = Decimal("0.5")


Why = Literal["INITIAL", "COMPUTED", "SET"]
"""Where a score comes from: the publisher's type, the formula, or people who set it."""


class Band(StrEnum):
    """The name of a range of scores."""

    EXCEPTIONAL = "Exceptional"
    RELIABLE = "Reliable"
    ACCEPTABLE = "Acceptable"
    QUESTIONABLE = "Questionable"
    UNRELIABLE = "Unreliable"


_BANDS: Final = ((90, Band.EXCEPTIONAL), (70, Band.RELIABLE), (50, Band.ACCEPTABLE), (30, Band.QUESTIONABLE))


@dataclass(frozen=True, slots=True)
class Record:
    """The counts of a publisher's citations.

    Shapes: `total` citations were judged, `correct` of them agree with the later analysis; the weighted counts use the
    weight of the claim. `citations` counts all citations, `claims` the claims that began to cite the publisher.
    """

    correct: int = 0
    total: int = 0
    correct_weight: int = 0
    total_weight: int = 0
    citations: int = 0
    claims: int = 0

    def __add__(self, other: Record) -> Record:
        return Record(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(self)))


@dataclass(frozen=True, slots=True)
class Rating:
    """People's rating of a publisher; None: not rated. Units: 0 to 100. `score` replaces the formula."""

    type: str = UNKNOWN
    correction_policy: int | None = None
    editorial_standards: int | None = None
    bias_transparency: int | None = None
    longevity: int | None = None
    score: int | None = None

    @property
    def parts(self) -> Mapping[str, int | None]:
        """The rated parts of the formula."""
        return {name: getattr(self, name) for name in PARTS if name != "accuracy"}


@dataclass(frozen=True, slots=True)
class Cited:
    """A source that an analysis cites. Sources of an analysis with the same `family` are mirrors of each other."""

    publisher_id: UUID
    domain: str
    scenario: int
    supports: bool
    family: int


@dataclass(frozen=True, slots=True)
class Concluded:
    """An analysis of the week.

    Shapes: `before` are the citations of the previous analysis of the same claim, `recommended` is the scenario that
    the previous roll-up was based on; without one, nothing is judged.
    """

    rollup: str
    is_central: bool
    citations: Sequence[Cited]
    before: Sequence[Cited] = ()
    recommended: int | None = None


def compute_accuracy(correct: int, total: int) -> Decimal:
    """The share of correct citations; 0.5 if none was judged."""
    return Decimal(correct) / Decimal(total) if total else _HALF


def compute_score(record: Record, rating: Rating | None, initial: Mapping[str, int] = INITIAL) -> tuple[Decimal, Why]:
    """A score from 0 to 100 with one decimal, and where it comes from.

    An unrated part counts as the initial score of the publisher's type.
    """
    rated = rating or Rating()
    if rated.score is not None:
        return Decimal(rated.score), "SET"
    first = initial.get(rated.type, initial[UNKNOWN])
    if not record.total and all(part is None for part in rated.parts.values()):
        return Decimal(first), "INITIAL"
    accuracy = 100 * compute_accuracy(record.correct_weight, record.total_weight)
    parts = sum(PARTS[name] * (first if part is None else part) for name, part in rated.parts.items())
    score = (PARTS["accuracy"] * accuracy + parts) / 100
    return score.quantize(Decimal("0.1"), ROUND_HALF_UP), "COMPUTED"


def find_band(score: Decimal) -> Band:
    """The band of a score."""
    return next((band for least, band in _BANDS if score >= least), Band.UNRELIABLE)


def compute_credibility(score: Decimal) -> Decimal:
    """A source's credibility from 0 to 1, by its publisher's score and never by a model."""
    return score / 100


def weigh_relevance(relevance: Decimal, score: Decimal) -> Decimal:
    """A source's relevance, weighted by its publisher's score."""
    return relevance * compute_credibility(score)


def count_week(analyses: Iterable[Concluded]) -> dict[UUID, Record]:
    """The counts that the analyses of a week add to each publisher's record."""
    counted: dict[UUID, Record] = {}
    for each in analyses:
        known = {cited.publisher_id for cited in each.before}
        for cited in _count_families_once(each.citations):
            is_first = cited.publisher_id not in known
            known.add(cited.publisher_id)
            _add(counted, cited, Record(citations=1, claims=int(is_first)))
        direction = _DIRECTIONS.get(each.rollup)
        if direction is None:
            continue
        weight = CENTRAL if each.is_central else 1
        for cited in _count_families_once([one for one in each.before if one.scenario == each.recommended]):
            if not _stands_alone(cited.publisher_id, each.citations):
                correct = int(cited.supports == direction)
                _add(counted, cited, Record(correct, 1, correct * weight, weight))
    return counted


def _add(counted: dict[UUID, Record], cited: Cited, more: Record) -> None:
    counted[cited.publisher_id] = counted.get(cited.publisher_id, Record()) + more


def _count_families_once(citations: Sequence[Cited]) -> list[Cited]:
    """The first citation of each family by each publisher."""
    first: dict[tuple[UUID, int], Cited] = {}
    for each in citations:
        first.setdefault((each.publisher_id, each.family), each)
    return list(first.values())


def _stands_alone(publisher: UUID, citations: Sequence[Cited]) -> bool:
    """Whether all evidence is of a publisher and its mirrors."""
    families = {each.family for each in citations if each.publisher_id == publisher}
    return all(each.publisher_id == publisher or each.family in families for each in citations)
