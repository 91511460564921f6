"""The targets of quality metrics for audits and the catalogue, and the status of error patterns. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Final, Literal, NamedTuple

ALL: Final = "ALL"
CORRECTNESS: Final = "VERDICT_CORRECTNESS"
"""The metric: the share of verdicts that people who know the answers found right, by model and rules."""


class Target(NamedTuple):
    """The value a metric should reach, or not exceed if `at_most`; it applies from `least` cases on."""

    value: float
    at_most: bool = False
    least: int = 1


TARGETS: Final[Mapping[str, Target]] = {
    "JOB_SECONDS": Target(120, at_most=True),
    "JOBS_SUCCEEDED": Target(0.95, least=20),
    "CACHE_HITS": Target(0.5, least=1_000),
    "ANALYSIS_USD": Target(0.25, at_most=True),
    "EVIDENCE_CONFIRMED": Target(0.8, least=20),
    "ENTRIES_STALE": Target(0.2, at_most=True, least=20),
}
"""By metric. The first, third and fourth are from requirement FH-142; the others are guides for the operator."""


def find_target(type_: str, n: int) -> Target | None:
    """The target of a metric over `n` cases; None if they are too few."""
    target = TARGETS[type_]
    return target if n >= target.least else None


def name_maker(model: str, prompt_sha256: str, rules: str) -> str:
    """The category of `CORRECTNESS` for verdicts that a model made with these instructions and rules."""
    return "V" + sha256("|".join((model, prompt_sha256, rules)).encode()).hexdigest()[:32].upper()


def misses(value: float, target: float | None, *, at_most: bool) -> bool:
    """Whether a sample is beyond its target."""
    return target is not None and (value > target if at_most else value < target)


def decide_status(frequency: int) -> Literal["OPEN", "FIXED"]:
    """The status of an error pattern after a week in which it was met `frequency` times: 0 means fixed."""
    return "OPEN" if frequency else "FIXED"
