"""Whether readers can be served: what this process rests on, and whether what it is told still arrives in the tables.

A projector that stands still is nobody's broken connection, and yet every new observation would wait in vain; so it is
looked for where it shows, in a position that does not move although the log is ahead of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from functools import partial
from typing import Final

from contracts.topology import ERRATA
from kit.blobs import Blobs
from kit.bus import Bus
from kit.pages import last_sequence
from kit.standstill import Standstill
from services.gateway.ports import Unavailable
from services.gateway.reads import SqlReads

VITAL_TIMEOUT_S: Final = 2.0


class ServerVitals:
    """Asks broker, database, projector and blob store for a sign of life."""

    def __init__(self, bus: Bus, reads: SqlReads, blobs: Blobs) -> None:
        self._bus = bus
        self._reads = reads
        self._blobs = blobs
        self.standstill = Standstill(ERRATA.name, position=reads.position, end=partial(last_sequence, bus))

    async def broken(self) -> tuple[str, ...]:
        """Names of what does not answer within two seconds, or does not go on."""
        servers = await _failing({"broker": self._ping(), "database": self._reads.alive()})
        return servers or await _failing({"projector": self._moves()})

    async def lacking(self) -> tuple[str, ...]:
        """The blob store, unless it answers within two seconds: long texts cannot be taken without it."""
        return await _failing({"blobs": self._stored()})

    async def _ping(self) -> None:
        problem = await self._bus.writes.problem()
        if problem:
            raise Unavailable(f"broker: {problem}")

    async def _stored(self) -> None:
        problem = await self._blobs.problem()
        if problem:
            raise Unavailable(problem)

    async def _moves(self) -> None:
        problem = await self.standstill.problem()
        if problem:
            raise Unavailable(f"projector: {problem}")


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
