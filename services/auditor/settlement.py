"""Settling the credit of a job that is over: charged or given back, exactly once, in the month it was reserved in."""

from __future__ import annotations

import asyncio
from typing import Protocol
from uuid import UUID
from weakref import WeakValueDictionary

from contracts.v1 import CreditPosted, Event, JobEnded, JobRequested
from kit.history import StoredFact
from lifecycle.audits.credits import Period, close_reservation


class Log(Protocol):
    """The stream `JOBS` as its leader has it. Raises: Outage, BusError."""

    async def newest(self, *subjects: str) -> list[StoredFact]:
        """The newest fact on each of the given subjects."""

    async def publish(self, event: Event, correlation: UUID) -> bool:
        """Whether it was stored, now or before; False: another one came first."""


class Settlement:
    """Settles jobs; those of one month one after another, as each entry follows the one before."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._locks: WeakValueDictionary[UUID, asyncio.Lock] = WeakValueDictionary()

    async def settle(self, request: JobRequested, end: JobEnded, correlation: UUID) -> None:
        """Charge what the job cost, or release its reservation; nothing if that was done before."""
        if request.period_id is None:
            return
        async with self._locks.setdefault(request.period_id, asyncio.Lock()):
            while True:  # a refusal means that another entry was stored, so it cannot go on without end
                found = await self._log.newest(f"{CreditPosted.SUBJECT}.{request.period_id}")
                entry = _decide(found, request.job_id, end.charged_micro_usd)
                if entry is None or await self._log.publish(entry, correlation):
                    return


def _decide(found: list[StoredFact], job_id: UUID, charged: int) -> CreditPosted | None:
    for fact in found:
        if isinstance(last := fact.event, CreditPosted):
            period = Period(last.account_id, last.month, last, fact.sequence)
            return close_reservation(period, job_id, charged)
    return None
