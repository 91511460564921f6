"""Builds ingest."""

from __future__ import annotations

from contracts.topology import INGEST_CANONICAL_FETCHED, INGEST_CANONICAL_UNAVAILABLE, INGEST_OBSERVATION_UNVERIFIABLE
from kit.direct import DirectResponder
from kit.host import Host
from services.ingest.adapters import LogVersions, find_conflict_subject
from services.ingest.handlers import Ingest


async def build(host: Host) -> None:
    """Subscribe the handlers."""
    ingest = Ingest(host.blobs, LogVersions(host.bus))
    host.delivery.subscribe(INGEST_OBSERVATION_UNVERIFIABLE, ingest.on_observation_unverifiable)
    direct = DirectResponder(
        host.bus,
        host.telemetry,
        INGEST_OBSERVATION_UNVERIFIABLE,
        ingest.on_direct_observation,
        conflict_subject=find_conflict_subject,
        spans=host.spans,
    )
    await direct.open()
    host.on_stop(direct.stop)
    host.delivery.subscribe(INGEST_CANONICAL_FETCHED, ingest.on_canonical_fetched)
    host.delivery.subscribe(INGEST_CANONICAL_UNAVAILABLE, ingest.on_canonical_unavailable)
