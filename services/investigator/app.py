"""The investigator, put together."""

from __future__ import annotations

from contracts.topology import (
    CONCLUDE_MARK,
    CONCLUDED,
    ERRATA,
    INVESTIGATOR_INVESTIGATION_REQUESTED,
    INVESTIGATOR_READERS_INVESTIGATION_REQUESTED,
    Consumer,
)
from contracts.v1.investigation import KeySource
from kit.concluding import Concluder
from kit.host import Host
from kit.settings import load
from kit.web import Door, Policy
from kit.web.contact import warn_of_no_contact
from kit.web.reading import Reader
from services.investigator.adapters import EventLog
from services.investigator.concluding import InvestigationRules
from services.investigator.handlers import Investigator
from services.investigator.pictures import Pictures
from services.investigator.reads import SqlReads
from services.investigator.research import Lookups
from services.investigator.settings import InvestigatorSettings
from services.investigator.shares import paid_by
from services.investigator.waiting import Waiting


async def build(host: Host) -> None:
    """Subscribe the handler and start the fold that concludes."""
    settings = load(InvestigatorSettings)
    warn_of_no_contact("INVESTIGATOR", settings.contact_url)

    def door(origin: str | None) -> Door:
        exempt = frozenset([origin] if origin else [])
        opened = Door(Policy(contact_url=settings.contact_url, exempt_origins=exempt))
        host.on_close(opened.close)
        return opened

    pictures = Pictures(
        door(settings.picture_origin),
        host.blobs,
        host.telemetry.registry,
        wanted=host.model.sees_pictures,
        within_s=settings.pictures_s,
    )
    reads = SqlReads(host.database("reader"))
    # A door of its own: an origin opened for pictures is none that a model may read.
    lookups = Lookups(door(settings.page_origin), Reader(), reads, host.clock)
    investigator = Investigator(
        EventLog(host.bus, host.blobs, pictures),
        host.blobs,
        host.user_keys,
        host.model,
        host.clock,
        host.worker,
        priors=reads,
        research=lookups,
        limits=settings.limits,
        run_s=settings.run_s,
    )
    shares: tuple[tuple[Consumer, KeySource, int], ...] = (
        (INVESTIGATOR_INVESTIGATION_REQUESTED, "INSTANCE", settings.slots),
        (INVESTIGATOR_READERS_INVESTIGATION_REQUESTED, "USER", settings.reader_slots),
    )
    for consumer, payer, slots in shares:
        host.delivery.subscribe(
            consumer,
            paid_by(payer, investigator.on_investigation_requested),
            slots=slots,
            given_up=investigator.on_given_up,
        )
    waiting = Waiting(host.telemetry.registry, host.clock.now)
    rules = InvestigationRules(host.bus, host.user_keys)
    concluder = Concluder(host.bus, ERRATA, CONCLUDED, CONCLUDE_MARK, rules, waiting)
    host.keep_running("investigator-conclude", concluder.run)
