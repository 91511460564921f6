"""The stream `JOBS` for decisions about what is absent from it, so it is read from its leader, which never lags."""

from __future__ import annotations

from uuid import UUID

from contracts.topology import JOBS
from contracts.v1 import Event
from kit.bus import Bus
from kit.history import StoredFact, read_history, read_latest_from_leader


class JobsLog:
    """The stream over the broker. Raises: Outage: it could not be read now. BusError: nothing was confirmed."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def newest(self, *subjects: str) -> list[StoredFact]:
        return await read_latest_from_leader(self._bus, *subjects, stream=JOBS)

    async def history(self, key: str) -> list[StoredFact]:
        return await read_history(self._bus, key, stream=JOBS)

    async def publish(self, event: Event, correlation: UUID) -> bool:
        return await self._bus.publish_if_first(event, correlation)
