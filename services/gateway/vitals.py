"""Whether readers can be served: what this process rests on, and whether what it is told still arrives in the tables.

A projector that stands still is nobody's broken connection, and yet every new observation would wait in vain; so it is
looked for where it shows, in a position that does not move although the log is ahead of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from contracts.topology import ERRATA
from kit.blobs import Blobs
from kit.bus import Bus
from kit.clock import Clock
from kit.pages import last_sequence
from services.gateway.ports import Unavailable
from services.gateway.reads import SqlReads

VITAL_TIMEOUT_S: Final = 2.0
STANDSTILL: Final = timedelta(seconds=10)


@dataclass(frozen=True, slots=True)
class Progress:
    """What was last seen of the projector: its position, the end of the log, and since when both are known."""

    position: int
    end: int
    since: datetime


def progress(before: Progress | None, position: int, end: int, now: datetime) -> tuple[Progress, bool]:
    """What is known now, and whether the projector stands still: for ten seconds behind what was there before them."""
    if before is None or position != before.position or position >= before.end:
        return Progress(position, end, now), False
    return before, now - before.since >= STANDSTILL


class ServerVitals:
    """Asks broker, database, projector and blob store for a sign of life."""

    def __init__(self, bus: Bus, reads: SqlReads, blobs: Blobs, clock: Clock) -> None:
        self._bus = bus
        self._reads = reads
        self._blobs = blobs
        self._clock = clock
        self._progress: Progress | None = None

    async def broken(self) -> tuple[str, ...]:
        """Names of what does not answer within two seconds, or does not go on."""
        vital = await _failing({"broker": self._ping(), "database": self._reads.alive(), "blobs": self._stored()})
        return vital if {"broker", "database"} & set(vital) else (*await _failing({"projector": self._moves()}), *vital)

    async def _ping(self) -> None:
        await self._bus.client.flush()
        if not self._bus.client.is_connected:  # a flush while reconnecting succeeds without having asked anybody
            raise Unavailable("broker: not connected")

    async def _stored(self) -> None:
        if not await self._blobs.ready():
            raise Unavailable("blob store: the bucket does not exist")

    async def _moves(self) -> None:
        end = await last_sequence(self._bus, ERRATA.name)
        position = await self._reads.position(ERRATA.name)
        self._progress, stands = progress(self._progress, position, end, self._clock.now())
        if stands:
            raise Unavailable(f"projector: at {position} for {STANDSTILL.seconds} s and more")


async def _failing(checks: dict[str, Awaitable[None]]) -> tuple[str, ...]:
    tasks = {name: asyncio.ensure_future(check) for name, check in checks.items()}
    await asyncio.wait(tasks.values(), timeout=VITAL_TIMEOUT_S)
    return tuple(name for name, task in tasks.items() if not _succeeded(task))


def _succeeded(check: asyncio.Future[None]) -> bool:
    """A check that still runs is given up, not waited for: the driver would try for seconds to cancel its query."""
    if not check.done():
        check.add_done_callback(lambda late: late.cancelled() or late.exception())
        check.cancel()
        return False
    return check.exception() is None
