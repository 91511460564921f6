"""What is known of a variant while it works: plain values, which the breaker and the earned volume are computed from.

A variant is a prompt, a model, rules and gates together.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Verdict(Enum):
    """What reviewers say of a finding."""

    RIGHT = "RIGHT"
    PARTLY = "PARTLY"
    WRONG = "WRONG"


class GateTier(Enum):
    """What came of the posts with known answers, as many as decide about a variant."""

    PENDING = "PENDING"
    CLEAN = "CLEAN"
    FAILED = "FAILED"


@dataclass(frozen=True, slots=True)
class Control:
    """A run on a post that is known to be right, among others that are not."""

    variant: str
    is_flagged: bool
