"""What ingest knows about versions, read from the log; what cannot change any more is remembered."""

from __future__ import annotations

from collections import OrderedDict
from uuid import UUID

from contracts.v1 import (
    ErasureOrdered,
    Event,
    IntegrityAnomalyDetected,
    VersionRegistered,
    VersionSeen,
    VersionVerified,
)
from contracts.v1.version import VersionEvent
from kit.bus import Bus
from kit.history import latest, standing
from services.ingest.domain import Known, known_from

REMEMBERED = 50_000


def erasure(fact: Event) -> str | None:
    """Where the erasure of a post stands, which bars what is told of it."""
    if isinstance(fact, VersionEvent | IntegrityAnomalyDetected):
        return f"{ErasureOrdered.SUBJECT}.{fact.post_id}"
    return None


class LogVersions:
    """Versions by their newest facts."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._verified: OrderedDict[UUID, Known] = OrderedDict()

    async def known(self, version_id: UUID) -> Known:
        """One question to the log for a new version, three for a known one, none for one known to be verified."""
        remembered = self._verified.get(version_id)
        if remembered is not None:
            self._verified.move_to_end(version_id)
            return remembered
        registered = await latest(self._bus, f"{VersionRegistered.SUBJECT}.{version_id}")
        if not registered:
            return Known()
        later = await latest(self._bus, *(f"{event.SUBJECT}.{version_id}" for event in (VersionVerified, VersionSeen)))
        known = known_from(past.envelope.event for past in (*registered, *later))
        if known.verified:
            self._verified[version_id] = known
            if len(self._verified) > REMEMBERED:
                self._verified.popitem(last=False)
        return known

    async def erased(self, post_id: UUID) -> bool:
        """Asked of the log's leader every time: it must be true at once, on every replica."""
        return bool(await standing(self._bus, f"{ErasureOrdered.SUBJECT}.{post_id}"))
