"""The projector, put together."""

from __future__ import annotations

from functools import partial

from analyses import FLAGGING
from contracts.topology import ERRATA, VIEWS
from kit.host import Host
from kit.sessions import Successive
from kit.settings import load
from kit.standstill import Standstill
from services.projector.adapters import BlobTexts, BusLog, Reached
from services.projector.follow import Follower, Metrics
from services.projector.settings import ProjectorSettings
from services.projector.store import BY_KEY, FOUND_DEAD_SOON, Store


async def build(host: Host, settings: ProjectorSettings | None = None) -> None:
    """Follow both streams for as long as the host runs."""
    settings = settings or load(ProjectorSettings)
    metrics = Metrics(host.telemetry.registry, host.telemetry.position)
    source = BusLog(host.bus, batch=settings.batch)
    reached = Reached(host.database("projector"))
    for stream in (ERRATA, VIEWS):
        store = Store(
            Successive(partial(host.database("projector").session, options=f"{BY_KEY} {FOUND_DEAD_SOON}")),
            BlobTexts(host.blobs),
            analyses=[kind.name for kind in FLAGGING],
            view_rules=settings.view_rules,
        )
        follower = Follower(stream.name, store, source, metrics)
        host.keep_running(f"projector {stream.name}", follower.run)
        standstill = Standstill(stream.name, position=reached.position, end=source.end)
        metrics.standing_still.labels(stream.name).set_function(standstill.as_number)
        host.check(f"projector-standstill {stream.name}", standstill.problem)
        host.keep_running(f"projector-standstill {stream.name}", standstill.watch)
