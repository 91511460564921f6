"""One of many does a job: whoever holds a lease in the broker, which expires unless it is renewed.

A leader that cannot renew stops believing in itself before the broker forgets it. Clocks and pauses can still make two
of them for a moment, so what a leader does must be harmless when it is done twice.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from time import monotonic

import structlog

from contracts.topology import LEADERS
from kit.bus import Bus, BusError
from kit.kv import Bucket

RENEW_EVERY_S = LEADERS.ttl_s / 3
BELIEVED_S = LEADERS.ttl_s * 2 / 3

log = structlog.get_logger(__name__)


class Leadership:
    """One process's claim to lead in one job. `worker` must be a name that no other process has."""

    def __init__(self, bus: Bus, job: str, worker: str) -> None:
        self._bus = bus
        self._job = job
        self._worker = worker.encode()
        self._until = 0.0
        self._given_up = False

    @property
    def leading(self) -> bool:
        """Whether this process leads at this moment."""
        return monotonic() < self._until

    async def run(self) -> None:
        """Become the leader as soon as nobody else is, and stay it; for as long as the process lives."""
        while True:
            led = self.leading
            try:
                await self.hold()
            except BusError as error:
                log.warning("leadership not renewed", job=self._job, error=str(error))
            if self.leading != led:
                log.info("leading" if self.leading else "not leading any more", job=self._job)
            await asyncio.sleep(RENEW_EVERY_S)

    async def hold(self) -> bool:
        """Become or stay the leader; False while another one is. Raises: BusError."""
        asked_at = monotonic()
        held = not self._given_up and await self._take()
        self._until = asked_at + BELIEVED_S if held else 0.0
        return held

    async def _take(self) -> bool:
        bucket = await Bucket.open(self._bus, LEADERS)
        found = await bucket.entry(self._job)
        if found is None:
            return await bucket.create(self._job, self._worker)
        return found.value == self._worker and await bucket.update(self._job, self._worker, found.revision)

    async def release(self) -> None:
        """Lead no more, and let another one begin at once instead of when the lease expires."""
        self._given_up = True
        self._until = 0.0
        with suppress(BusError):  # then it expires
            bucket = await Bucket.open(self._bus, LEADERS)
            found = await bucket.entry(self._job)
            if found is not None and found.value == self._worker:
                await bucket.remove(self._job, found.revision)
