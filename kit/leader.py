"""Leader election: of many processes, the one that holds a lease in the broker does a job; leases must be renewed.

A leader that cannot renew its lease resigns before the broker drops the lease. Clocks and pauses can still make two
leaders for a moment, so a leader's work must be harmless when done twice.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from time import monotonic

import structlog

from contracts.topology import LEADERS
from kit.bus import Bus
from kit.kv import Bucket
from kit.publisher import BusError

RENEW_EVERY_S = LEADERS.ttl_s / 3
VALID_S = LEADERS.ttl_s * 2 / 3

log = structlog.get_logger(__name__)


class Leadership:
    """One process's claim to lead in one job. `worker` must be unique among processes."""

    def __init__(self, bus: Bus, job: str, worker: str) -> None:
        self._bus = bus
        self._job = job
        self._worker = worker.encode()
        self._until = 0.0
        self._resigned = False

    @property
    def is_leader(self) -> bool:
        """Whether this process leads at this moment."""
        return monotonic() < self._until

    async def run(self) -> None:
        """Acquire the lease as soon as it is free, and keep it for as long as the process lives."""
        while True:
            led = self.is_leader
            try:
                await self.renew()
            except BusError as error:
                log.warning("leadership not renewed", job=self._job, error=str(error))
            if self.is_leader != led:
                log.info("leading" if self.is_leader else "not leading any more", job=self._job)
            await asyncio.sleep(RENEW_EVERY_S)

    async def renew(self) -> bool:
        """Acquire or renew the lease; False while another process has it. Raises: BusError."""
        started_at = monotonic()
        leads = not self._resigned and await self._acquire()
        self._until = started_at + VALID_S if leads else 0.0
        return leads

    async def _acquire(self) -> bool:
        bucket = await Bucket.open(self._bus, LEADERS)
        found = await bucket.entry(self._job)
        if found is None:
            return await bucket.create(self._job, self._worker)
        return found.value == self._worker and await bucket.update(self._job, self._worker, found.revision)

    async def release(self) -> None:
        """Resign, so that another process can lead at once instead of when the lease expires."""
        self._resigned = True
        self._until = 0.0
        with suppress(BusError):  # then it expires
            bucket = await Bucket.open(self._bus, LEADERS)
            found = await bucket.entry(self._job)
            if found is not None and found.value == self._worker:
                await bucket.remove(self._job, found.revision)
