"""Accepts jobs: the key, the credit and the request are stored in one batch or not at all (decision 0070).

After any error, the log is read before anything is sent again. Requests of one account are handled one after another,
so that only different gateways compete for its credit.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from hashlib import sha256
from math import ceil
from typing import Final
from uuid import UUID
from weakref import WeakValueDictionary

from contracts.accounts import next_reset
from contracts.jobs.answers import Estimate, JobAccepted, links_of
from contracts.jobs.requests import AnalyzeRequest
from contracts.jobs.words import RequestWords
from contracts.v1 import CreditPosted, JobIdempotencyKeyBound, JobRequested, OnceEvent
from contracts.v1.ids import idempotency_id
from contracts.v1.job import AuditOptions, Mode
from contracts.v1.parts import EphemeralRef
from kit.clock import Clock
from kit.history import StoredFact
from lifecycle.audits.charges import compute_most
from lifecycle.audits.credits import Refused
from lifecycle.audits.intake import KEY_LIFETIME, NewJob, NewRequest, OtherBody, Repetition, book, look_up_key
from services.gateway.domain import Principal
from services.gateway.jobs.credit import Balance, Ledger
from services.gateway.jobs.expectation import Expectation, Forecast, expect
from services.gateway.jobs.logged import LIFETIME
from services.gateway.jobs.memory import Memory
from services.gateway.jobs.options import hash_body, hash_options, terms_of, to_fact
from services.gateway.jobs.ports import JobLog, Words
from services.gateway.jobs.problems import CreditLimit, Problem
from services.gateway.jobs.stages import StageSettings
from services.gateway.ports import Unavailable

TRIES: Final = 20
"""How often a batch is built again because other gateways changed the balance."""
RETRY_OPEN_JOBS_S: Final = 30.0


@dataclass(frozen=True, slots=True)
class Order:
    """A request for a job. `key`: the idempotency key by which a repetition is recognised."""

    request: AnalyzeRequest
    key: str | None
    principal: Principal
    correlation: UUID


@dataclass(frozen=True, slots=True)
class Repeated:
    """The request was accepted before, as this job."""

    job_id: UUID


class Intake:
    """Accepts and estimates jobs. Units: a job ends within `job_s` seconds."""

    def __init__(
        self,
        log: JobLog,
        words: Words,
        ledger: Ledger,
        memory: Memory,
        stages: StageSettings,
        clock: Clock,
        *,
        job_s: float,
    ) -> None:
        self._log = log
        self._words = words
        self._memory = memory
        self._ledger = ledger
        self._stages = stages
        self._clock = clock
        self._longest = timedelta(seconds=job_s)
        self._locks: WeakValueDictionary[UUID, asyncio.Lock] = WeakValueDictionary()

    async def accept(self, order: Order) -> JobAccepted | Repeated:
        """Store a new job, or find the one that was accepted before.

        Raises: Problem: the key names another request, or the account may not start a job. Unavailable: the job may
        or may not be stored.
        """
        account_id = order.principal.account.account_id
        lock = self._locks.setdefault(account_id, asyncio.Lock())
        async with lock:
            return await self._store(order)

    async def estimate(self, request: AnalyzeRequest, principal: Principal) -> Estimate:
        """Estimate what a job would cost now; nothing is stored. Raises: Unavailable."""
        now, prices = self._clock.now(), await self._stages.prices()
        balance = await self._ledger.read(principal.account, now)
        job = NewJob(self._clock.new_id(), to_fact(request.options), prices, _day(now))
        booked = book(balance.period, terms_of(principal.account), job, open_elsewhere=balance.open_elsewhere)
        expected = _expect(job, booked, await self._forecast(request, principal, now))
        return Estimate(
            estimated_cost=expected.costs.total,
            maximum_cost=expected.maximum,
            cost_breakdown=expected.costs,
            cache_info=expected.cache,
            mode="credit" if _pays(booked, job.options) else "cache_only",
            credit_remaining=balance.period.left(terms_of(principal.account).limit_micro_usd),
            would_be_accepted=not isinstance(booked, Refused),
        )

    async def _forecast(self, request: AnalyzeRequest, principal: Principal, now: datetime) -> Forecast:
        """How many claims the cache will answer: from an earlier extraction, else from the recent hit rate."""
        known = await self._memory.forecast(request, principal.account.account_id, now)
        return known or (await self._ledger.hit_rate()).forecast(to_fact(request.options))

    async def _store(self, order: Order) -> JobAccepted | Repeated:
        """Store the words while the log is read, then the job; remove the words if no job is accepted."""
        job_id, now = self._clock.new_id(), self._clock.now()
        words = asyncio.create_task(self._words.put(_write_words(job_id, order.request), now + LIFETIME))
        try:
            accepted = await self._book(order, job_id, words, now)
            if not isinstance(accepted, JobAccepted):
                await self._drop(words)
        except Problem:
            await self._drop(words)
            raise
        finally:
            words.cancel()  # unless it has ended
        if accepted is None:
            raise Unavailable("others keep using this account's credit")
        return accepted

    async def _book(
        self, order: Order, job_id: UUID, words: asyncio.Task[EphemeralRef], now: datetime
    ) -> JobAccepted | Repeated | None:
        """Store the batch; None if the account's credit changed at each try. Raises: see `accept`."""
        account, options = order.principal.account, to_fact(order.request.options)
        terms, body_sha256 = terms_of(account), hash_body(order.request)
        prices, forecast, (bound, balance) = await asyncio.gather(
            self._stages.prices(),
            self._forecast(order.request, order.principal, now),
            self._look(order, now, current=False),
        )
        for _ in range(TRIES):
            known = _look_up(bound, body_sha256, now)
            if isinstance(known, Repetition):
                return Repeated(known.job_id)
            job = NewJob(job_id, options, prices, _day(now))
            booked = book(balance.period, terms, job, open_elsewhere=balance.open_elsewhere)
            if isinstance(booked, Refused):
                raise _refuse(booked, balance, terms.limit_micro_usd, now)
            requested = self._request(order, job, booked, await words, now)
            binding = None
            if order.key is not None:
                binding = _bind(account.account_id, order.key, job_id, known.follows, body_sha256, now)
            if await self._publish(requested, [each for each in (binding, booked, requested) if each], order, now):
                return _describe(requested, _expect(job, booked, forecast), now)
            now = self._clock.now()
            bound, balance = await self._look(order, now, current=True)
        return None

    async def _look(self, order: Order, now: datetime, *, current: bool) -> tuple[StoredFact | None, Balance]:
        """The fact that binds the order's key, if any, and the account's balance."""
        account = order.principal.account
        subjects = self._ledger.subjects(account, now)
        if order.key is not None:
            key_id = idempotency_id(account.account_id, order.key)
            subjects = (*subjects, f"{JobIdempotencyKeyBound.SUBJECT}.{key_id}")
        found = await self._log.latest(*subjects, current=current)
        bound = next((fact for fact in found if isinstance(fact.event, JobIdempotencyKeyBound)), None)
        return bound, await self._ledger.complete(account, now, found)

    def _request(
        self, order: Order, job: NewJob, booked: CreditPosted, ref: EphemeralRef, now: datetime
    ) -> JobRequested:
        request, in_credit = order.request, _pays(booked, job.options)
        text = request.input_text
        return JobRequested(
            job_id=job.job_id,
            account_id=booked.account_id,
            period_id=booked.period_id if in_credit else None,
            mode="CREDIT" if in_credit else "CACHE_ONLY",
            options=job.options,
            options_hash=hash_options(job.options),
            input_type="URL" if text is None else "TEXT",
            input=ref,
            content_sha256=None if text is None else sha256(text.encode()).hexdigest(),
            reserved_micro_usd=booked.micro_usd,
            prices=job.prices,
            has_webhook=request.client.webhook_url is not None,
            deadline_at=now + self._longest,
        )

    async def _publish(self, requested: JobRequested, facts: Sequence[OnceEvent], order: Order, now: datetime) -> bool:
        """Store the batch once. Raises: Unavailable: the log does not show that it is stored."""
        try:
            return await self._log.publish_together(*facts, correlation=order.correlation, at=now)
        except Unavailable:
            if await self._log.latest(requested.subject(), current=True):
                return True
            raise

    async def _drop(self, words: asyncio.Task[EphemeralRef]) -> None:
        """Remove the words of a job that was not accepted."""
        with suppress(Unavailable):  # they were not stored, or will expire
            await self._words.remove(await words)


def choose_key(header: str | None, request: AnalyzeRequest) -> str | None:
    """The idempotency key of a request: the header, else the client's own id."""
    return header or request.client.request_id or None


def _look_up(bound: StoredFact | None, body_sha256: str, now: datetime) -> NewRequest | Repetition:
    """Raises: Problem: the key names another request."""
    event = bound.event if bound is not None else None
    assert event is None or isinstance(event, JobIdempotencyKeyBound)
    found = look_up_key(event, bound.sequence if bound is not None else 0, body_sha256, now)
    if isinstance(found, OtherBody):
        message = (
            "The idempotency key, or without one client.request_id, was used for another request within the last "
            "24 hours: take a new one."
        )
        raise Problem("VALIDATION_ERROR", message, status=409)
    return found


def _bind(
    account_id: UUID, key: str, job_id: UUID, follows: int, body_sha256: str, now: datetime
) -> JobIdempotencyKeyBound:
    return JobIdempotencyKeyBound(
        follows=follows,
        key_id=idempotency_id(account_id, key),
        account_id=account_id,
        job_id=job_id,
        body_sha256=body_sha256,
        expires_at=now + KEY_LIFETIME,
    )


def _refuse(refused: Refused, balance: Balance, limit: int | None, now: datetime) -> Problem:
    match refused.why:
        case "CREDIT":
            return CreditLimit(balance.period.left(limit) or 0, next_reset(now))
        case "OPEN_JOBS":
            return Problem("TOO_MANY_OPEN_JOBS", retry_after_s=RETRY_OPEN_JOBS_S)
        case "EXTRACTION_QUOTA":
            midnight = datetime.combine(_day(now) + timedelta(days=1), datetime.min.time(), UTC)
            return Problem("EXTRACTION_QUOTA", retry_after_s=ceil((midnight - now).total_seconds()))


def _write_words(job_id: UUID, request: AnalyzeRequest) -> str:
    return RequestWords(
        job_id=job_id,
        url=request.input_url,
        text=request.input_text,
        request_id=request.client.request_id,
        source_label=request.client.source_label,
        webhook_url=request.client.webhook_url,
    ).model_dump_json()


def _pays(booked: CreditPosted | Refused, options: AuditOptions) -> bool:
    """Whether the job is of mode CREDIT, or would be if it were not refused."""
    if isinstance(booked, Refused):
        return options.cache_preference != "CACHE_ONLY" and booked.why != "EXTRACTION_QUOTA"
    return booked.entry == "RESERVED"


def _expect(job: NewJob, booked: CreditPosted | Refused, forecast: Forecast) -> Expectation:
    reserved = compute_most(job.prices, job.options) if isinstance(booked, Refused) else booked.micro_usd
    mode: Mode = "CREDIT" if _pays(booked, job.options) else "CACHE_ONLY"
    return expect(job.options, job.prices, mode, reserved, forecast)


def _describe(requested: JobRequested, expected: Expectation, now: datetime) -> JobAccepted:
    return JobAccepted(
        job_id=requested.job_id,
        status="QUEUED",
        created_at=now,
        deadline_at=requested.deadline_at,
        estimated_cost=expected.costs.total,
        maximum_cost=expected.maximum,
        cost_breakdown=expected.costs,
        cache_info=expected.cache,
        mode="credit" if requested.mode == "CREDIT" else "cache_only",
        links=links_of(requested.job_id),
    )


def _day(now: datetime) -> date:
    return now.astimezone(UTC).date()
