"""Admission of new observations: a quota for each sender, and a minimum of free space.

Only observations that are stored count, not those answered from the cache or rejected. Quotas are per process: with
several gateways a network may store as much at each.
"""

from __future__ import annotations

import asyncio
from math import inf
from typing import Final

import structlog

from kit.addresses import ip_range_prefix
from kit.cache import Cache
from kit.clock import Clock
from services.gateway.metrics import Metrics
from services.gateway.ports import Call, Refused, Space, Unavailable
from services.gateway.rate_limit import TokenBuckets

DAY_S: Final = 86_400.0
NETWORKS: Final = 10_000
SPACE_TTL_S: Final = 5.0
SPACE_TIMEOUT_S: Final = 1.0

log: structlog.stdlib.BoundLogger = structlog.get_logger("gateway")


class Intake:
    """Admits observations. Units: `bytes_per_day` per network or instance key; `free_bytes` of the servers."""

    def __init__(self, space: Space, clock: Clock, metrics: Metrics, *, bytes_per_day: int, free_bytes: int) -> None:
        self._space = space
        self._metrics = metrics
        self._floor_bytes = free_bytes
        self._quota = TokenBuckets(clock, burst=bytes_per_day, every_s=DAY_S / bytes_per_day, keys=NETWORKS)
        self._free: Cache[str, float] = Cache(clock, capacity=1, ttl_s=SPACE_TTL_S)

    async def admit(self, call: Call) -> None:
        """Charge an observation to its sender's quota. Raises: Refused."""
        free_bytes = await self._free.get_or_make("", self._measure)
        if free_bytes < self._floor_bytes:
            self._metrics.refused("space")
            raise Refused("SERVICE_UNAVAILABLE", "This server has no room for new observations now.")
        if not self._quota.take(call.caller.instance_key_hash or ip_range_prefix(call.caller.address), len(call.body)):
            self._metrics.refused("quota")
            raise Refused("TOO_MANY_REQUESTS", "Too much was sent from this network today; please try again later.")

    async def _measure(self) -> float:
        try:
            async with asyncio.timeout(SPACE_TIMEOUT_S):
                free_bytes = await self._space.free_bytes()
        except (Unavailable, TimeoutError) as error:
            log.warning("free space unknown", reason=str(error) or "timeout")
            free_bytes = inf  # storing the observation will fail by itself
        if free_bytes < self._floor_bytes:
            log.error("no room for new observations", free_bytes=free_bytes, floor_bytes=self._floor_bytes)
        return free_bytes
