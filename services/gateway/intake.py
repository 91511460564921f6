"""Whether a new observation may be stored: how much its sender stored lately, and how much room there is at all.

Counted are the bytes of observations that go on to the log and the blob store, not those answered from memory or
refused for what they say. The counts are this process's own: with several gateways a network may store as much at each.
"""

from __future__ import annotations

import asyncio
from math import inf
from typing import Final

import structlog

from kit.addresses import ip_range_prefix
from kit.flight import SingleFlight
from services.gateway.memory import Allowance, Memory
from services.gateway.metrics import Metrics
from services.gateway.ports import Call, Clock, Refused, Space, Unavailable

DAY_S: Final = 86_400.0
NETWORKS: Final = 10_000
SPACE_TTL_S: Final = 5.0
SPACE_TIMEOUT_S: Final = 1.0

log: structlog.stdlib.BoundLogger = structlog.get_logger("gateway")


class Intake:
    """Admits observations. Units: `bytes_per_day` of a network or a holder of an instance key; `free_bytes` in all."""

    def __init__(self, space: Space, clock: Clock, metrics: Metrics, *, bytes_per_day: int, free_bytes: int) -> None:
        self._space = space
        self._metrics = metrics
        self._floor_bytes = free_bytes
        self._quota = Allowance(clock, burst=bytes_per_day, every_s=DAY_S / bytes_per_day, keys=NETWORKS)
        self._free: Memory[str, float] = Memory(clock, capacity=1, ttl_s=SPACE_TTL_S)
        self._flights: SingleFlight[str, float] = SingleFlight()

    async def admit(self, call: Call) -> None:
        """Count an observation. Raises: Refused: it may not be stored now."""
        free_bytes = self._free.get("")
        if free_bytes is None:
            free_bytes = await self._flights.run("", self._look)
        if free_bytes < self._floor_bytes:
            self._metrics.refused("space")
            raise Refused("SERVICE_UNAVAILABLE", "This server has no room for new observations now.")
        if not self._quota.take(call.caller.instance_key_hash or ip_range_prefix(call.caller.address), len(call.body)):
            self._metrics.refused("quota")
            raise Refused("TOO_MANY_REQUESTS", "Too much was sent from this network today; please try again later.")

    async def _look(self) -> float:
        try:
            async with asyncio.timeout(SPACE_TIMEOUT_S):
                free_bytes = await self._space.free_bytes()
        except (Unavailable, TimeoutError) as error:
            log.warning("free space is not known", reason=str(error) or "timeout")
            free_bytes = inf  # whoever stores the observation says that it cannot
        if free_bytes < self._floor_bytes:
            log.error("no room for new observations", free_bytes=free_bytes, floor_bytes=self._floor_bytes)
        self._free.put("", free_bytes)
        return free_bytes
