"""Facts of audits for tests."""

from __future__ import annotations

from datetime import datetime, timedelta
from hashlib import sha256
from typing import Final
from uuid import UUID

from contracts.v1 import CreditPosted, JobIdempotencyKeyBound, JobRequested
from contracts.v1.credit import Reservation
from contracts.v1.ids import idempotency_id, period_id
from contracts.v1.job import AuditOptions, AuditPrices
from contracts.v1.parts import EphemeralRef
from tests.support.factories import NOW

ACCOUNT: Final = UUID(int=0xACC0)
MONTH: Final = "2026-12"
PERIOD: Final = period_id(ACCOUNT, MONTH)
PRICES: Final = AuditPrices(extract_micro_usd=3_000, analyse_micro_usd=81_000, assess_micro_usd=30_000)
LIMIT: Final = 10_000_000


def hash_of(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def words(text: str, until: datetime = NOW) -> EphemeralRef:
    """A reference to a text that expires within a day of `until`."""
    hour = until.replace(minute=0, second=0, microsecond=0) + timedelta(hours=24)
    return EphemeralRef(sha256=hash_of(text), size_bytes=len(text.encode()), until=hour)


def bound(job: UUID, key: str = "key", body: str = "body", follows: int = 0) -> JobIdempotencyKeyBound:
    return JobIdempotencyKeyBound(
        follows=follows,
        key_id=idempotency_id(ACCOUNT, key),
        account_id=ACCOUNT,
        job_id=job,
        body_sha256=hash_of(body),
        expires_at=NOW + timedelta(hours=24),
    )


def reserved(job: UUID, before: CreditPosted | None = None, follows: int = 0, micro_usd: int = 114_000) -> CreditPosted:
    """A reservation after the entry `before`, computed here so that tests of the broker need no rules."""
    return CreditPosted(
        follows=follows,
        period_id=PERIOD,
        account_id=ACCOUNT,
        month=MONTH,
        entry="RESERVED",
        job_id=job,
        micro_usd=micro_usd,
        limit_micro_usd=LIMIT,
        hard=True,
        used_micro_usd=0,
        open=(*(before.open if before else ()), Reservation(job_id=job, micro_usd=micro_usd)),
    )


def asked(job: UUID, *, cache_only: bool = False, options: AuditOptions | None = None) -> JobRequested:
    return JobRequested(
        job_id=job,
        account_id=ACCOUNT,
        period_id=None if cache_only else PERIOD,
        mode="CACHE_ONLY" if cache_only else "CREDIT",
        options=options or AuditOptions(),
        options_hash=hash_of("options"),
        input_type="TEXT",
        input=words("input"),
        reserved_micro_usd=0 if cache_only else 114_000,
        prices=PRICES,
        deadline_at=NOW + timedelta(minutes=15),
    )
