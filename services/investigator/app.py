"""Builds the investigator."""

from __future__ import annotations

from analyses.gates import RULES
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
from kit.documents.reading import Reader
from kit.host import Host
from kit.settings import GateSettings, load
from kit.web import GuardedHttpClient, Policy
from kit.web.contact import warn_of_no_contact
from services.investigator.adapters import EventLog
from services.investigator.concluding import InvestigationRules
from services.investigator.handlers import Investigator
from services.investigator.pictures import Pictures
from services.investigator.reads import SqlReads
from services.investigator.research import Lookups
from services.investigator.settings import InvestigatorSettings
from services.investigator.shares import filter_by_payer
from services.investigator.waiting import OpenInvestigations


async def build(host: Host) -> None:
    """Subscribe the handlers and start the concluder."""
    settings = load(InvestigatorSettings)
    warn_of_no_contact("INVESTIGATOR", settings.contact_url)

    def http(origin: str | None) -> GuardedHttpClient:
        exempt = frozenset([origin] if origin else [])
        opened = GuardedHttpClient(Policy(contact_url=settings.contact_url, exempt_origins=exempt))
        host.on_close(opened.close)
        return opened

    pictures = Pictures(
        http(settings.picture_origin),
        host.blobs,
        host.telemetry.registry,
        wanted=host.model.sees_pictures,
        within_s=settings.pictures_s,
    )
    reads = SqlReads(host.database("reader"))
    host.on_close(reads.close)
    # A client of its own: the origin allowed for pictures is not allowed for pages.
    lookups = Lookups(http(settings.page_origin), Reader(), reads, host.clock)
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
        gates=None if host.model.labelled_demo else load(GateSettings).policy(RULES, ()),
    )
    consumers: tuple[tuple[Consumer, KeySource, int], ...] = (
        (INVESTIGATOR_INVESTIGATION_REQUESTED, "INSTANCE", settings.slots),
        (INVESTIGATOR_READERS_INVESTIGATION_REQUESTED, "USER", settings.reader_slots),
    )
    for consumer, payer, slots in consumers:
        host.delivery.subscribe(
            consumer,
            filter_by_payer(payer, investigator.on_investigation_requested),
            slots=slots,
            on_exhausted=investigator.on_exhausted,
        )
    waiting = OpenInvestigations(host.telemetry.registry, host.clock.now)
    rules = InvestigationRules(host.bus, host.user_keys)
    concluder = Concluder(host.bus, ERRATA, CONCLUDED, CONCLUDE_MARK, rules, waiting)
    host.keep_running("investigator-conclude", concluder.run)
