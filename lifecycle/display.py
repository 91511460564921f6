"""Decide when an approved claim may be shown: at once, after a hold, or never. Pure.

The more readers see a post, the more harm a wrong finding does, and the longer it is held. Before its release it is
shown to no one, since its verdict is published only then. Source: decision 0090.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Final, Literal

Fresh = Literal["CONFIRMED", "CHANGED", "UNAVAILABLE"]
"""The result of fetching the cited pages after the hold: they still have the quotes, or not, or were unavailable."""

LONGEST: Final = timedelta(hours=24)
"""A claim that a breaker stops, or that no page confirms, for longer is withheld, so that its investigation ends."""
CHECK: Final = timedelta(minutes=10)
"""How often to check whether a breaker has closed, or a page is available again."""

REASONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "STOPPED": "New corrections were stopped for a day when this one was due, because too many had been wrong.",
        "NO_SECOND_LOOK": "Many people read the post, and no second family of models has confirmed the correction.",
        "SOURCE_CHANGED": "Many people read the post, and a cited page no longer said what was quoted from it.",
        "SOURCE_UNAVAILABLE": "Many people read the post, and a cited page could not be fetched again for a day.",
        "GATE_NOT_PASSED": "A gate did not pass it.",
        "NOT_DECIDED": "It could not be decided whether to show it.",
    }
)
"""Why a held claim is withheld, by its code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DisplayRules:
    """How long claims are held.

    Units: `few_views` and `many_views` are unique views of a post per day; a claim about a post between them is held
    for `medium`, about a post with more for `high`. `second_look`: for a post with more, a second opinion must have
    confirmed the claim, and the cited pages must still have the quotes when the hold is over.
    """

    few_views: int = 100
    many_views: int = 10_000
    medium: timedelta = timedelta(minutes=15)
    high: timedelta = timedelta(minutes=60)
    second_look: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldClaim:
    """The facts that decide about a held claim.

    Shapes: `is_requested`: a reader asked for the investigation. `has_passed`: every gate that judged it passed it;
    `has_second_look`: a second opinion was among them. `is_stopped`: an open breaker stops new findings. `fresh` is the
    result of fetching the cited pages again, None if that was not done. Units: `views_a_day` are unique; None: unknown.
    """

    held_at: datetime
    views_a_day: int | None
    is_requested: bool
    has_passed: bool = True
    has_second_look: bool = False
    is_stopped: bool = False
    fresh: Fresh | None = None


@dataclass(frozen=True, slots=True)
class Wait:
    """The claim stays held, at least until `until`."""

    until: datetime


@dataclass(frozen=True, slots=True)
class LookAgain:
    """The claim's pages must be fetched again before a decision."""


@dataclass(frozen=True, slots=True)
class Release:
    """The claim is shown."""


@dataclass(frozen=True, slots=True)
class Withhold:
    """The claim is never shown. Shapes: `code` is a key of REASONS."""

    code: str


def display(claim: HeldClaim, now: datetime, rules: DisplayRules) -> Wait | LookAgain | Release | Withhold:
    """Decide about a held claim, by what is known now; a later call may decide otherwise."""
    if not claim.has_passed:
        return Withhold("GATE_NOT_PASSED")
    hold = find_hold(claim, rules)
    due = claim.held_at + hold
    if hold and now < due:
        return Wait(min(due, now + hold))  # no longer, even if the clock was set back
    if claim.is_stopped:
        last = claim.held_at + LONGEST
        return Withhold("STOPPED") if now >= last else Wait(min(now + CHECK, last))
    if rules.second_look and _is_high(claim, rules):
        return _look_twice(claim, now) if claim.has_second_look else Withhold("NO_SECOND_LOOK")
    return Release()


def _look_twice(claim: HeldClaim, now: datetime) -> Wait | LookAgain | Release | Withhold:
    match claim.fresh:
        case None:
            return LookAgain()
        case "CONFIRMED":
            return Release()
        case "CHANGED":
            return Withhold("SOURCE_CHANGED")
        case "UNAVAILABLE":
            last = claim.held_at + LONGEST
            return Withhold("SOURCE_UNAVAILABLE") if now >= last else Wait(min(now + CHECK, last))


def find_hold(claim: HeldClaim, rules: DisplayRules) -> timedelta:
    """How long a claim has to be held."""
    if claim.views_a_day is None:
        return timedelta() if claim.is_requested else rules.medium
    if claim.views_a_day < rules.few_views:
        return timedelta()
    return rules.high if _is_high(claim, rules) else rules.medium


def _is_high(claim: HeldClaim, rules: DisplayRules) -> bool:
    return claim.views_a_day is not None and claim.views_a_day > rules.many_views
