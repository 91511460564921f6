"""Requests jobs and sees them end, as a gateway would, without one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, timedelta
from hashlib import sha256
from itertools import count
from time import perf_counter
from typing import Final
from uuid import UUID, uuid4

from nats.aio.msg import Msg

from contracts.accounts import credit_month
from contracts.jobs.words import RequestWords
from contracts.topology import JOBS
from contracts.v1 import CreditPosted, JobEnded, JobIdempotencyKeyBound, JobRequested, OnceEvent, decode
from contracts.v1.ids import idempotency_id
from contracts.v1.job import AuditOptions, AuditPrices
from kit.bus import Bus, position_subject
from kit.clock import SystemClock
from kit.ephemeral import EphemeralTexts, TextBucket
from kit.history import StoredFact
from kit.pages import read_last_sequence, read_page
from lifecycle.audits.credits import Period, Terms
from lifecycle.audits.intake import NewJob, book

PRICES: Final = AuditPrices(extract_micro_usd=3_000, analyse_micro_usd=81_000, assess_micro_usd=30_000)
TERMS: Final = Terms(None, hard=False, max_open_jobs=20)
WITHIN_S: Final = 120.0
_keys = count()


@dataclass(frozen=True, slots=True)
class Followed:
    """A job's end, and when its credit was settled."""

    ended: asyncio.Future[None]
    settled: asyncio.Future[None]


class Jobs:
    """Starts jobs directly in the log, each of an account of its own."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._clock = SystemClock()
        self._texts = EphemeralTexts(TextBucket(bus), self._clock)
        self._following: dict[UUID, Followed] = {}
        self._position = 0
        self._moved = asyncio.Event()

    async def open(self) -> None:
        """Begin to follow jobs."""
        await self._bus.client.subscribe(f"{JobEnded.SUBJECT}.*", cb=self._receive)
        await self._bus.client.subscribe(f"{CreditPosted.SUBJECT}.*", cb=self._receive)
        await self._bus.client.subscribe(position_subject(JOBS.name), cb=self._move)

    async def _receive(self, message: Msg) -> None:
        match decode(message.subject, message.data).event:
            case JobEnded() as event if event.job_id in self._following:
                if event.outcome != "SUCCEEDED":
                    raise RuntimeError(f"the job {event.job_id} has failed: {event.code}")
                _resolve(self._following[event.job_id].ended)
            case CreditPosted(entry="SETTLED" | "RELEASED", job_id=UUID() as job) if job in self._following:
                _resolve(self._following.pop(job).settled)
            case _:
                pass

    async def _move(self, message: Msg) -> None:
        self._position = int(message.data)
        self._moved.set()

    async def request(self, text: str) -> Followed:
        """Store a request, with key and credit in one batch."""
        now, job_id = self._clock.now(), self._clock.new_id()
        account, key = uuid4(), f"key {next(_keys)}"
        options = AuditOptions()
        words = RequestWords(job_id=job_id, text=text)
        ref = await self._texts.put(words.model_dump_json(), now + timedelta(hours=24))
        job = NewJob(job_id, options, PRICES, now.astimezone(UTC).date())
        booked = book(Period(account, credit_month(now)), TERMS, job, open_elsewhere=0)
        assert isinstance(booked, CreditPosted)
        facts: list[OnceEvent] = [
            JobIdempotencyKeyBound(
                follows=0,
                key_id=idempotency_id(account, key),
                account_id=account,
                job_id=job_id,
                body_sha256=_hash(text),
                expires_at=now + timedelta(hours=24),
            ),
            booked,
            JobRequested(
                job_id=job_id,
                account_id=account,
                period_id=booked.period_id,
                mode="CREDIT",
                options=options,
                options_hash=_hash("options"),
                input_type="TEXT",
                input=ref,
                content_sha256=_hash(text),
                reserved_micro_usd=booked.micro_usd,
                prices=PRICES,
                deadline_at=now + timedelta(minutes=15),
            ),
        ]
        loop = asyncio.get_running_loop()
        followed = self._following[job_id] = Followed(loop.create_future(), loop.create_future())
        await self._bus.publish_together(facts, correlation=uuid4())
        return followed

    async def audit(self, text: str) -> float:
        """Seconds from the request to the end of a job."""
        began = perf_counter()
        async with asyncio.timeout(WITHIN_S):
            followed = await self.request(text)
            await followed.ended
            took_s = perf_counter() - began
            await followed.settled
        return took_s

    async def audit_many(self, count: int, at_once: int, write: Callable[[], str]) -> None:
        """Run `count` jobs, at most `at_once` at a time; return when all are settled and the tables have them."""
        gate = asyncio.Semaphore(at_once)

        async def one() -> None:
            async with gate:
                await self.audit(write())

        await asyncio.gather(*(one() for _ in range(count)))
        await self.wait_for_tables()

    async def wait_for_tables(self) -> None:
        """Wait until the read model has all that is stored now."""
        last = await read_last_sequence(self._bus, JOBS.name)
        async with asyncio.timeout(WITHIN_S):
            while self._position < last:
                self._moved.clear()
                await self._moved.wait()

    async def facts_of(self, text: str) -> list[StoredFact]:
        """All that one job stores, while there is no other."""
        after = await read_last_sequence(self._bus, JOBS.name)
        await self.audit(text)
        page = await read_page(self._bus, JOBS.name, (">",), after=after, limit=500)
        return [StoredFact(each.sequence, decode(each.subject, each.data)) for each in page.messages]


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
