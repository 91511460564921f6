"""How much is displayed before the breaker trips, if a variant is wrong at a given rate: a simulation.

Assumptions: controls are flagged at the rate at which displayed findings are wrong. Five controls run a day. Each month
30 displayed findings are drawn and reviewed at once; whatever is WRONG is retracted. One finding in 20 is read by many.
Volume is earned from 10 a day on, or was earned before; there are no more than 300 findings a day. No appeals, and no
change of the approve rate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, log, log1p
from pathlib import Path
from random import Random
from statistics import median
from typing import Final

from accuracy.bounds import weigh_evidence
from accuracy.facts import Control, Exposure, RetractionCounts, Review, Verdict
from accuracy.volume import Full, Limited, Shadow, Volume, advance, quota
from accuracy.watch import DECISIVE, TOLERATED, Facts, find_triggers
from tests.bench.report import Report

SEED: Final = 1
LIVES: Final = 2_000
RATES: Final = (0.002, 0.005, 0.01, 0.05)
WITHIN: Final = 300
STARTS: Final[dict[str, Volume]] = {"new": Limited(), "full": Full()}

_VARIANT: Final = "simulated"
_CONTROLS_A_DAY: Final = 5
_REVIEWS_A_MONTH: Final = 30
_MONTH: Final = 30
_MOST_A_DAY: Final = 300
_HIGH_EXPOSURE: Final = 0.05
_SHADOW: Final = "back to the shadow"
_HEAD: Final = (
    f"{'rate':>6}  {'volume':<7}{'days':>6}{'90 %':>6}{'flags':>8}{'90 %':>8}{'false':>7}{'90 %':>6}"
    f"{'in 300 runs':>13}  stopped by, in % of lives"
)


@dataclass(frozen=True, slots=True)
class Life:
    """Counts until a variant was stopped. Shapes: `false_flags` are among `flags`; `stopped_by` is never empty."""

    days: int
    controls: int
    flags: int
    false_flags: int
    stopped_by: tuple[str, ...]


def simulate(rate: float, start: Volume, random: Random) -> Life:
    """One life of a variant that is wrong at this rate. Shapes: `rate` from 0 to 1, both excluded."""
    to_control, to_false = _draw_gaps(rate, random), _draw_gaps(rate, random)
    next_control, next_false = next(to_control), next(to_false)
    volume, month = start, (0, 0)
    day = flags = false_flags = 0
    while True:
        day += 1
        shown = min(_MOST_A_DAY, quota(volume) or _MOST_A_DAY)
        flags += shown
        while next_false <= flags:
            false_flags += 1
            next_false += next(to_false)
        facts = Facts()
        if next_control <= day * _CONTROLS_A_DAY:
            facts = Facts(controls=[Control(_VARIANT, True)])
        elif day % _MONTH == 0:
            reviews = _draw_reviews(flags - month[0], false_flags - month[1], random)
            wrong = sum(review.verdict is Verdict.WRONG for review in reviews)
            counts = RetractionCounts(_VARIANT, wrong, wrong, flags - month[0])
            facts, month = Facts(reviews=reviews, retractions=[counts]), (flags, false_flags)
            for review in reviews:
                volume = advance(volume, review.verdict)
        stopped_by = tuple(type(trigger).__name__ for trigger in find_triggers(facts))
        if stopped_by or isinstance(volume, Shadow):
            return Life(day, day * _CONTROLS_A_DAY, flags, false_flags, stopped_by or (_SHADOW,))


def _draw_gaps(rate: float, random: Random) -> Iterator[int]:
    """Draw repeatedly how many trials it takes to the next event."""
    while True:
        yield ceil(log(1 - random.random()) / log1p(-rate)) or 1


def _draw_reviews(flags: int, false_flags: int, random: Random) -> list[Review]:
    drawn = random.sample(range(flags), min(flags, _REVIEWS_A_MONTH))
    return [
        Review(
            _VARIANT,
            Verdict.WRONG if place < false_flags else Verdict.RIGHT,
            Exposure.HIGH if random.random() < _HIGH_EXPOSURE else Exposure.MEDIUM,
        )
        for place in drawn
    ]


def share_seen(rate: float) -> float:
    """How often one of 300 controls is flagged at this rate."""
    return 1 - (1 - rate) ** WITHIN


def is_seen_by_evidence(rate: float, random: Random) -> bool:
    """Whether the e-value alone becomes decisive within 300 controls."""
    place = 0
    for flagged, gap in enumerate(_draw_gaps(rate, random), 1):
        place += gap
        if place > WITHIN:
            return False
        if _weigh(flagged, place) > DECISIVE:
            return True
    raise AssertionError("gaps never end")


@lru_cache(maxsize=10_000)
def _weigh(flagged: int, controls: int) -> float:
    return weigh_evidence(flagged, controls, TOLERATED)


def bench(folder: Path, report: Report, seed: int = SEED, lives: int = LIVES) -> None:
    """Report what passes at each rate, for variants that are new and for those that have earned all volume."""
    del folder
    report.head(f"breaker, simulated: {lives:,} lives a row, seed {seed}")
    report.note(_HEAD)
    for rate in RATES:
        for name, start in STARTS.items():
            random = Random(f"{seed} {rate} {name}")
            report.note(_row(rate, name, [simulate(rate, start, random) for _ in range(lives)]))
    for rate in RATES:
        random = Random(f"{seed} {rate} evidence")
        by_evidence = sum(is_seen_by_evidence(rate, random) for _ in range(lives)) / lives
        report.line(f"{rate:.1%}: a flag in 300 controls, computed", share_seen(rate) * 100, "%")
        report.line(f"{rate:.1%}: e-value above 20 in 300 controls", by_evidence * 100, "%")


def _row(rate: float, name: str, lives: Sequence[Life]) -> str:
    days = [life.days for life in lives]
    flags, false_flags = [life.flags for life in lives], [life.false_flags for life in lives]
    within = sum(life.controls <= WITHIN for life in lives) / len(lives)
    causes = Counter(cause for life in lives for cause in life.stopped_by)
    stops = ", ".join(f"{cause} {count / len(lives):.1%}" for cause, count in causes.most_common())
    return (
        f"{rate:>6.1%}  {name:<7}{median(days):>6,.0f}{_high(days):>6,}{median(flags):>8,.0f}{_high(flags):>8,}"
        f"{median(false_flags):>7,.0f}{_high(false_flags):>6,}{within:>13.1%}  {stops}"
    )


def _high(values: Sequence[int]) -> int:
    """The least value that nine in ten do not exceed."""
    return sorted(values)[ceil(len(values) * 0.9) - 1]
