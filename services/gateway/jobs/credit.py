"""An account's credit, read from the log: what is left, what is open, and what was used this month."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from typing import Final
from uuid import UUID

from contracts.accounts import credit_month, next_reset
from contracts.jobs.credit import Credit, UsageStats, cache_hit_rate
from contracts.v1 import CreditPosted, JobEnded
from contracts.v1.ids import period_id
from kit.cache import Cache
from kit.clock import Clock
from kit.history import StoredFact
from lifecycle.audits.credits import EXTRACTIONS_PER_DAY, Period, close_reservation
from services.gateway.domain import Account
from services.gateway.jobs.expectation import HitRate
from services.gateway.jobs.options import terms_of
from services.gateway.jobs.ports import JobLog

ACCOUNTS: Final = 1_000
RATE_TTL_S: Final = 300.0
RATE_WINDOW: Final = timedelta(hours=6)
LATE_RESERVATIONS: Final = timedelta(hours=1)
"""How long after a month's end a gateway with a slow clock or a slow request may still reserve in that month."""


@dataclass(frozen=True, slots=True)
class Balance:
    """An account's current month. `open_elsewhere` counts open jobs that hold no reservation in it."""

    period: Period
    open_elsewhere: int


@dataclass(slots=True)
class _Usage:
    """Counts of a period's ended jobs. `pending`: jobs accepted up to the sequence `after` that had not ended."""

    after: int = 0
    pending: set[UUID] = field(default_factory=set)
    articles: int = 0
    cached: int = 0
    new: int = 0


class Ledger:
    """Reads accounts' credit. Each method may raise Unavailable.

    Units: a job of mode CACHE_ONLY is over after `job_s` seconds at the latest.
    """

    def __init__(self, log: JobLog, clock: Clock, *, job_s: float) -> None:
        self._log = log
        self._clock = clock
        self._longest = timedelta(seconds=job_s)
        self._usage: Cache[UUID, _Usage] = Cache(clock, capacity=ACCOUNTS)
        self._closed: Cache[str, bool] = Cache(clock, capacity=ACCOUNTS)
        self._rate: Cache[str, HitRate] = Cache(clock, capacity=1, ttl_s=RATE_TTL_S)

    async def read(self, account: Account, now: datetime) -> Balance:
        """The account's balance. A job whose end is in the log counts as settled, before its credit really is."""
        balance = await self.complete(account, now, await self._log.latest(*self.subjects(account, now)))
        return replace(balance, period=await self._close_ended(balance.period))

    def subjects(self, account: Account, now: datetime) -> Sequence[str]:
        """The subjects of an account's month and of the one before, unless its jobs are known to be over."""
        current, before = (_subject(account.account_id, month) for month in (credit_month(now), _previous_month(now)))
        return (current,) if self._closed.get(before) else (current, before)

    async def complete(self, account: Account, now: datetime, found: Iterable[StoredFact]) -> Balance:
        """The account's balance from the newest facts on `subjects`; `found` may hold other facts too."""
        month, before = credit_month(now), _previous_month(now)
        period, earlier = Period(account.account_id, month), 0
        for fact in found:
            if isinstance(fact.event, CreditPosted) and fact.event.month == month:
                period = Period(account.account_id, month, fact.event, fact.sequence)
            elif isinstance(fact.event, CreditPosted) and fact.event.month == before:
                earlier = len(fact.event.open)
        if not earlier and credit_month(now - LATE_RESERVATIONS) == month:
            self._closed.put(_subject(account.account_id, before), True)
        return Balance(period, earlier + await self._count_open_extractions(period, now))

    async def describe(self, account: Account, least: int) -> Credit:
        """`GET /v1/user/credit`. Units: `least` is what the cheapest job costs, in micro-dollars."""
        now, terms = self._clock.now(), terms_of(account)
        balance = await self.read(account, now)
        period, usage = balance.period, await self._count_usage(balance.period)
        left = period.left(terms.limit_micro_usd)
        return Credit(
            user_id=account.account_id,
            tier=account.tier,
            credit_limit=terms.limit_micro_usd,
            credit_used=period.used,
            credit_remaining=left,
            reset_date=next_reset(now),
            cache_only_mode=terms.hard and left is not None and left < least,
            usage_stats=UsageStats(
                articles_analyzed=usage.articles,
                claims_from_cache=usage.cached,
                claims_newly_analyzed=usage.new,
                cache_hit_rate=cache_hit_rate(usage.cached, usage.new),
            ),
            credit_reserved=period.reserved,
            open_jobs=len(period.open) + balance.open_elsewhere,
            extractions_left_today=max(0, EXTRACTIONS_PER_DAY - period.extractions_on(_day(now))),
        )

    async def hit_rate(self) -> HitRate:
        """The cache hits and new claims of this instance's jobs that ended within RATE_WINDOW."""
        return await self._rate.get_or_make("", self._measure_rate)

    async def _close_ended(self, period: Period) -> Period:
        for fact in await self._log.latest(*(f"{JobEnded.SUBJECT}.{each.job_id}" for each in period.open)):
            if isinstance(end := fact.event, JobEnded):
                period = replace(
                    period, last=close_reservation(period, end.job_id, end.charged_micro_usd) or period.last
                )
        return period

    async def _measure_rate(self) -> HitRate:
        after = await self._log.find_sequence(self._clock.now() - RATE_WINDOW)
        ends = [fact.event for fact in await self._log.read(f"{JobEnded.SUBJECT}.*", after=after)]
        counted = [event for event in ends if isinstance(event, JobEnded)]
        return HitRate(sum(each.from_cache for each in counted), sum(each.newly_analysed for each in counted))

    async def _count_open_extractions(self, period: Period, now: datetime) -> int:
        """The number of open jobs of mode CACHE_ONLY, which hold no reservation."""
        if not period.extractions_on(_day(now - self._longest)):
            return 0
        after = await self._log.find_sequence(now - self._longest)
        posted = [fact.event for fact in await self._log.read(_subject(period.account_id, period.month), after=after)]
        jobs = {each.job_id for each in posted if isinstance(each, CreditPosted) and each.entry == "EXTRACTION"}
        ended = await self._log.latest(*(f"{JobEnded.SUBJECT}.{job}" for job in jobs))
        return len(jobs) - len(ended)

    async def _count_usage(self, period: Period) -> _Usage:
        """Count the jobs of a period that have ended; those counted before are not read again."""
        key = period_id(period.account_id, period.month)
        usage = self._usage.get(key)
        if usage is None:
            usage = _Usage()
            self._usage.put(key, usage)
        for fact in await self._log.read(_subject(period.account_id, period.month), after=usage.after):
            if isinstance(fact.event, CreditPosted) and fact.sequence > usage.after:
                usage.after = fact.sequence
                if fact.event.entry in ("RESERVED", "EXTRACTION") and fact.event.job_id is not None:
                    usage.pending.add(fact.event.job_id)
        for fact in await self._log.latest(*(f"{JobEnded.SUBJECT}.{job}" for job in sorted(usage.pending))):
            if isinstance(fact.event, JobEnded) and fact.event.job_id in usage.pending:
                usage.pending.discard(fact.event.job_id)
                usage.articles += fact.event.outcome == "SUCCEEDED"
                usage.cached += fact.event.from_cache
                usage.new += fact.event.newly_analysed
        return usage


def _subject(account_id: UUID, month: str) -> str:
    return f"{CreditPosted.SUBJECT}.{period_id(account_id, month)}"


def _previous_month(now: datetime) -> str:
    return credit_month(now.astimezone(UTC).replace(day=1) - timedelta(days=1))


def _day(now: datetime) -> date:
    return now.astimezone(UTC).date()
