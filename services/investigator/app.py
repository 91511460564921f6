"""The investigator, put together."""

from __future__ import annotations

from contracts.topology import INVESTIGATOR_INVESTIGATION_REQUESTED
from kit.host import Host
from kit.settings import load
from kit.web import Door, Policy
from services.investigator.adapters import Concluder, EventLog
from services.investigator.handlers import Investigator
from services.investigator.pictures import Pictures
from services.investigator.settings import InvestigatorSettings


async def build(host: Host) -> None:
    """Subscribe the handler and start the fold that concludes."""
    settings = load(InvestigatorSettings)
    origins = [settings.picture_origin] if settings.picture_origin else []
    door = Door(Policy(contact_url=settings.contact_url, exempt_origins=frozenset(origins)))
    host.on_close(door.close)
    pictures = Pictures(
        door,
        host.blobs,
        host.telemetry.registry,
        wanted=host.model.sees_pictures,
        within_s=settings.pictures_s,
    )
    log = EventLog(host.bus, host.blobs, pictures)
    investigator = Investigator(log, host.blobs, host.user_keys, host.model, host.clock, host.worker)
    host.delivery.subscribe(
        INVESTIGATOR_INVESTIGATION_REQUESTED,
        investigator.on_investigation_requested,
        slots=settings.slots,
        given_up=investigator.on_given_up,
    )
    host.keep_running("investigator-conclude", Concluder(host.bus, host.user_keys).run)
