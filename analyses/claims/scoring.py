"""The credibility score of an article, in decimals. Source: requirements B.3.

The formula is the specification's, with its faults: positive context cannot raise a full score, and false claims alone
do not make it 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal, localcontext
from enum import StrEnum
from types import MappingProxyType
from typing import Final, NamedTuple

from analyses.claims.labels import TruthLabel

MODEL_GAP: Final = Decimal("0.15")
"""The largest difference between a model's own score and the computed one that the result does not mention."""
_CONTEXT: Final = Context(prec=50)


class Severity(StrEnum):
    """The severity of a fallacy, which decides its penalty."""

    MINOR = "minor"
    MODERATE = "moderate"
    SEVERE = "severe"


class Fallacy(StrEnum):
    """The fallacies that are looked for. Source: requirements B.4."""

    CHERRY_PICKING = "cherry_picking"
    FALSE_EQUIVALENCE = "false_equivalence"
    STRAW_MAN = "straw_man"
    AD_HOMINEM = "ad_hominem"
    SLIPPERY_SLOPE = "slippery_slope"
    CIRCULAR_REASONING = "circular_reasoning"
    FALSE_DICHOTOMY = "false_dichotomy"


class Impact(StrEnum):
    """The direction in which a contextual factor changes the score."""

    POSITIVE = "positive"
    NEUTRAL = "neutral"
    NEGATIVE = "negative"


class ScoredClaim(NamedTuple):
    """A claim with an analysis: the label and the confidence (0 to 1) of its recommended scenario."""

    label: TruthLabel
    confidence: Decimal


class Factor(NamedTuple):
    """A contextual factor under the model's name for it."""

    name: str
    impact: Impact


WEIGHTS: Final[Mapping[TruthLabel, Decimal]] = MappingProxyType(
    {
        TruthLabel.TRUE: Decimal("1.0"),
        TruthLabel.PARTIALLY_TRUE: Decimal("0.7"),
        TruthLabel.DISPUTED: Decimal("0.5"),
        TruthLabel.UNSUPPORTED: Decimal("0.3"),
        TruthLabel.FALSE: Decimal("0.0"),
        TruthLabel.UNVERIFIABLE: Decimal("0.4"),
    }
)
PENALTIES: Final[Mapping[Severity, Decimal]] = MappingProxyType(
    {Severity.MINOR: Decimal("-0.05"), Severity.MODERATE: Decimal("-0.15"), Severity.SEVERE: Decimal("-0.30")}
)
FACTORS: Final[Mapping[str, Decimal]] = MappingProxyType(
    {
        "source_credibility": Decimal("0.10"),
        "author_expertise": Decimal("0.10"),
        "timeliness": Decimal("0.05"),
        "transparency": Decimal("0.05"),
    }
)
_SIGNS: Final = MappingProxyType({Impact.POSITIVE: 1, Impact.NEUTRAL: 0, Impact.NEGATIVE: -1})


def score_article(
    claims: Sequence[ScoredClaim], fallacies: Iterable[Severity], factors: Iterable[Factor]
) -> Decimal | None:
    """The score from 0 to 1, unrounded; None without analysed claims."""
    if not claims:
        return None
    with localcontext(_CONTEXT):
        weighed = sum((WEIGHTS[each.label] * each.confidence for each in claims), Decimal(0)) / len(claims)
        reasoning = _clamp(1 + sum((PENALTIES[each] for each in fallacies), Decimal(0)))
        context = _clamp(1 + sum((_adjust(each) for each in factors), Decimal(0)))
        base = Decimal("0.6") * weighed + Decimal("0.2") * reasoning + Decimal("0.2") * context
        return _clamp(base * (Decimal("0.8") + Decimal("0.2") * average_confidence(claims)))


def average_confidence(claims: Sequence[ScoredClaim]) -> Decimal:
    """The mean confidence; 0 without claims."""
    with localcontext(_CONTEXT):
        return sum((each.confidence for each in claims), Decimal(0)) / max(1, len(claims))


def round_share(share: Decimal) -> Decimal:
    """A number from 0 to 1 as it is sent, rounded to four decimals."""
    return share.quantize(Decimal("0.0001"), ROUND_HALF_UP)


def differs_from_model(score: Decimal | None, model_score: Decimal | None) -> bool:
    """Whether the model's own score differs from the computed one by more than MODEL_GAP."""
    return score is not None and model_score is not None and abs(score - model_score) > MODEL_GAP


def name_factor(name: str) -> str:
    """A factor's name in snake case: "Source credibility" and "sourceCredibility" are the same."""
    return re.sub(r"[\W_]+", "_", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)).strip("_").lower()


def _adjust(factor: Factor) -> Decimal:
    return FACTORS.get(name_factor(factor.name), Decimal(0)) * _SIGNS[factor.impact]


def _clamp(value: Decimal) -> Decimal:
    return min(max(value, Decimal(0)), Decimal(1))
