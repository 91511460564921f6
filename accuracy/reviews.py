"""Draws findings for outside review, and bounds the share of wrong ones.

Source: row TR-44 of docs/requirements/trust.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import Final
from uuid import UUID

from accuracy.bounds import anytime_upper_bound
from accuracy.facts import Verdict

_WORSE: Final = (Verdict.RIGHT, Verdict.PARTLY, Verdict.WRONG)


@dataclass(frozen=True, slots=True)
class ReviewCounts:
    """Reviewed findings by verdict; each finding is counted once."""

    right: int = 0
    partly: int = 0
    wrong: int = 0

    def __post_init__(self) -> None:
        """Raises: ValueError: a number is below 0."""
        if min(self.right, self.partly, self.wrong) < 0:
            raise ValueError(f"{self.right} right, {self.partly} partly, {self.wrong} wrong")

    @property
    def reviewed(self) -> int:
        """The number of reviewed findings."""
        return self.right + self.partly + self.wrong

    @property
    def wrong_at_most(self) -> float | None:
        """The 95 % upper bound of the share of wrong findings, valid at any time; None if none is reviewed."""
        return anytime_upper_bound(self.wrong, self.reviewed) if self.reviewed else None

    @property
    def not_right_at_most(self) -> float | None:
        """The same bound for findings that are wrong or only partly right."""
        return anytime_upper_bound(self.wrong + self.partly, self.reviewed) if self.reviewed else None


def count_reviews(decisions: Iterable[tuple[UUID, Verdict]]) -> ReviewCounts:
    """Count findings by verdict; one on which reviewers differ counts by its worst verdict.

    Shapes: each decision is a finding and one reviewer's verdict.
    """
    worst: dict[UUID, Verdict] = {}
    for finding, verdict in decisions:
        worst[finding] = max(worst.get(finding, verdict), verdict, key=_WORSE.index)
    found = Counter(worst.values())
    return ReviewCounts(found[Verdict.RIGHT], found[Verdict.PARTLY], found[Verdict.WRONG])


def rank(seed: str, finding: UUID) -> bytes:
    """The sort key of a finding: SHA-256 over the seed, a line feed and the id in lower case."""
    return sha256(f"{seed}\n{finding}".encode()).digest()


def draw_sample(seed: str, findings: Iterable[UUID], size: int) -> tuple[UUID, ...]:
    """The findings with the smallest hashes, smallest first: `size` of them, or all if there are fewer.

    The seed and the list of findings alone decide, so the draw can be repeated. In a shell, a finding's sort key is
    `printf '%s\\n%s' SEED ID | sha256sum`.

    The first ones in this order are a sample too, so reviewers may stop anywhere.
    Raises: ValueError: `size` is below 1.
    """
    if size < 1:
        raise ValueError(f"a sample of {size}")
    return tuple(sorted(set(findings), key=lambda finding: rank(seed, finding))[:size])
