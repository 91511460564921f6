"""Derive a scenario's label from probability, confidence and evidence. Source: requirements B.1, B.2, B.5.

Code decides the label; a model's own label counts only if it gives no probability.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from types import MappingProxyType
from typing import Final

LOW_CONFIDENCE: Final = Decimal("0.5")
"""Below this confidence a label is Unclear; a setting may change it."""
ONE_FAMILY: Final = Decimal("0.89")
"""The highest confidence with a single source family."""


class Label(StrEnum):
    """The label of a scenario in terms of probability."""

    HIGHLY_LIKELY = "Highly Likely"
    LIKELY = "Likely"
    UNCLEAR = "Unclear"
    UNLIKELY = "Unlikely"
    HIGHLY_UNLIKELY = "Highly Unlikely"
    UNSUBSTANTIATED = "Unsubstantiated"


class TruthLabel(StrEnum):
    """The same label in terms of truth."""

    TRUE = "TRUE"
    PARTIALLY_TRUE = "PARTIALLY_TRUE"
    DISPUTED = "DISPUTED"
    UNSUPPORTED = "UNSUPPORTED"
    FALSE = "FALSE"
    UNVERIFIABLE = "UNVERIFIABLE"


class Cap(StrEnum):
    """The reason why a label or a confidence is lower than the model's."""

    NO_FAMILY = "no_source_family"
    ONE_FAMILY = "one_source_family"
    LOW_CONFIDENCE = "low_confidence"


TRUTH: Final[Mapping[Label, TruthLabel]] = MappingProxyType(dict(zip(Label, TruthLabel, strict=True)))
_BANDS: Final = (
    (Decimal("0.85"), Label.HIGHLY_LIKELY),
    (Decimal("0.65"), Label.LIKELY),
    (Decimal("0.35"), Label.UNCLEAR),
)
_UNLIKELY_ABOVE: Final = Decimal("0.15")
_MIDDLES: Final[Mapping[Label, Decimal]] = MappingProxyType(
    {
        Label.HIGHLY_LIKELY: Decimal("0.925"),
        Label.LIKELY: Decimal("0.75"),
        Label.UNCLEAR: Decimal("0.5"),
        Label.UNLIKELY: Decimal("0.25"),
        Label.HIGHLY_UNLIKELY: Decimal("0.075"),
    }
)
_RANGE_WORDS: Final[Mapping[Label, str]] = MappingProxyType(
    dict(
        zip(
            Label,
            ("very likely true", "likely true", "uncertain", "likely false", "very likely false", "not substantiated"),
            strict=True,
        )
    )
)
_BY_WORD: Final = {
    re.sub(r"[^a-z]", "", word.value.lower()): label for label, truth in TRUTH.items() for word in (label, truth)
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on a scenario; the label follows from the other fields."""

    probability: Decimal | None
    confidence: Decimal
    model_confidence: Decimal
    families: int
    """The number of source families on the verdict's side."""
    label: Label
    caps: tuple[Cap, ...]


def read_share(number: Decimal | float) -> Decimal | None:
    """A number limited to the range from 0 to 1; None if it is not finite."""
    share = Decimal(repr(number)) if isinstance(number, float) else Decimal(number)
    return min(max(share, Decimal(0)), Decimal(1)) if share.is_finite() else None


def read_label(text: str) -> Label | None:
    """The label that a word of either vocabulary names, in any case and with any separator; None if it names none."""
    return _BY_WORD.get(re.sub(r"[\s_-]", "", text.lower()))


def give_verdict(
    probability: Decimal | None,
    label: Label | None,
    confidence: Decimal,
    supporting: Set[int],
    opposing: Set[int],
    *,
    low_confidence: Decimal = LOW_CONFIDENCE,
) -> Verdict:
    """Give the verdict of a scenario.

    Shapes: probability and confidence are from 0 to 1, as from `read_share`; `label` is the model's own and counts only
    without a probability; `supporting` and `opposing` are the source families of the kept evidence. Both count for an
    unclear verdict.
    """
    if probability is None and label is not None:
        probability = _MIDDLES.get(label)
    families = 0 if probability is None else len(_on_side(probability, supporting, opposing))
    caps: list[Cap] = []
    capped = confidence
    if families == 1 and confidence > ONE_FAMILY:
        capped = ONE_FAMILY
        caps.append(Cap.ONE_FAMILY)
    derived = derive_label(probability, capped, families, low_confidence=low_confidence)
    if derived is Label.UNSUBSTANTIATED:
        caps.append(Cap.NO_FAMILY)
    elif capped < low_confidence and probability is not None and _band(probability) is not Label.UNCLEAR:
        caps.append(Cap.LOW_CONFIDENCE)
    return Verdict(probability, capped, confidence, families, derived, tuple(caps))


def derive_label(
    probability: Decimal | None, confidence: Decimal, families: int, *, low_confidence: Decimal = LOW_CONFIDENCE
) -> Label:
    """The label that follows from stored numbers."""
    if probability is None or families < 1:
        return Label.UNSUBSTANTIATED
    return Label.UNCLEAR if confidence < low_confidence else _band(probability)


def format_range(probability: Decimal | None, confidence: Decimal, label: Label) -> str:
    """The likelihood range for readers, e.g. `0.88-1.00 (very likely true)`; the whole range without a probability."""
    low, high = Decimal(0), Decimal(1)
    if probability is not None:
        half = (1 - confidence) / 2
        low, high = max(low, probability - half), min(high, probability + half)
    return f"{low:.2f}-{high:.2f} ({_RANGE_WORDS[label]})"


def _band(probability: Decimal) -> Label:
    for least, label in _BANDS:
        if probability >= least:
            return label
    return Label.UNLIKELY if probability > _UNLIKELY_ABOVE else Label.HIGHLY_UNLIKELY


def _on_side(probability: Decimal, supporting: Set[int], opposing: Set[int]) -> Set[int]:
    match _band(probability):
        case Label.HIGHLY_LIKELY | Label.LIKELY:
            return supporting
        case Label.UNLIKELY | Label.HIGHLY_UNLIKELY:
            return opposing
        case _:
            return supporting | opposing
