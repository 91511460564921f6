"""Builds the projector."""

from __future__ import annotations

from functools import partial

from analyses import FLAGGING
from kit.ephemeral import TextBucket
from kit.host import Host
from kit.sessions import SuccessiveSessions
from kit.settings import load
from kit.standstill import Standstill
from services.projector.adapters import AppliedPosition, BusLog, StoredTexts
from services.projector.follow import Follower, Metrics
from services.projector.settings import ProjectorSettings
from services.projector.store.projection import projections
from services.projector.store.store import KEEPALIVE_OPTIONS, KEY_LOOKUP_OPTIONS, Store


async def build(host: Host, settings: ProjectorSettings | None = None) -> None:
    """Follow every stream while the host runs."""
    settings = settings or load(ProjectorSettings)
    metrics = Metrics(host.telemetry.registry, host.telemetry.position)
    source = BusLog(host.bus, batch=settings.batch)
    applied = AppliedPosition(host.database("projector"))
    options = f"{KEY_LOOKUP_OPTIONS} {KEEPALIVE_OPTIONS}"
    for projection in projections([kind.name for kind in FLAGGING], settings.view_rules):
        stream = projection.stream
        store = Store(
            SuccessiveSessions(partial(host.database("projector").session, options=options)),
            StoredTexts(host.blobs, TextBucket(host.bus)),
            [projection],
        )
        follower = Follower(stream, store, source, metrics)
        host.keep_running(f"projector {stream}", follower.run)
        standstill = Standstill(stream, position=applied.position, end=source.end)
        metrics.standing_still.labels(stream).set_function(standstill.as_number)
        host.check(f"projector-standstill {stream}", standstill.problem)
        host.keep_running(f"projector-standstill {stream}", standstill.watch)
