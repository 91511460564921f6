"""Ingest, put together."""

from __future__ import annotations

from contracts.topology import INGEST_CANONICAL_FETCHED, INGEST_CANONICAL_UNAVAILABLE, INGEST_OBSERVATION_RECEIVED
from kit.direct import Direct
from kit.host import Host
from services.ingest.adapters import LogVersions, erasure
from services.ingest.handlers import Ingest


async def build(host: Host) -> None:
    """Subscribe ingest's handlers."""
    ingest = Ingest(host.blobs, LogVersions(host.bus))
    host.delivery.subscribe(INGEST_OBSERVATION_RECEIVED, ingest.on_observation_received)
    direct = Direct(
        host.bus,
        host.telemetry,
        INGEST_OBSERVATION_RECEIVED,
        ingest.on_observation_handed,
        bar=erasure,
        spans=host.spans,
    )
    await direct.open()
    host.on_stop(direct.stop)
    host.delivery.subscribe(INGEST_CANONICAL_FETCHED, ingest.on_canonical_fetched)
    host.delivery.subscribe(INGEST_CANONICAL_UNAVAILABLE, ingest.on_canonical_unavailable)
