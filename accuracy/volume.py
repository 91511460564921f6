"""How much of a variant is displayed, which it earns by reviews. Source: row TR-46 of docs/requirements/trust.md.

A variant starts in the shadow, where it runs and nothing of it is displayed. Then it has a quota of findings a day,
doubled for each 30 reviews without WRONG, and no quota once 299 in a row have none, which bounds its rate of wrong
findings to 1 % with 95 %. A WRONG is a step back, and the 299 are counted anew.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from accuracy.facts import Control, GateTier, Verdict

SHADOW_RUNS: Final = 200
CLEAN_CONTROLS: Final = 150
FIRST_QUOTA: Final = 10
REVIEWS_PER_STEP: Final = 30
REVIEWS_TO_FULL: Final = 299
LAST_STEP: Final = REVIEWS_TO_FULL // REVIEWS_PER_STEP
SECOND_WRONG_WITHIN: Final = 100


@dataclass(frozen=True, slots=True)
class ShadowRun:
    """A run whose findings are not displayed."""


@dataclass(frozen=True, slots=True)
class Shadow:
    """Nothing is displayed. Shapes: `runs` and `controls` are counted since the shadow began, or began anew."""

    runs: int = 0
    controls: int = 0
    gate_tier: GateTier = GateTier.PENDING


@dataclass(frozen=True, slots=True)
class Limited:
    """A quota. Shapes: `step` 0 to 9; `clean` reviews in a row had no WRONG, if `after_wrong` since the last WRONG."""

    step: int = 0
    clean: int = 0
    after_wrong: bool = False

    def __post_init__(self) -> None:
        """Raises: ValueError: there is no such step, or there are enough reviews for `Full`."""
        if not (0 <= self.step <= LAST_STEP and 0 <= self.clean < REVIEWS_TO_FULL):
            raise ValueError(f"step {self.step}, {self.clean} reviews")


@dataclass(frozen=True, slots=True)
class Full:
    """No quota."""


Volume = Shadow | Limited | Full
Observed = ShadowRun | Control | GateTier | Verdict
"""What may change the volume of a variant; each is about that variant."""


def quota(volume: Volume) -> int | None:
    """How many findings may be displayed a day; None: any number."""
    match volume:
        case Shadow():
            return 0
        case Limited(step=step):
            return FIRST_QUOTA << step
        case Full():
            return None


def advance(volume: Volume, observed: Observed) -> Volume:
    """The volume after what was observed. A flagged control or a failed gate tier leads to a new shadow from anywhere.

    PARTLY does not count as WRONG. A WRONG in the shadow is about a finding that was displayed before it.
    """
    match observed:
        case Control(is_flagged=True):
            return Shadow()
        case GateTier.FAILED:
            return Shadow(gate_tier=GateTier.FAILED)
        case Verdict.WRONG:
            return _step_back(volume)
    match volume:
        case Shadow():
            return _progress(volume, observed)
        case Limited() if isinstance(observed, Verdict):
            return _count_clean(volume)
        case _:
            return volume


def _progress(shadow: Shadow, observed: Observed) -> Volume:
    match observed:
        case ShadowRun():
            shadow = replace(shadow, runs=shadow.runs + 1)
        case Control():
            shadow = replace(shadow, controls=shadow.controls + 1)
        case GateTier():
            shadow = replace(shadow, gate_tier=observed)
        case Verdict():
            return shadow
    proven = shadow.runs >= SHADOW_RUNS and shadow.controls >= CLEAN_CONTROLS
    return Limited() if proven and shadow.gate_tier is GateTier.CLEAN else shadow


def _count_clean(limited: Limited) -> Volume:
    clean = limited.clean + 1
    if clean == REVIEWS_TO_FULL:
        return Full()
    step = limited.step + (clean % REVIEWS_PER_STEP == 0)
    return replace(limited, step=min(step, LAST_STEP), clean=clean)


def _step_back(volume: Volume) -> Volume:
    match volume:
        case Full():
            return Limited(LAST_STEP, after_wrong=True)
        case Limited(step=step, clean=clean, after_wrong=after_wrong):
            is_second = after_wrong and clean + 2 <= SECOND_WRONG_WITHIN
            return Shadow() if is_second or step == 0 else Limited(step - 1, after_wrong=True)
        case Shadow():
            return Shadow()
