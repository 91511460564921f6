"""What an answer means: whether to ask again, and how long to believe it. Nothing here waits or reads a clock."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

from contracts.v1.parts import CanonicalPage

PASSING: Final = frozenset({"connection_failed", "timeout", "bad_response", "bad_encoding", "unresolvable"})
"""Kinds of a failed exchange that another try may not meet."""

NO_PUBLIC_SOURCE: Final = "no_public_source"
SITE_UNAVAILABLE: Final = "site_unavailable"
SITE_BUSY: Final = "site_busy"
TIMEOUT: Final = "timeout"
UNEXPECTED_ANSWER: Final = "unexpected_answer"


@dataclass(frozen=True)
class Unavailable:
    """The site did not confirm the page; `reason` is a short code, `detail` one sentence for an operator."""

    reason: str
    detail: str = ""


@dataclass(frozen=True)
class Failure:
    """One try that brought nothing. Units: `retry_after_s` is what the site asked for."""

    reason: str
    detail: str
    passing: bool
    retry_after_s: float | None = None


@dataclass(frozen=True)
class Lifetimes:
    """How long outcomes are believed."""

    page_s: float
    failure_s: float


def failed_exchange(kind: str, detail: str) -> Failure:
    """What it means that no answer came."""
    return Failure(kind, detail, passing=kind in PASSING)


def refused(status: int, headers: Mapping[str, str], now: datetime) -> Failure | None:
    """What a status means; None if it brings the page."""
    if status == 200:
        return None
    detail = f"the site answered {status}"
    if status == 429 or status >= 500:
        reason = "rate_limited" if status == 429 else "server_error"
        return Failure(reason, detail, passing=True, retry_after_s=retry_after_s(headers.get("retry-after", ""), now))
    if status in (404, 410):
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
    """How long an outcome is believed: for ever if it is a page that never changes, which a failure is not."""
    if isinstance(outcome, Unavailable):
        return lifetimes.failure_s
    return math.inf if immutable else lifetimes.page_s
