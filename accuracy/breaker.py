"""The state of a breaker, one for each scope: closed, open, or half open.

A closed breaker lets findings be displayed. An open one suspends them, and only a written cause leads out of it: then
the scope works in the shadow for 48 hours at least. It closes after 150 controls without a flag and a clean gate tier,
and the volume of its variants is earned anew from 10 a day. Source: row TR-45 of docs/requirements/trust.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import IntEnum
from typing import Final

from accuracy.facts import GateTier
from accuracy.triggers import NewReleases, OneVariant, Scope, Trigger
from accuracy.volume import CLEAN_CONTROLS, FIRST_QUOTA

IN_SHADOW: Final = timedelta(hours=48)


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a breaker opened and what was done about it, with the name of who says so."""

    text: str
    by: str

    def __post_init__(self) -> None:
        """Raises: ValueError: the text or its author is empty."""
        if not (self.text.strip() and self.by.strip()):
            raise ValueError("a cause needs a text and an author")


@dataclass(frozen=True, slots=True)
class Closed:
    """Findings are displayed. Units: `quota` findings a day from which volume is earned anew; None: it never opened."""

    quota: int | None = None


@dataclass(frozen=True, slots=True)
class Open:
    """Nothing of the scope is displayed. Shapes: `later` set off after `first`, while it was open."""

    first: Trigger
    later: tuple[Trigger, ...] = ()


@dataclass(frozen=True, slots=True)
class HalfOpen:
    """The scope works in the shadow, and nothing of it is displayed either."""

    opened: Open
    cause: Cause
    since: datetime


Breaker = Closed | Open | HalfOpen


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of the shadow since the breaker is half open. Shapes: `flagged` of `controls`."""

    controls: int
    flagged: int
    gate_tier: GateTier

    def __post_init__(self) -> None:
        """Raises: ValueError: more were flagged than there are."""
        if not 0 <= self.flagged <= self.controls:
            raise ValueError(f"{self.flagged} of {self.controls} controls")


class Effect(IntEnum):
    """What breakers do to findings of a variant, from nothing to most."""

    NONE = 0
    HOLD = 1
    """What is not displayed yet stays so."""
    SUSPEND = 2
    """Nothing is displayed."""


def trip(breaker: Breaker, trigger: Trigger) -> Open:
    """Open, or stay open and note what else was set off."""
    match breaker:
        case Closed():
            return Open(trigger)
        case Open():
            known = trigger in (breaker.first, *breaker.later)
            return breaker if known else replace(breaker, later=(*breaker.later, trigger))
        case HalfOpen(opened=opened):
            return trip(opened, trigger)


def trip_all(breakers: Mapping[Scope, Breaker], triggers: Iterable[Trigger]) -> dict[Scope, Breaker]:
    """The breakers after each trigger has opened that of its scope; a scope without one is closed."""
    found = dict(breakers)
    for trigger in triggers:
        found[trigger.scope] = trip(found.get(trigger.scope, Closed()), trigger)
    return found


def half_open(breaker: Open, cause: Cause, now: datetime) -> HalfOpen:
    """Start the shadow."""
    return HalfOpen(breaker, cause, now)


def try_to_close(breaker: HalfOpen, trial: Trial, now: datetime) -> Breaker:
    """Close it, keep it half open while something is missing, or open it: the cause was not what had been written."""
    if has_failed(trial):
        return breaker.opened
    return breaker if find_missing(breaker.since, trial, now) else Closed(FIRST_QUOTA)


def has_failed(trial: Trial) -> bool:
    """Whether the cause was not what had been written."""
    return trial.flagged > 0 or trial.gate_tier is GateTier.FAILED


def find_missing(since: datetime, trial: Trial, now: datetime) -> tuple[str, ...]:
    """What a breaker that is half open since then still waits for, in words."""
    ends = since + IN_SHADOW
    return (
        *([f"its 48 hours in the shadow end at {ends:%Y-%m-%d %H:%M} UTC"] if now < ends else ()),
        *([f"{trial.controls} of {CLEAN_CONTROLS} controls have run"] if trial.controls < CLEAN_CONTROLS else ()),
        *(["the gate tier is not known to be clean"] if trial.gate_tier is not GateTier.CLEAN else ()),
    )


def find_effect(breakers: Mapping[Scope, Breaker], variant: str) -> Effect:
    """What the breakers together do to a variant; a scope without a breaker is closed."""
    return max((_effect_of(scope, state, variant) for scope, state in breakers.items()), default=Effect.NONE)


def _effect_of(scope: Scope, breaker: Breaker, variant: str) -> Effect:
    if isinstance(breaker, Closed) or (isinstance(scope, OneVariant) and scope.variant != variant):
        return Effect.NONE
    return Effect.HOLD if isinstance(scope, NewReleases) else Effect.SUSPEND
