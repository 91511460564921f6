"""Facts about a variant in use: plain values, from which the breaker and the earned volume are computed.

A variant is a prompt, a model, rules and gates together.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Verdict(Enum):
    """A reviewer's verdict on a finding."""

    RIGHT = "RIGHT"
    PARTLY = "PARTLY"
    WRONG = "WRONG"


class Exposure(Enum):
    """How many people read a post: under 100 a day, over 10,000, or between; unknown counts as between."""

    LOW = "LOW"
    MEDIUM = "MEDIUM"
    HIGH = "HIGH"


class GateTier(Enum):
    """The result of a variant on the posts with known answers that it must pass."""

    PENDING = "PENDING"
    CLEAN = "CLEAN"
    FAILED = "FAILED"


@dataclass(frozen=True, slots=True)
class Control:
    """A run on a post in which nothing is wrong."""

    variant: str
    is_flagged: bool


@dataclass(frozen=True, slots=True)
class Review:
    """A reviewed finding."""

    variant: str
    verdict: Verdict
    exposure: Exposure


@dataclass(frozen=True, slots=True)
class RetractionCounts:
    """Findings retracted for a fault of ours. Shapes: `released` are all that were released in the same 30 days."""

    variant: str
    in_7_days: int
    in_30_days: int
    released: int

    def __post_init__(self) -> None:
        """Raises: ValueError: there are more in 7 days than in 30, or a number is below 0."""
        if not 0 <= self.in_7_days <= self.in_30_days or self.released < 0:
            raise ValueError(f"{self.in_7_days} retractions in 7 days, {self.in_30_days} in 30, of {self.released}")


@dataclass(frozen=True, slots=True)
class ApprovalCounts:
    """Judged claims of a period. Units: `reference` is the share that was approved when the variant was admitted."""

    variant: str
    approved: int
    judged: int
    reference: float

    def __post_init__(self) -> None:
        """Raises: ValueError: more are approved than judged, or the reference is not between 0 and 1."""
        if not (0 <= self.approved <= self.judged and 0 <= self.reference <= 1):
            raise ValueError(f"{self.approved} approved of {self.judged}, where {self.reference} is usual")
