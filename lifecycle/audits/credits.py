"""An account's credit for one month.

Every entry is computed from the newest one, and the stream stores the entry only if that one is still the newest.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Final, Literal
from uuid import UUID

from contracts.v1 import CreditPosted
from contracts.v1.credit import CreditEntry, Reservation
from contracts.v1.ids import period_id

EXTRACTIONS_PER_DAY: Final = 50
"""Limit of jobs in mode CACHE_ONLY per account and UTC day. Source: FH-42."""


@dataclass(frozen=True, slots=True)
class Terms:
    """An account's limits: credit a month (None for no limit) and open jobs. `hard`: the credit cannot be exceeded."""

    limit_micro_usd: int | None
    hard: bool
    max_open_jobs: int


@dataclass(frozen=True, slots=True)
class Refused:
    """The job is refused: too little credit, too many open jobs, or too many extractions today."""

    why: Literal["CREDIT", "OPEN_JOBS", "EXTRACTION_QUOTA"]


@dataclass(frozen=True, slots=True)
class AlreadyOpen:
    """The job already has a reservation."""


@dataclass(frozen=True, slots=True)
class Period:
    """An account's credit in a month, as of its newest entry.

    Shapes: `month` e.g. `2026-12`; `follows` is the sequence of the entry, 0 if there is none yet. Units: all amounts
    are millionths of a US dollar.
    """

    account_id: UUID
    month: str
    last: CreditPosted | None = None
    follows: int = 0

    @property
    def used(self) -> int:
        """The sum of charges and adjustments."""
        return self.last.used_micro_usd if self.last is not None else 0

    @property
    def open(self) -> tuple[Reservation, ...]:
        """The reservations of jobs that have not ended."""
        return self.last.open if self.last is not None else ()

    @property
    def reserved(self) -> int:
        """The sum of all open reservations."""
        return sum(each.micro_usd for each in self.open)

    def left(self, limit: int | None) -> int | None:
        """The amount that can still be reserved, never below 0; None without a limit."""
        return None if limit is None else max(0, limit - self.used - self.reserved)

    def find(self, job: UUID) -> Reservation | None:
        """The open reservation of a job, None if it has none."""
        return next((each for each in self.open if each.job_id == job), None)

    def extractions_on(self, day: date) -> int:
        """The number of extractions on a day; of a day before the last counted one, those of that last one."""
        if self.last is None or self.last.extraction_day is None or self.last.extraction_day < day:
            return 0
        return self.last.extractions


def reserve(
    period: Period, terms: Terms, job: UUID, *, most: int, least: int, open_elsewhere: int = 0
) -> CreditPosted | Refused | AlreadyOpen:
    """Reserve the most that a job can cost, or what is left under a hard limit; refuse if that is below `least`.

    `open_elsewhere` counts the account's open jobs without a reservation here: of the month before, or CACHE_ONLY.
    """
    if period.find(job) is not None:
        return AlreadyOpen()
    if len(period.open) + open_elsewhere >= terms.max_open_jobs:
        return Refused("OPEN_JOBS")
    left = period.left(terms.limit_micro_usd) if terms.hard else None
    amount = most if left is None else min(most, left)
    if amount < least:
        return Refused("CREDIT")
    reservation = Reservation(job_id=job, micro_usd=amount)
    return _post(period, "RESERVED", job, amount, open_=(*period.open, reservation), terms=terms)


def settle(period: Period, job: UUID, charged: int) -> CreditPosted | None:
    """Charge an open job, never more than it reserved; None if it has no open reservation."""
    found = period.find(job)
    if found is None:
        return None
    amount = min(charged, found.micro_usd)
    return _post(period, "SETTLED", job, amount, used=period.used + amount, open_=_without(period, job))


def release(period: Period, job: UUID) -> CreditPosted | None:
    """Give back the reservation of an open job; None if it has none."""
    found = period.find(job)
    return None if found is None else _post(period, "RELEASED", job, found.micro_usd, open_=_without(period, job))


def close_reservation(period: Period, job: UUID, charged: int) -> CreditPosted | None:
    """Charge a job that has ended, or give its reservation back; None if it has no open reservation."""
    return settle(period, job, charged) if charged else release(period, job)


def extract(period: Period, terms: Terms, job: UUID, day: date) -> CreditPosted | Refused:
    """Count a job of mode CACHE_ONLY, which costs nothing, for a UTC day; refuse above the day's limit."""
    count = period.extractions_on(day)
    if count >= EXTRACTIONS_PER_DAY:
        return Refused("EXTRACTION_QUOTA")
    posted = _post(period, "EXTRACTION", job, 0, terms=terms)
    counted = max(day, posted.extraction_day or day)
    return posted.model_copy(update={"extraction_day": counted, "extractions": count + 1})


def adjust(period: Period, terms: Terms, adjustment: UUID, amount: int) -> CreditPosted:
    """Change the used amount by an operator's order, not below 0, and apply the account's present terms."""
    added = max(amount, -period.used)
    return _post(period, "ADJUSTED", adjustment, added, used=period.used + added, terms=terms)


def _without(period: Period, job: UUID) -> tuple[Reservation, ...]:
    return tuple(each for each in period.open if each.job_id != job)


def _post(
    period: Period,
    entry: CreditEntry,
    cause: UUID,
    amount: int,
    *,
    used: int | None = None,
    open_: tuple[Reservation, ...] | None = None,
    terms: Terms | None = None,
) -> CreditPosted:
    last = period.last
    if terms is not None:
        limit, hard = terms.limit_micro_usd, terms.hard
    else:
        assert last is not None, "only an open job is settled or released, so there is an entry"
        limit, hard = last.limit_micro_usd, last.hard
    return CreditPosted(
        follows=period.follows,
        period_id=period_id(period.account_id, period.month),
        account_id=period.account_id,
        month=period.month,
        entry=entry,
        job_id=None if entry == "ADJUSTED" else cause,
        adjustment_id=cause if entry == "ADJUSTED" else None,
        micro_usd=amount,
        limit_micro_usd=limit,
        hard=hard,
        used_micro_usd=period.used if used is None else used,
        open=period.open if open_ is None else open_,
        extraction_day=last.extraction_day if last is not None else None,
        extractions=last.extractions if last is not None else 0,
    )
