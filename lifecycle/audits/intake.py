"""Decide whether a request is new, a repetition or a misuse of its idempotency key, and how a new one is paid for."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final
from uuid import UUID

from contracts.v1 import CreditPosted, JobIdempotencyKeyBound
from contracts.v1.job import AuditOptions, AuditPrices
from lifecycle.audits.charges import compute_least, compute_most
from lifecycle.audits.credits import AlreadyOpen, Period, Refused, Terms, extract, reserve

KEY_LIFETIME: Final = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class NewRequest:
    """The key is free; the event that binds it follows the sequence `follows`."""

    follows: int


@dataclass(frozen=True, slots=True)
class Repetition:
    """The same request was accepted as this job."""

    job_id: UUID


@dataclass(frozen=True, slots=True)
class OtherBody:
    """The key belongs to a job that was requested with another body."""


def look_up_key(
    bound: JobIdempotencyKeyBound | None, sequence: int, body_sha256: str, now: datetime
) -> NewRequest | Repetition | OtherBody:
    """Decide by the key's newest binding, which is stored at `sequence`; None and 0 if there is none.

    The decision is made again after a refused batch: a repetition means that another process stored the request
    meanwhile, and a new request that only the balance has changed.
    """
    if bound is None or bound.expires_at <= now:
        return NewRequest(sequence)
    return Repetition(bound.job_id) if bound.body_sha256 == body_sha256 else OtherBody()


@dataclass(frozen=True, slots=True)
class NewJob:
    """A job to accept on a UTC day."""

    job_id: UUID
    options: AuditOptions
    prices: AuditPrices
    day: date


def book(period: Period, terms: Terms, job: NewJob, *, open_elsewhere: int) -> CreditPosted | Refused:
    """The first credit entry of a new job: RESERVED in mode CREDIT, EXTRACTION in mode CACHE_ONLY, or a refusal.

    `cache_only` never spends credit; `allow_partial` does without credit if too little is left. A new job has no entry
    of its own yet. `open_elsewhere` is as in `reserve`.
    """
    preference = job.options.cache_preference
    if preference != "CACHE_ONLY":
        least, most = compute_least(job.prices), compute_most(job.prices, job.options)
        posted = reserve(period, terms, job.job_id, most=most, least=least, open_elsewhere=open_elsewhere)
        assert not isinstance(posted, AlreadyOpen), "a new job has no reservation"
        if not (preference == "ALLOW_PARTIAL" and posted == Refused("CREDIT")):
            return posted
    if len(period.open) + open_elsewhere >= terms.max_open_jobs:
        return Refused("OPEN_JOBS")
    return extract(period, terms, job.job_id, job.day)
