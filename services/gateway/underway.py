"""How many runs on readers' own keys one network has under way, so that no network fills all their slots.

Counted in this process. Whether a run has ended is asked only when a network is at its limit.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final
from uuid import UUID

from kit.clock import Clock
from services.gateway.memory import Memory
from services.gateway.ports import Reads, Refused, Running

NETWORKS: Final = 10_000


class OwnKeyRuns:
    """Places for runs, so many for each network."""

    def __init__(self, reads: Reads, clock: Clock, *, most: int) -> None:
        self._reads = reads
        self._most = most
        self._networks: Memory[str, dict[UUID, bool]] = Memory(clock, capacity=NETWORKS)

    @asynccontextmanager
    async def place(self, network: str, run: UUID) -> AsyncIterator[None]:
        """Hold a place while the run is requested, and then until it ends. Raises: Refused: there is none."""
        runs = self._networks.get(network)
        if runs is None:
            runs = {}
            self._networks.put(network, runs)
        if len(runs) >= self._most:
            for known in [each for each, is_requested in runs.items() if is_requested]:
                if not isinstance(await self._reads.investigation(known), Running):
                    runs.pop(known, None)
        if len(runs) >= self._most:
            raise Refused("TOO_MANY_REQUESTS", "too many runs on readers' own keys are under way from this network")
        runs[run] = False
        try:
            yield
        finally:
            runs[run] = True
