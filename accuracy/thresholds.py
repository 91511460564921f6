"""The score from which on a second opinion is accepted. Source: row TR-49 of docs/requirements/trust.md.

The method is fixed-sequence testing as in "Learn then Test" (Angelopoulos, Bates, Candès, Jordan and Lei,
arXiv:2110.01052, 2021): candidates are ordered before any outcome is seen, each is tested at the full level, and the
first that fails ends the search. All these tests together admit too loose a threshold no more often than a single one.

Fewer than 299 accepted samples could not pass even without an error. So the strictest candidate accepts the 299 highest
scores, the next ones as many as allow one error more each (473, 628, …), and the last one accepts all. This needs the
scores and no outcome. Equal scores are accepted together.

The level holds if a higher score does not mean more errors than a lower one, samples are independent, and posts are
like those that the samples were drawn from. It holds for each group on its own.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from accuracy.bounds import upper_bound

MOST_WRONG: Final = 0.01
"""The share of accepted corrections that may be wrong."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A correction whose answer is known. Units: `score` is the probability, 0 to 1, that the second opinion gives it.

    Shapes: `group` is a group of languages, such as "en".
    """

    score: float
    is_right: bool
    group: str

    def __post_init__(self) -> None:
        """Raises: ValueError: the score is not between 0 and 1."""
        if not 0 <= self.score <= 1:
            raise ValueError(f"a score of {self.score}")


def choose_thresholds(samples: Iterable[Sample]) -> dict[str, float | None]:
    """The loosest threshold of each group that is known to be strict enough; None: always abstain.

    A correction is accepted from this score on. Of those accepted in the calibration, the upper bound of the share of
    wrong ones, at 95 % from one side, is 1 % at most. A group without samples is not in the result and abstains too.
    """
    groups: dict[str, list[Sample]] = {}
    for sample in samples:
        groups.setdefault(sample.group, []).append(sample)
    return {group: _choose_threshold(found) for group, found in groups.items()}


def _choose_threshold(samples: Sequence[Sample]) -> float | None:
    ordered = sorted(samples, key=lambda sample: sample.score, reverse=True)
    chosen: float | None = None
    accepted = wrong = 0
    for wanted in _candidates(len(ordered)):
        if wanted <= accepted:  # accepted already, together with an equal score
            continue
        threshold = ordered[wanted - 1].score
        while accepted < len(ordered) and ordered[accepted].score >= threshold:
            wrong += not ordered[accepted].is_right
            accepted += 1
        if upper_bound(wrong, accepted) > MOST_WRONG:
            break
        chosen = threshold
    return chosen


def _candidates(total: int) -> Iterator[int]:
    """How many samples each candidate accepts, from few to all; none if all are too few."""
    wrong, accepted = 0, _find_least_accepted(0, 0)
    while accepted <= total:
        yield accepted
        wrong += 1
        following = _find_least_accepted(wrong, accepted)
        if accepted < total < following:
            yield total
        accepted = following


@lru_cache(maxsize=1024)
def _find_least_accepted(wrong: int, for_one_less: int) -> int:
    """The fewest accepted samples that pass with `wrong` errors; `for_one_less` is this number for one error less.

    One error more takes fewer further samples than the first one, which takes 299.
    """
    candidates = range(for_one_less + 1, for_one_less + 300)
    return candidates[bisect_left(candidates, True, key=lambda accepted: upper_bound(wrong, accepted) <= MOST_WRONG)]
