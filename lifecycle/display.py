"""When an approved claim may be shown: at once, after a hold, or never. Pure.

The more readers see a post, the more a wrong finding costs, and the longer it is held. Before its release nobody is
shown it: its verdict is published only then. Source: decision 0090.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Final

LONGEST: Final = timedelta(hours=24)
"""What an open breaker stops for longer is withheld, so that its investigation ends."""
CHECK: Final = timedelta(minutes=10)
"""How often is looked whether a breaker has closed."""

REASONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "STOPPED": "New corrections were stopped for a day when this one was due, because too many had been wrong.",
        "NO_SECOND_LOOK": "Many people read the post, and no second family of models has confirmed the correction.",
        "GATE_NOT_PASSED": "A gate did not pass it.",
        "NOT_DECIDED": "It could not be decided whether to show it.",
    }
)
"""Why a held claim is withheld, by its code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DisplayRules:
    """How long claims are held.

    Units: `few_views` and `many_views` are unique views of a post a day; `medium` and `high` how long a claim about a
    post between them, and beyond, is held. `second_look`: beyond, a second opinion must have confirmed it.
    """

    few_views: int = 100
    many_views: int = 10_000
    medium: timedelta = timedelta(minutes=15)
    high: timedelta = timedelta(minutes=60)
    second_look: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldClaim:
    """What decides about a held claim.

    Shapes: `is_requested`: a reader asked for the investigation. `has_passed`: every gate that judged it passed it;
    `has_second_look`: a second opinion was among them. `is_stopped`: a breaker stops what is not shown yet. Units:
    `views_a_day` are unique; None: unknown.
    """

    held_at: datetime
    views_a_day: int | None
    is_requested: bool
    has_passed: bool = True
    has_second_look: bool = False
    is_stopped: bool = False


@dataclass(frozen=True, slots=True)
class Wait:
    """It stays held, at least until then."""

    until: datetime


@dataclass(frozen=True, slots=True)
class Release:
    """It is shown."""


@dataclass(frozen=True, slots=True)
class Withhold:
    """It is never shown. Shapes: `code` is a key of REASONS."""

    code: str


def display(claim: HeldClaim, now: datetime, rules: DisplayRules) -> Wait | Release | Withhold:
    """What becomes of a held claim now. Whatever is asked later is decided by what is known then."""
    if not claim.has_passed:
        return Withhold("GATE_NOT_PASSED")
    due = claim.held_at + find_hold(claim, rules)
    if now < due:
        return Wait(due)
    if claim.is_stopped:
        last = claim.held_at + LONGEST
        return Withhold("STOPPED") if now >= last else Wait(min(now + CHECK, last))
    if rules.second_look and not claim.has_second_look and _is_high(claim, rules):
        return Withhold("NO_SECOND_LOOK")
    return Release()


def find_hold(claim: HeldClaim, rules: DisplayRules) -> timedelta:
    """How long it has to be held."""
    if claim.views_a_day is None:
        return timedelta() if claim.is_requested else rules.medium
    if claim.views_a_day < rules.few_views:
        return timedelta()
    return rules.high if _is_high(claim, rules) else rules.medium


def _is_high(claim: HeldClaim, rules: DisplayRules) -> bool:
    return claim.views_a_day is not None and claim.views_a_day > rules.many_views
