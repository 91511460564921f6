"""Health checks: the servers this process needs, and whether the projector makes progress.

A stalled projector breaks no connection, and yet every new observation would time out; it is detected by a position
that does not advance although the log is ahead of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from functools import partial
from typing import Final

from contracts.topology import ERRATA
from kit.blobs import Blobs
from kit.bus import Bus
from kit.pages import read_last_sequence
from kit.standstill import Standstill
from services.gateway.ports import Unavailable
from services.gateway.record.status import SqlReads

HEALTH_TIMEOUT_S: Final = 2.0


class ServerHealth:
    """Checks broker, database, projector and blob store."""

    def __init__(self, bus: Bus, reads: SqlReads, blobs: Blobs) -> None:
        self._bus = bus
        self._reads = reads
        self._blobs = blobs
        self.standstill = Standstill(ERRATA.name, position=reads.position, end=partial(read_last_sequence, bus))

    async def find_failing(self) -> tuple[str, ...]:
        """Servers that do not answer within two seconds; if all do, the projector if it makes no progress."""
        servers = await _failing({"broker": _check(self._bus.writes.problem()), "database": self._reads.alive()})
        return servers or await _failing({"projector": _check(self.standstill.problem())})

    async def find_degraded(self) -> tuple[str, ...]:
        """The blob store if it does not answer within two seconds: long texts cannot be stored without it."""
        return await _failing({"blobs": _check(self._blobs.problem())})


async def _check(problem: Awaitable[str | None]) -> None:
    if found := await problem:
        raise Unavailable(found)


async def _failing(checks: dict[str, Awaitable[None]]) -> tuple[str, ...]:
    tasks = {name: asyncio.ensure_future(check) for name, check in checks.items()}
    await asyncio.wait(tasks.values(), timeout=HEALTH_TIMEOUT_S)
    return tuple(name for name, task in tasks.items() if not _succeeded(task))


def _succeeded(check: asyncio.Future[None]) -> bool:
    """Whether a check succeeded. One that still runs is cancelled, not awaited: the driver takes seconds to cancel."""
    if not check.done():
        check.add_done_callback(lambda late: late.cancelled() or late.exception())
        check.cancel()
        return False
    return check.exception() is None
