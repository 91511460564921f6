"""Which breakers open, and why. Pure.

Each breaker sees only what happened since it was last half open or closed, so that what opened it once does not open it
again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from accuracy.breaker import Effect
from accuracy.facts import ApprovalCounts, Control, Exposure, RetractionCounts, Review, Verdict
from accuracy.triggers import (
    EveryVariant,
    Evidence,
    FalseFlag,
    ManyRetractions,
    NewReleases,
    NoNote,
    NoQuorum,
    OneVariant,
    QuoteNotInPage,
    Scope,
    SecondFalseFlag,
    Trigger,
    UnusualApproveRate,
    WrongAtHighExposure,
)
from accuracy.watch import Facts, find_triggers
from contracts.v1 import BreakerChanged
from contracts.v1.breaker import BreakerState, BreakerTrigger

CURATOR: Final = "curator"
EVERY: Final = "ALL"
NEW: Final = "NEW"
WEEK: Final = timedelta(days=7)
MONTH: Final = timedelta(days=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownTrigger:
    """What opened a breaker, and when."""

    trigger: BreakerTrigger
    at: datetime
    numbers: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownBreaker:
    """A breaker as the tables have it. Shapes: `triggers` are those since it last opened."""

    scope: str
    state: BreakerState
    triggers: Sequence[KnownTrigger]
    opened_at: datetime | None
    since: datetime | None
    since_sequence: int
    sequence: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RanControl:
    """A control that has run. `is_flagged`: a finding passed all gates."""

    variant: str
    at: datetime
    is_flagged: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongReview:
    """A review with the verdict WRONG, by the sequence of its event. `is_high`: its post has many readers."""

    variant: str
    sequence: int
    is_high: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Retracted:
    """A finding that was retracted for a fault of ours."""

    variant: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Approvals:
    """Judged claims of a variant in the last whole week, and in the weeks before it."""

    variant: str
    begins: datetime
    approved: int
    judged: int
    approved_before: int
    judged_before: int


LEAST_JUDGED: Final = 200
"""The fewest judged claims of the weeks before from which a usual rate can be computed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """The facts in the tables. Shapes: `controls` in the order of their runs; `released` counts findings of 30 days."""

    controls: Sequence[RanControl] = ()
    wrong: Sequence[WrongReview] = ()
    retracted: Sequence[Retracted] = ()
    released: Mapping[str, int]
    approvals: Sequence[Approvals] = ()
    quotes_not_in_page: int = 0
    note_age: timedelta = timedelta(0)
    quorum_age: timedelta = timedelta(0)


def find_openings(observed: Observed, breakers: Mapping[str, KnownBreaker], now: datetime) -> Iterator[BreakerChanged]:
    """The events of breakers that open, or that are open and have a new kind of trigger; one for each scope."""
    opened: set[str] = set()
    for view in (None, *breakers.values()):
        for trigger in find_triggers(_see(observed, view, now)):
            scope = name_scope(trigger.scope)
            if scope in opened or breakers.get(scope) is not view:
                continue
            name, numbers = describe(trigger)
            if view is None or _is_news(view, name):
                opened.add(scope)
                follows = 0 if view is None else view.sequence
                yield BreakerChanged(
                    follows=follows, scope=scope, state="OPEN", trigger=name, numbers=numbers, by=CURATOR
                )


def find_effect(breakers: Mapping[str, KnownBreaker], variant: str) -> Effect:
    """The strictest effect of the breakers on a variant."""
    effects = (
        Effect.HOLD if each.scope == NEW else Effect.SUSPEND
        for each in breakers.values()
        if each.state != "CLOSED" and each.scope in (EVERY, NEW, variant)
    )
    return max(effects, default=Effect.NONE)


def name_scope(scope: Scope) -> str:
    """The scope as events name it."""
    match scope:
        case OneVariant(variant):
            return variant
        case EveryVariant():
            return EVERY
        case NewReleases():
            return NEW


def describe(trigger: Trigger) -> tuple[BreakerTrigger, str]:
    """The trigger's name, and its numbers in words."""
    match trigger:
        case FalseFlag():
            return "FALSE_FLAG", "a finding passed all gates on a post in which nothing is wrong"
        case WrongAtHighExposure():
            return (
                "WRONG_AT_HIGH_EXPOSURE",
                "a correction was found wrong on a post with over 10,000 views a day",
            )
        case ManyRetractions(each):
            return (
                "MANY_RETRACTIONS",
                f"{each.in_7_days} retracted in 7 days, {each.in_30_days} in 30 days, of {each.released} published",
            )
        case UnusualApproveRate(each):
            return (
                "UNUSUAL_APPROVE_RATE",
                f"{each.approved} of {each.judged} candidates approved in a week, where {each.reference:.1%} is usual",
            )
        case SecondFalseFlag(controls):
            return "SECOND_FALSE_FLAG", f"two flagged controls within {controls} runs"
        case Evidence(flagged, controls, e_value):
            return "EVIDENCE", f"{flagged} of {controls} controls flagged, an e-value of {e_value:.1f} against 0.5 %"
        case QuoteNotInPage(quotes):
            return "QUOTE_NOT_IN_PAGE", f"{quotes} displayed quotes are not in the page that was stored for them"
        case NoNote(age):
            return "NO_NOTE", f"no signed note for {age.total_seconds() / 60:.0f} minutes"
        case NoQuorum(age):
            return "NO_QUORUM", f"no quorum of witnesses for {age.total_seconds() / 3600:.0f} hours"


def _is_news(breaker: KnownBreaker, trigger: BreakerTrigger) -> bool:
    """Whether a breaker is not open, or was not opened by this kind of trigger yet."""
    if breaker.state != "OPEN":
        return True
    known = {each.trigger for each in breaker.triggers if breaker.since is None or each.at >= breaker.since}
    return trigger not in known


def _see(observed: Observed, view: KnownBreaker | None, now: datetime) -> Facts:
    """The facts that count for a breaker; for None, all of them."""
    since = view.since if view is not None else None
    since_sequence = view.since_sequence if view is not None else 0
    return Facts(
        controls=[Control(each.variant, each.is_flagged) for each in observed.controls if _is_later(each.at, since)],
        reviews=[
            Review(each.variant, Verdict.WRONG, Exposure.HIGH if each.is_high else Exposure.MEDIUM)
            for each in observed.wrong
            if each.sequence > since_sequence
        ],
        retractions=list(_count_retracted(observed, since, now)),
        approvals=[
            ApprovalCounts(each.variant, each.approved, each.judged, each.approved_before / each.judged_before)
            for each in observed.approvals
            if each.judged_before >= LEAST_JUDGED and _is_later(each.begins, since)
        ],
        quotes_not_in_page=observed.quotes_not_in_page,
        note_age=observed.note_age,
        quorum_age=observed.quorum_age,
    )


def _is_later(at: datetime, since: datetime | None) -> bool:
    return since is None or at > since


def _count_retracted(observed: Observed, since: datetime | None, now: datetime) -> Iterator[RetractionCounts]:
    counted = [each for each in observed.retracted if _is_later(each.at, since)]
    month = Counter(each.variant for each in counted if each.at > now - MONTH)
    week = Counter(each.variant for each in counted if each.at > now - WEEK)
    for variant, number in month.items():
        yield RetractionCounts(variant, week[variant], number, observed.released.get(variant, 0))
