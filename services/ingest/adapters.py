"""What ingest knows about versions, read from the log; what cannot change any more is remembered."""

from __future__ import annotations

from collections import OrderedDict
from uuid import UUID

from contracts.v1 import VersionRegistered, VersionSeen, VersionVerified
from contracts.v1.version import VersionEvent
from kit.bus import Bus
from kit.history import latest
from services.ingest.domain import Known

REMEMBERED = 50_000


class LogVersions:
    """Versions by their newest facts."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._verified: OrderedDict[UUID, None] = OrderedDict()

    async def known(self, version_id: UUID) -> Known:
        """One read of the log, none for a version that is known to be verified."""
        if version_id in self._verified:
            self._verified.move_to_end(version_id)
            return Known(registered=True, verified=True)
        subjects = [f"{event.SUBJECT}.{version_id}" for event in (VersionRegistered, VersionVerified, VersionSeen)]
        events = [past.envelope.event for past in await latest(self._bus, *subjects)]
        known = Known(
            registered=bool(events),
            verified=any(isinstance(e, VersionEvent) and e.provenance == "SERVER_VERIFIED" for e in events),
        )
        if known.verified:
            self._verified[version_id] = None
            if len(self._verified) > REMEMBERED:
                self._verified.popitem(last=False)
        return known
