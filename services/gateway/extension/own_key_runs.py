"""Limits the runs on readers' own keys per network, so that no network occupies all slots.

Counted in this process. Whether a run has ended is read only when a network is at its limit.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final
from uuid import UUID

from kit.cache import Cache
from kit.clock import Clock
from services.gateway.ports import Reads, Refused, Running

NETWORKS: Final = 10_000


class OwnKeyRuns:
    """Counts running runs by network."""

    def __init__(self, reads: Reads, clock: Clock, *, limit: int) -> None:
        self._reads = reads
        self._limit = limit
        self._networks: Cache[str, dict[UUID, bool]] = Cache(clock, capacity=NETWORKS)

    @asynccontextmanager
    async def reserve(self, network: str, run: UUID) -> AsyncIterator[None]:
        """Count a run from its request until it ends. Raises: Refused: the network is at its limit."""
        runs = self._networks.get(network)
        if runs is None:
            runs = {}
            self._networks.put(network, runs)
        if len(runs) >= self._limit:
            for known in [each for each, is_requested in runs.items() if is_requested]:
                if not isinstance(await self._reads.investigation(known), Running):
                    runs.pop(known, None)
        if len(runs) >= self._limit:
            raise Refused("TOO_MANY_REQUESTS", "too many runs on readers' own keys are under way from this network")
        runs[run] = False
        try:
            yield
        finally:
            runs[run] = True
