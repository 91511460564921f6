"""How answers of sites are classified, retried and cached. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

from contracts.v1.pages import CanonicalPage
from platforms.base import REFUSALS

TRANSIENT: Final = frozenset({"connection_failed", "timeout", "bad_response", "bad_encoding", "unresolvable"})
"""Kinds of failed exchanges that are worth a retry."""

SITE_UNAVAILABLE: Final = "site_unavailable"
SITE_BUSY: Final = "site_busy"
TIMEOUT: Final = "timeout"
OTHER_HOST: Final = "other_host"
NO_TEXT: Final = "no_text"
UNREADABLE: Final = "unreadable"
_OVERLOAD_DELAY_S: Final = 0.25
_MAX_JOINS: Final = 5
_MIN_TRY: Final = 0.5
"""A try that cannot have this share of its time is not started."""


@dataclass(frozen=True)
class Unavailable:
    """The site did not confirm the page. Shapes: `reason` is a short code, `detail` a sentence for operators."""

    reason: str
    detail: str = ""


@dataclass(frozen=True)
class Overloaded:
    """Too many observations wait for this site; retry later."""

    after_s: float


@dataclass(frozen=True)
class Failure:
    """A failed try. Units: `retry_after_s` is what the site asked for.

    `is_transient`: worth a retry. `is_broken`: the host answers, but not as the site. `was_cut_short`: the try had too
    little time to say anything about the host.
    """

    reason: str
    detail: str
    is_transient: bool
    retry_after_s: float | None = None
    is_broken: bool = False
    was_cut_short: bool = False

    @property
    def counts_against_host(self) -> bool:
        """Whether the breaker counts it."""
        return self.is_transient or self.is_broken


@dataclass(frozen=True)
class Budget:
    """The time of a look-up. Units: seconds from now.

    No try starts after `start_s` (at 0, only if a turn is free), none continues after `end_s`; the observation waits
    for `wait_s`. A look-up is shared, so it may outlast the observation that started it.
    """

    start_s: float
    end_s: float
    wait_s: float

    def after(self, seconds: float) -> Budget:
        """What remains after some seconds."""
        return Budget(*(max(0.0, each - seconds) for each in (self.start_s, self.end_s, self.wait_s)))


def make_budget(delivery_count: int, *, deadline_s: float, timeout_s: float) -> Budget:
    """The time left for an observation at its nth delivery."""
    try_s = min(timeout_s, deadline_s)
    left_s = max(0.0, deadline_s - _OVERLOAD_DELAY_S * (2 ** (delivery_count - 1) - 1))
    return Budget(max(0.0, left_s - _MIN_TRY * try_s), max(left_s, try_s), left_s or try_s)


@dataclass(frozen=True)
class Lifetimes:
    """How long outcomes are cached."""

    page_s: float
    failure_s: float
    refusal_s: float


def share_of_slots(slots: int, sites: int) -> int:
    """How many observations of one site may wait at once. All sites together leave slots for what can be refused."""
    return max(1, slots // (1 + sites))


def defer_or_refuse(delivery_count: int, time: Budget, *, under_way: bool) -> Overloaded | Unavailable:
    """What becomes of an observation that is not admitted: deferred while there is time left, then refused.

    `under_way`: its page is being fetched already, so that a later delivery finds it in the cache.
    """
    after_s = _OVERLOAD_DELAY_S * 2 ** (delivery_count - 1)
    if after_s < time.start_s or (under_way and delivery_count <= _MAX_JOINS):
        return Overloaded(after_s)
    return Unavailable(SITE_BUSY, "too many observations wait for the site")


def classify_error(kind: str, detail: str) -> Failure:
    """Classify an exchange without an answer."""
    return Failure(kind, detail, is_transient=kind in TRANSIENT)


def classify_status(
    status: int, headers: Mapping[str, str], now: datetime, missing: frozenset[int] = frozenset()
) -> Failure | None:
    """Classify a status; None if it is a success. `missing`: statuses that deny that the page exists."""
    if status == 200:
        return None
    detail = f"the site answered {status}"
    if status == 429 or status >= 500:
        reason = "rate_limited" if status == 429 else "server_error"
        return Failure(
            reason, detail, is_transient=True, retry_after_s=retry_after_s(headers.get("retry-after", ""), now)
        )
    if status in missing:
        return Failure("not_found", detail, is_transient=False)
    if status in (401, 403, 451):
        return Failure("forbidden", detail, is_transient=False)
    return Failure("unexpected_status", detail, is_transient=False)


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


def delay_before_retry(
    failure: Failure, tries: int, *, retries: int, base_s: float, remaining_s: float
) -> float | None:
    """How long to wait before the next try; None if there should be none or no time is left."""
    if not failure.is_transient or tries > retries:
        return None
    delay_s = max(base_s * 2 ** (tries - 1), failure.retry_after_s or 0.0)
    return delay_s if delay_s < remaining_s else None


def lifetime_s(outcome: CanonicalPage | Unavailable, lifetimes: Lifetimes, *, immutable: bool) -> float:
    """How long an outcome is cached; a page that never changes: without expiry.

    `SITE_BUSY` is not cached: it says nothing about the page. A denial is cached longer than an outage, but not for
    ever: the site may lag, or show the page later.
    """
    if isinstance(outcome, Unavailable):
        if outcome.reason in REFUSALS:
            return lifetimes.refusal_s
        return 0.0 if outcome.reason == SITE_BUSY else lifetimes.failure_s
    return math.inf if immutable else lifetimes.page_s
