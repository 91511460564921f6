"""What an answer means: whether to ask again, and how long to believe it. Nothing here waits or reads a clock."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

from contracts.v1.parts import CanonicalPage
from platforms.base import REFUSALS

PASSING: Final = frozenset({"connection_failed", "timeout", "bad_response", "bad_encoding", "unresolvable"})
"""Kinds of a failed exchange that another try may not meet."""

SITE_UNAVAILABLE: Final = "site_unavailable"
SITE_BUSY: Final = "site_busy"
TIMEOUT: Final = "timeout"
OTHER_HOST: Final = "other_host"
NO_TEXT: Final = "no_text"
UNREADABLE: Final = "unreadable"
_CROWDED_BASE_S: Final = 0.25
_JOINS: Final = 5
_ENOUGH: Final = 0.5
"""A try that cannot have this share of its time is not begun."""


@dataclass(frozen=True)
class Unavailable:
    """The site did not confirm the page; `reason` is a short code, `detail` one sentence for an operator."""

    reason: str
    detail: str = ""


@dataclass(frozen=True)
class Crowded:
    """So many wait for the site already that one more would keep readers of other sites waiting: come back."""

    after_s: float


@dataclass(frozen=True)
class Failure:
    """One try that brought nothing. Units: `retry_after_s` is what the site asked for.

    `passing`: another try may do better. `broken`: the host answers, but not as itself. `cut_short`: the try had too
    little time, so nothing is known about the host.
    """

    reason: str
    detail: str
    passing: bool
    retry_after_s: float | None = None
    broken: bool = False
    cut_short: bool = False

    @property
    def of_the_host(self) -> bool:
        """Whether it counts against the host."""
        return self.passing or self.broken


@dataclass(frozen=True)
class Budget:
    """The time there is. Units: seconds from now.

    No try begins after `start_s` (at 0, only where a turn is free), none goes on after `end_s`; the reader waits for
    `patience_s`. A look-up belongs to nobody, so it may outlast the reader who was the first to ask.
    """

    start_s: float
    end_s: float
    patience_s: float

    def after(self, seconds: float) -> Budget:
        """What is left of it later."""
        return Budget(*(max(0.0, each - seconds) for each in (self.start_s, self.end_s, self.patience_s)))


def budget(attempt: int, *, deadline_s: float, timeout_s: float) -> Budget:
    """What is left of a reader's patience when an observation comes for the nth time."""
    try_s = min(timeout_s, deadline_s)
    left_s = max(0.0, deadline_s - _CROWDED_BASE_S * (2 ** (attempt - 1) - 1))
    return Budget(max(0.0, left_s - _ENOUGH * try_s), max(left_s, try_s), left_s or try_s)


@dataclass(frozen=True)
class Lifetimes:
    """How long outcomes are believed."""

    page_s: float
    failure_s: float
    refusal_s: float


def crowded(attempt: int, time: Budget, *, under_way: bool) -> Crowded | Unavailable:
    """What to tell an observation that finds no place: to come back, for as long as it could still be served then.

    `under_way`: its page is being fetched for somebody else, so it will be answered without asking the site.
    """
    after_s = _CROWDED_BASE_S * 2 ** (attempt - 1)
    if after_s < time.start_s or (under_way and attempt <= _JOINS):
        return Crowded(after_s)
    return Unavailable(SITE_BUSY, "too many wait for the site already")


def failed_exchange(kind: str, detail: str) -> Failure:
    """What it means that no answer came."""
    return Failure(kind, detail, passing=kind in PASSING)


def refused(
    status: int, headers: Mapping[str, str], now: datetime, missing: frozenset[int] = frozenset()
) -> Failure | None:
    """What a status means; None if it brings the page. `missing`: statuses by which the site denies that it exists."""
    if status == 200:
        return None
    detail = f"the site answered {status}"
    if status == 429 or status >= 500:
        reason = "rate_limited" if status == 429 else "server_error"
        return Failure(reason, detail, passing=True, retry_after_s=retry_after_s(headers.get("retry-after", ""), now))
    if status in missing:
        return Failure("not_found", detail, passing=False)
    if status in (401, 403, 451):
        return Failure("forbidden", detail, passing=False)
    return Failure("unexpected_status", detail, passing=False)


def retry_after_s(header: str, now: datetime) -> float | None:
    """Seconds to wait, from a number of seconds or a date; None if the header says neither.

    Source: RFC 9110 section 10.2.3.
    """
    text = header.strip()
    if text.isascii() and text.isdecimal():
        return float(text[:9])
    try:
        when = parsedate_to_datetime(text)
    except ValueError:
        return None
    return max(0.0, ((when if when.tzinfo else when.replace(tzinfo=UTC)) - now).total_seconds())


def delay_before_next(failure: Failure, tries: int, *, retries: int, base_s: float, remaining_s: float) -> float | None:
    """How long to wait before asking again after `tries` tries; None if it is not worth it or there is no time."""
    if not failure.passing or tries > retries:
        return None
    delay_s = max(base_s * 2 ** (tries - 1), failure.retry_after_s or 0.0)
    return delay_s if delay_s < remaining_s else None


def lifetime_s(outcome: CanonicalPage | Unavailable, lifetimes: Lifetimes, *, immutable: bool) -> float:
    """How long an outcome is believed: for ever if it is a page that never changes, which a failure is not.

    That one reader's time was up says nothing about the page, so the next reader is not told so. A refusal is believed
    longer than an outage, and not for ever: the site may lag, or show the page later.
    """
    if isinstance(outcome, Unavailable):
        if outcome.reason in REFUSALS:
            return lifetimes.refusal_s
        return 0.0 if outcome.reason == SITE_BUSY else lifetimes.failure_s
    return math.inf if immutable else lifetimes.page_s
