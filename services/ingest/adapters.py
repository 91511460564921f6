"""The state of versions, read from the log; a final state is cached."""

from __future__ import annotations

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
from kit.cache import Cache
from kit.history import read_latest, read_latest_from_leader
from services.ingest.domain import VersionState, fold_version

CACHE_SIZE = 50_000


def find_conflict_subject(fact: Event) -> str | None:
    """The subject of the erasure of a fact's post; if a message is there, the fact must not be stored."""
    if isinstance(fact, VersionEvent | IntegrityAnomalyDetected):
        return f"{ErasureOrdered.SUBJECT}.{fact.post_id}"
    return None


class LogVersions:
    """Folds the newest facts of a version."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._verified: Cache[UUID, VersionState] = Cache(capacity=CACHE_SIZE)

    async def read_state(self, version_id: UUID) -> VersionState:
        """The state of a version: one request to the log for a new one, three for others, none for a cached one."""
        cached = self._verified.get(version_id)
        if cached is not None:
            return cached
        registered = await read_latest(self._bus, f"{VersionRegistered.SUBJECT}.{version_id}")
        if not registered:
            return VersionState()
        later = await read_latest(
            self._bus, *(f"{event.SUBJECT}.{version_id}" for event in (VersionVerified, VersionSeen))
        )
        state = fold_version(past.envelope.event for past in (*registered, *later))
        if state.verified:
            self._verified.put(version_id, state)
        return state

    async def is_erased(self, post_id: UUID) -> bool:
        """Whether a post is erased; read from the stream's leader each time, since an erasure counts at once."""
        return bool(await read_latest_from_leader(self._bus, f"{ErasureOrdered.SUBJECT}.{post_id}"))
