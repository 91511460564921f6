"""What a breaker does to findings, and what it takes to close one that is half open.

A closed breaker lets findings be displayed. An open one suspends them until somebody states the cause: then it is half
open, and the scope works in the shadow for 48 hours at least. It closes after 150 controls without a flag and a clean
gate tier, and its variants earn their volume anew from 10 a day. Source: row TR-45 of docs/requirements/trust.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import IntEnum
from typing import Final

from accuracy.facts import GateTier
from accuracy.volume import CLEAN_CONTROLS

IN_SHADOW: Final = timedelta(hours=48)


@dataclass(frozen=True, slots=True)
class Trial:
    """The results since the breaker is half open. Shapes: `flagged` of `controls`."""

    controls: int
    flagged: int
    gate_tier: GateTier

    def __post_init__(self) -> None:
        """Raises: ValueError: more controls were flagged than there are."""
        if not 0 <= self.flagged <= self.controls:
            raise ValueError(f"{self.flagged} of {self.controls} controls")


class Effect(IntEnum):
    """What breakers do to findings of a variant, from nothing to most."""

    NONE = 0
    HOLD = 1
    """Findings that are not displayed yet stay hidden."""
    SUSPEND = 2
    """Nothing is displayed."""


def has_failed(trial: Trial) -> bool:
    """Whether the trial failed, so the stated cause was not the cause."""
    return trial.flagged > 0 or trial.gate_tier is GateTier.FAILED


def find_missing(since: datetime, trial: Trial, now: datetime) -> tuple[str, ...]:
    """What a breaker that is half open since `since` still waits for, as text."""
    ends = since + IN_SHADOW
    return (
        *([f"its 48 hours in the shadow end at {ends:%Y-%m-%d %H:%M} UTC"] if now < ends else ()),
        *([f"{trial.controls} of {CLEAN_CONTROLS} controls have run"] if trial.controls < CLEAN_CONTROLS else ()),
        *(["the gate tier is not known to be clean"] if trial.gate_tier is not GateTier.CLEAN else ()),
    )
